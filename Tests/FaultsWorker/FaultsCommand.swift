/// A line of the standard input of a ``FaultsClient``, as JSON.
struct FaultsCommand: Decodable, Sendable {
    /// What is to be done.
    enum Work: String, Decodable, Sendable {
        /// Connects to the node at ``service``; a connection to another one ends.
        case connect
        /// Ends the connection.
        case disconnect
        /// Reads all registers and writes ``value`` to those of ``keys``, in one transaction.
        case transact
        /// Reads all registers, in one transaction.
        case read
        /// Says what waits and how much there is.
        case state
        /// Reads all rows.
        case rows
        /// Says everything about the database that a person may want to know.
        case inspect
        /// Closes the database.
        case close
    }

    /// The number of the command, which its answer has as well.
    let id: Int
    let work: Work
    /// The URL of a node.
    let service: String?
    /// What is written: no two transactions have the same.
    let value: Int64?
    /// The ids of the registers that are written.
    let keys: [String]?
}

/// A line of the standard output of a ``FaultsClient``, as JSON: an answer, or without an ``id`` what a watch has seen.
struct FaultsAnswer: Encodable, Sendable {
    /// The number of the command.
    var id: Int?
    /// Why the command has failed.
    var error: String?
    /// The value of each register, as a transaction has read them.
    var registers: [String: Int64]?
    /// Values of registers whose entry was not there in that transaction.
    var torn: [Int64]?
    /// How many writes wait for their upload.
    var queued: Int?
    /// Whether there is a connection.
    var connected: Bool?
    /// How many rows of registers, entries and notes there are.
    var counts: [Int64]?
    /// The columns of each row, by table.
    var rows: [String: [[String]]]?
    /// What ``FaultsCommand/Work/inspect`` is about.
    var inspection: String?
}
