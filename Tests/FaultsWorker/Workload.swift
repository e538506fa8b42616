import PowerSync

/// The tables of the workload, as a client has them.
///
/// `registers` have the greatest value that was written to them. Each transaction that writes has a value of its own, and adds a row with it
/// to `entries`, which are everybody's, and to `notes`, which are its user's.
enum Workload {
    static let schema = Schema(
        Table(name: "registers", columns: [.integer("v")]),
        Table(name: "entries", columns: [.integer("v"), .text("client")]),
        Table(name: "notes", columns: [.text("owner_id"), .integer("v")])
    )
}

/// The value of a register, in a transaction that has read all of them.
struct Register: Sendable {
    /// All registers, with what else of the transactions that wrote their values is not there.
    static let query = """
        SELECT id, v, v > 0 AND NOT EXISTS (SELECT 1 FROM entries WHERE entries.id = CAST(registers.v AS TEXT))
        FROM registers
        """

    let id: String
    let value: Int64
    /// Whether there is no entry with the value.
    let isTorn: Bool

    /// The row of a result of ``query``.
    init(_ cursor: any SqlCursor) throws {
        id = try cursor.getString(index: 0)
        value = try cursor.getInt64(index: 1)
        isTorn = try cursor.getBoolean(index: 2)
    }
}

extension FaultsAnswer {
    /// What a transaction has read.
    ///
    /// - Parameters:
    ///   - id: The number of the command; `nil` for a watch.
    ///   - read: All registers.
    init(id: Int?, read: [Register]) {
        self.init(
            id: id,
            registers: Dictionary(uniqueKeysWithValues: read.map { ($0.id, $0.value) }),
            torn: read.filter(\.isTorn).map(\.value)
        )
    }
}
