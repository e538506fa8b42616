extension Schema {
    /// Adds a type of rows, which is checked against a table when the schema is.
    ///
    /// ```swift
    /// let schema = Schema(
    ///     Table(name: "todos", columns: [.text("title"), .boolean("done"), .date("due"), .json("tags")])
    /// )
    /// .checkingRows(of: "todos", as: Todo.self)
    /// ```
    ///
    /// Then ``validate()`` throws when the type has a property without a column, also an optional one, or a property of a type that the
    /// values of its column cannot be read as: a `Bool` for a text, a `UUID` for a date, an `Int` for a real number. In a debug build,
    /// each operation of a database with the schema throws the same; in a release build a warning is logged when the database is created.
    ///
    /// No row is read: the type is decoded from made-up values. An enum that is not optional has to be `CaseIterable`; for a type that accepts
    /// some values only, give one of them in `samples`. What is inside of JSON is not checked, nor whether a column may be NULL.
    ///
    /// - Parameters:
    ///   - table: The name of a table of this schema, or of its view.
    ///   - type: What a row is.
    ///   - format: How names and dates are written.
    ///   - samples: A value, by the name of the column, for types that do not accept just any.
    /// - Returns: The schema with the check.
    public func checkingRows<Row: Decodable & SendableMetatype>(
        of table: String,
        as type: Row.Type,
        format: RowFormat = RowFormat(),
        samples: [String: String] = [:]
    ) -> Schema {
        var schema = self
        schema.rowChecks.append(
            (table, { RowTypeProbe($0, format, samples: samples).problem(with: type) })
        )
        return schema
    }

    /// Checks the types of rows.
    ///
    /// - Throws: ``TypedRowError`` for the first type that does not fit, ``PowerSyncError`` for a table that the schema does not have.
    func checkRowTypes() throws {
        for check in rowChecks {
            guard let table = tables.first(where: { $0.viewName == check.table || $0.name == check.table }) else {
                throw PowerSyncError.noView(check.table)
            }
            if let problem = check.problem(table) { throw problem }
        }
    }
}
