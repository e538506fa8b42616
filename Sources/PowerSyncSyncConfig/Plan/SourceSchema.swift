/// What is known about the tables of a source, for warnings; it does not change what a config compiles to.
package struct SourceSchema: Sendable, Hashable {
    /// A table with the names of its columns.
    package struct Table: Sendable, Hashable {
        /// The name.
        package var name: SourceTableName
        /// The names of the columns, as the source spells them.
        package var columns: [String]
        /// The types of the columns whose values are known, by name.
        package var types: [String: ColumnType]

        /// Creates a table.
        package init(name: SourceTableName, columns: [String], types: [String: ColumnType] = [:]) {
            self.name = name
            self.columns = columns
            self.types = types
        }
    }

    /// The type of a column.
    package struct ColumnType: Sendable, Hashable {
        /// What rows have besides `NULL`.
        package enum Values: Sendable, Hashable {
            /// 1 and 0.
            case boolean
            case number, text, bytes
        }

        /// The type in the source's own words.
        package var declaration: String
        /// What rows have.
        package var values: Values

        /// Creates a type.
        package init(declaration: String, values: Values) {
            self.declaration = declaration
            self.values = values
        }

        /// What PostgreSQL gives for a column (docs/postgres.md "Types"): `numeric` is text.
        ///
        /// `nil` without a type.
        ///
        /// - Parameter declaration: The type as it is written.
        package init?(postgres declaration: String) {
            guard !declaration.isEmpty else { return nil }
            let values: Values =
                switch DeclaredType(declaration: declaration) {
                case .boolean: .boolean
                case .integer, .real: .number
                case .bytes: .bytes
                case .text, .decimal, .date: .text
                }
            self.init(declaration: declaration, values: values)
        }

        /// What SQLite has in a column whose type it applies to values (https://www.sqlite.org/datatype3.html).
        ///
        /// `nil` for a type with which a column holds anything, such as `NUMERIC` and `BOOLEAN`.
        ///
        /// - Parameter declaration: The type as it is written.
        package init?(sqlite declaration: String) {
            let type = declaration.uppercased()
            func mentions(_ names: String...) -> Bool { names.contains { type.contains($0) } }
            if mentions("INT") || !mentions("CHAR", "CLOB", "TEXT", "BLOB") && mentions("REAL", "FLOA", "DOUB") {
                self.init(declaration: declaration, values: .number)
            } else if mentions("CHAR", "CLOB", "TEXT") {
                self.init(declaration: declaration, values: .text)
            } else {
                return nil
            }
        }
    }

    /// All tables.
    package var tables: [Table]
    /// The schema of tables that a config names without one.
    package var defaultSchema: String
    /// Other names of that schema: statements of SQLite say nothing about the schema that a source has.
    package var defaultSchemaAliases: Set<String> = []

    /// Creates a schema.
    package init(tables: [Table], defaultSchema: String = "main") {
        self.tables = tables
        self.defaultSchema = defaultSchema
    }

    /// The tables that a pattern matches.
    func tables(matching pattern: TablePattern) -> [Table] {
        var pattern = pattern
        if let schema = pattern.schema, isDefault(schema) { pattern.schema = nil }
        return tables.filter { pattern.matches($0.name, defaultSchema: defaultSchema) }
    }

    /// Whether tables that a config names without a schema may be in this one.
    func isDefault(_ schema: String) -> Bool {
        schema.utf8.elementsEqual(defaultSchema.utf8) || defaultSchemaAliases.contains(schema)
    }

    /// The type of a column in all tables that a pattern matches; `nil` when it is not known, or not the same.
    func type(of column: String, in pattern: TablePattern) -> ColumnType? {
        let types = Set(tables(matching: pattern).map { $0.types[column] })
        return types.count == 1 ? types.first ?? nil : nil
    }
}
