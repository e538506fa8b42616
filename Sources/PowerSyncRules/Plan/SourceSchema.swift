/// What is known about the tables of a source, for warnings; it does not change what a config compiles to.
package struct SourceSchema: Sendable, Hashable {
    /// A table with the names of its columns.
    package struct Table: Sendable, Hashable {
        /// The name.
        package var name: SourceTableName
        /// The names of the columns, as the source spells them.
        package var columns: [String]

        /// Creates a table.
        package init(name: SourceTableName, columns: [String]) {
            self.name = name
            self.columns = columns
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
}
