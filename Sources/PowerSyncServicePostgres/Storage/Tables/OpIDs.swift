import PowerSyncProtocol

/// Op ids of a transaction, in their order: a writer takes them from the storage before it knows how many it uses, and keeps the others for its
/// next transaction.
///
/// What is appended has a number until it is written: -1 for what was appended first, and so on.
final class OpIDs {
    /// The most op ids that are taken before it is known that they are used.
    private static let maximumExpected = 100

    /// Those that were not used.
    private(set) var unused: ArraySlice<Int64>

    /// Begins with those that the transactions before have left.
    init(_ unused: ArraySlice<Int64>) {
        self.unused = unused
    }

    /// The statement that takes op ids before it is known how many there will be; `nil` when there are enough.
    func taking(expecting count: Int, _ db: PostgresStatements) -> PostgresStatements.Statement? {
        taking(upTo: Int64(min(count, Self.maximumExpected)), db)
    }

    /// Takes op ids until there are this many.
    func take(upTo count: Int64, _ db: PostgresStatements) throws {
        try db.run(together: [taking(upTo: count, db)].compactMap(\.self))
    }

    /// Takes op ids from the storage, above all that it has given out before.
    ///
    /// Another stream's writer may take some at the same time: there may be gaps.
    private func taking(upTo count: Int64, _ db: PostgresStatements) -> PostgresStatements.Statement? {
        let missing = count - Int64(unused.count)
        guard missing > 0 else { return nil }
        return PostgresStatements.Statement(
            sql: "SELECT nextval(\(db.relation("op_ids"))) FROM generate_series(1, $1)",
            arguments: [.integer(missing)]
        ) { self.unused.append(try $0.integer(0)) }
    }

    /// The op id of what is known by a number; op ids that are stored are themselves.
    subscript(number: Int64) -> Int64 { number < 0 ? unused[unused.startIndex + Int(-number - 1)] : number }

    /// Ends the use of the first op ids.
    ///
    /// - Returns: The last of them; `nil` when there are none.
    func use(_ count: Int64) -> OpID? {
        guard count > 0 else { return nil }
        defer { unused = unused.dropFirst(Int(count)) }
        return OpID(self[-count])
    }
}
