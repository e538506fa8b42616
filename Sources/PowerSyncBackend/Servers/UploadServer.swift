package import PowerSyncProtocol

/// A connection to a database server, with the statements that ``ServerUpload`` needs in the server's own SQL.
package protocol UploadServer: Sendable {
    /// What the app's decision may use to run statements of its own.
    associatedtype Transaction: Sendable

    /// Begins a transaction, whose statements wait for locks of other transactions for 5 seconds at most.
    ///
    /// - Parameter isAgain: Whether an earlier attempt has met another transaction: where the server needs long to notice that transactions
    ///   wait for each other, such attempts go one after the other.
    /// - Throws: Errors of the server.
    func begin(isAgain: Bool) async throws

    /// Runs a statement without values and without rows: `SAVEPOINT x`, `RELEASE SAVEPOINT x`, `ROLLBACK TO SAVEPOINT x`,
    /// `COMMIT`, `ROLLBACK`.
    func run(_ statement: String) async throws

    /// Makes a `Transaction`, which runs each of its statements by ``AppStatements/run(changes:_:)``.
    func transaction(_ statements: AppStatements) -> Transaction

    // MARK: Records (docs/backend.md "Which writes were applied")

    /// Makes the tables of the records, unless they are there.
    func makeRecords() async throws

    /// Forgets clients that were not seen since a time in seconds since 1970.
    ///
    /// - Returns: How many there were.
    func forgetClients(notSeenSince date: Int64) async throws -> Int

    /// Stores that the client with a key was here at a time in seconds since 1970, locks its row until the transaction ends, and reads what
    /// is remembered of its writes in a range of numbers.
    func records(ofClient key: [UInt8], _ numbers: ClosedRange<Int64>, now: Int64) async throws -> ClientRecords

    /// Stores the digests of applied writes.
    func add(_ writes: [AppliedWrite], client: Int64) async throws

    /// Removes the records from a number on.
    func removeRecords(client: Int64, from number: Int64) async throws

    /// Removes the records before the number at the head of the client's queue, apart from the newest, of which so many stay.
    func forgetRecords(client: Int64, before head: Int64, keeping count: Int) async throws

    // MARK: Tables

    /// The tables with exactly these names; those that there are.
    func tables(named names: [String]) async throws -> [ServerTable]

    /// The rows whose ids the column takes for one of these, locked until the transaction ends; the column stores each id as it is.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - ids: The ids.
    ///   - column: The column of the ids.
    ///   - withValues: Whether they have all columns; otherwise only that of the ids.
    /// - Returns: The rows that there are.
    /// - Throws: Errors of the server.
    func rows(
        of table: ServerTable,
        ids: [String],
        in column: ServerColumn,
        withValues: Bool
    ) async throws -> [StoredRow]

    /// Whether a text that is stored in the column is read as it was; asked when ``ServerColumn/stores(_:)`` does not know.
    func stores(_ text: String, in column: ServerColumn) async throws -> Bool

    /// The text of a value for a column; see ``ServerColumn/text(of:in:)``.
    func text(of value: ExactJSON, for column: ServerColumn, in table: String) throws -> String?

    /// Writes rows.
    func write(_ batch: WriteBatch) async throws

    /// Checks what is otherwise checked at the commit.
    ///
    /// - Parameter isLast: Whether no more rows of the app are written in the transaction.
    /// - Throws: Errors of the server.
    func checkReferences(isLast: Bool) async throws

    /// What an error says about the statement that it ended.
    func fault(of error: any Error) -> ServerFault

    /// An error as the app is asked about it; `nil` when it is none of the server.
    func serverError(_ error: any Error) -> UploadServerError?
}

/// What an error of a server says about the statement that it ended.
package enum ServerFault: Sendable {
    /// Its values are at fault; the message is the server's.
    case values(String)
    /// There is a row with the same unique value; the message is the server's.
    case duplicate(String)
    /// The app says that it is a rejection.
    case rejected(WriteRefusal)
    /// Another transaction is in the way: the same may succeed at once.
    case concurrency
    /// Anything else.
    case other
}

/// The number of an applied write, with its digest.
package struct AppliedWrite: Sendable {
    package let operationID: Int64
    package let digest: [UInt8]
}

extension UploadContext {
    /// What an error says about the statement that it ended, by the app's word if it has one.
    func fault(of error: any Error, _ server: some UploadServer) -> ServerFault {
        guard let meaning = options.serverErrors, let described = server.serverError(error),
            let meant = meaning(described)
        else { return server.fault(of: error) }
        return switch meant.kind {
        case .rejection(let code, let message): .rejected(WriteRefusal(code: code, message: message))
        case .again: .concurrency
        case .failure: .other
        }
    }
}
