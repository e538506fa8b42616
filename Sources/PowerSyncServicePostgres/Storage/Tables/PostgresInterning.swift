/// Finds the numbers of names, and gives new ones to those that have none.
final class PostgresInterning<Name: Hashable> {
    /// With the name of its schema.
    private let table: String
    /// Those that have no number yet, by their bytes.
    private var missing: [[UInt8]: Name]
    /// What is known.
    private(set) var numbers: [Name: Int64] = [:]

    init(_ names: Set<Name>, in table: String, _ bytes: (Name) -> [UInt8]) {
        self.table = table
        missing = Dictionary(uniqueKeysWithValues: names.map { (bytes($0), $0) })
        numbers.reserveCapacity(names.count)
    }

    /// Reads the numbers that there are.
    func find(_ stream: PostgresArgument) -> PostgresStatements.Statement? {
        statement(
            """
            SELECT t.id, t.name
            FROM unnest($2::bytea[]) AS given (name)
                JOIN \(PostgresStorageSchema.named(table, "given.name", as: "t"))
            """,
            stream
        )
    }

    /// Stores those that were not found; `nil` when there are none.
    func insert(_ stream: PostgresArgument) -> PostgresStatements.Statement? {
        statement(
            "INSERT INTO \(table) (stream, name) SELECT $1, name FROM unnest($2::bytea[]) AS given (name) RETURNING id, name",
            stream
        )
    }

    private func statement(_ sql: String, _ stream: PostgresArgument) -> PostgresStatements.Statement? {
        if missing.isEmpty { return nil }
        return PostgresStatements.Statement(sql: sql, arguments: [stream, .byteStrings(missing.keys)]) { row in
            if let name = try self.missing.removeValue(forKey: row.bytes(1)) { self.numbers[name] = try row.integer(0) }
        }
    }
}
