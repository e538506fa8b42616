import PowerSyncCore
import PowerSyncSQLite

extension Table {
    /// The most columns that ``validate()`` accepts.
    ///
    /// Wider tables still open.
    static let maximumColumnCount = 63

    /// Checks the names, columns and options of the table.
    ///
    /// - Throws: ``TableError`` with the first problem found; ``PowerSyncError`` for a direct table with another view name, and for a
    ///   full-text index without columns or with one that FTS5 does not accept.
    public func validate() throws {
        guard columns.count <= Table.maximumColumnCount else {
            throw TableError.tooManyColumns(tableName: name, count: columns.count)
        }
        if let viewNameOverride, Table.hasIllegalCharacter(viewNameOverride) {
            throw TableError.invalidViewName(viewName: viewNameOverride)
        }
        if direct, viewNameOverride != nil {
            throw PowerSyncError.invalidSchema(
                "The direct table '\(name)' cannot have another view name: it is a table and has no view."
            )
        }
        try options.validate(tableName: name)
        try validateIndexes(columnNames: try validateColumns())
    }

    /// - Returns: The names that an index may use.
    private func validateColumns() throws -> Set<ExactText> {
        var names: Set<ExactText> = [ExactText("id")]
        // For SQLite, which ignores case. For JSON, which indexes look into, these may be different names.
        var folded = names
        if trackMetadata { folded.formUnion(ClientTable.metadataColumns.map { ExactText($0) }) }
        for column in columns {
            if ExactText(ignoringCaseOf: column.name) == ExactText("id") {
                throw TableError.customIdColumn(tableName: name)
            }
            guard folded.insert(ExactText(ignoringCaseOf: column.name)).inserted else {
                throw TableError.duplicateColumn(tableName: name, columnName: column.name)
            }
            if Table.hasIllegalCharacter(column.name) {
                throw TableError.invalidColumnName(tableName: name, columnName: column.name)
            }
            names.insert(ExactText(column.name))
        }
        return names
    }

    private func validateIndexes(columnNames: Set<ExactText>) throws {
        var names: Set<ExactText> = []
        for index in indexes {
            guard names.insert(ExactText(ignoringCaseOf: index.name)).inserted else {
                throw TableError.duplicateIndex(tableName: name, indexName: index.name)
            }
            if Table.hasIllegalCharacter(index.name) {
                throw TableError.invalidIndexName(tableName: name, indexName: index.name)
            }
            if index.isFullText,
                let problem = FullTextIndex.problem(
                    ofColumns: index.columns.map(\.column),
                    ofIndex: index.name,
                    table: viewName
                )
            {
                throw PowerSyncError.invalidSchema(problem.prefix(1).uppercased() + problem.dropFirst() + ".")
            }
            for column in index.columns where !columnNames.contains(ExactText(column.column)) {
                throw TableError.columnNotFound(
                    tableName: name,
                    columnName: column.column,
                    indexName: index.name
                )
            }
        }
    }

    private static func hasIllegalCharacter(_ name: String) -> Bool {
        // By scalar: a combining mark must not hide the character before it.
        name.unicodeScalars.contains { "\"'%,.#[]".unicodeScalars.contains($0) || $0.properties.isWhitespace }
    }
}

extension TableOptions {
    /// Checks that a local-only table records nothing for uploads.
    ///
    /// - Throws: ``TableError`` with the first problem found.
    func validate(tableName: String) throws {
        guard localOnly else { return }
        if trackPreviousValues != nil {
            throw TableError.trackPreviousForLocalTable(tableName: tableName)
        }
        if trackMetadata {
            throw TableError.metadataForLocalTable(tableName: tableName)
        }
    }
}
