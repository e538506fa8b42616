/// The full name of a table of the source database.
package struct SourceTableName: Hashable, Sendable, Codable {
    /// The schema: `main` in an embedded source, usually `public` in PostgreSQL.
    package var schema: String
    /// The name of the table.
    package var name: String

    /// Creates a name.
    package init(schema: String, name: String) {
        self.schema = schema
        self.name = name
    }
}

extension SourceTableName {
    /// Names are equal when their bytes are; those of equal bytes have the same hash in any case.
    package static func == (lhs: SourceTableName, rhs: SourceTableName) -> Bool {
        lhs.name.hasSameBytes(as: rhs.name) && lhs.schema.hasSameBytes(as: rhs.schema)
    }
}

extension SourceTableName: CustomStringConvertible {
    /// The schema and the name with a dot between them.
    package var description: String { "\(schema).\(name)" }
}
