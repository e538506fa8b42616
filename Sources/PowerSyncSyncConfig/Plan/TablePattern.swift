/// The source tables that a query reads (docs/sync-config.md "Tables").
package struct TablePattern: Sendable, Hashable, Codable {
    /// The tag of the connection as written, or `nil` for the only one, which is `default`.
    package var connection: String?
    /// The schema as written, or `nil` for the default schema of the source, which is known only when a plan runs.
    package var schema: String?
    /// The name of the table as written.
    ///
    /// `%` at the end stands for any text.
    package var table: String

    /// Creates a pattern.
    package init(connection: String? = nil, schema: String? = nil, table: String) {
        self.connection = connection
        self.schema = schema
        self.table = table
    }

    /// Whether the pattern may match several tables.
    package var isWildcard: Bool {
        hasTableWildcard || hasSchemaWildcard
    }

    /// Whether the schema has a wildcard, and the pattern tables of several schemas.
    package var hasSchemaWildcard: Bool { schema?.utf8.last == Self.wildcard }

    /// Whether the name of the table has a wildcard.
    var hasTableWildcard: Bool { table.utf8.last == Self.wildcard }

    /// Whether the pattern matches a table.
    ///
    /// A wildcard schema matches no system schema (`pg_…`, `information_schema`).
    ///
    /// - Parameters:
    ///   - name: The table.
    ///   - defaultSchema: The schema of tables that are written without one.
    /// - Returns: `true` when rows of the table are to be evaluated.
    package func matches(_ name: SourceTableName, defaultSchema: String) -> Bool {
        guard connection == nil || connection == "default", Self.matches(name.name, pattern: table) else {
            return false
        }
        guard let schema else { return name.schema.utf8.elementsEqual(defaultSchema.utf8) }
        if schema.utf8.last == Self.wildcard, name.schema.hasPrefix("pg_") || name.schema == "information_schema" {
            return false
        }
        return Self.matches(name.schema, pattern: schema)
    }

    /// What the wildcard stands for in the name of a table; empty when the pattern has none.
    func suffix(of name: String) -> String {
        table.utf8.last == Self.wildcard
            ? String(decoding: name.utf8.dropFirst(table.utf8.count - 1), as: UTF8.self) : ""
    }

    private static let wildcard = UInt8(ascii: "%")

    private static func matches(_ name: String, pattern: String) -> Bool {
        if pattern.utf8.last == wildcard {
            name.utf8.starts(with: pattern.utf8.dropLast())
        } else {
            name.utf8.elementsEqual(pattern.utf8)
        }
    }
}

extension TablePattern: CustomStringConvertible {
    package var description: String {
        if let schema { "\(schema).\(table)" } else { table }
    }
}
