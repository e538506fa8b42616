import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncUpload

@testable import PowerSyncBackend

/// A database server with a table `notes (id, body)` in memory, which notes what is read, and fails as a test wants it to.
final class ScriptedServer: UploadServer, UploadServers {
    /// A transaction is in the way.
    struct Deadlock: Error {}
    /// An error with an SQLSTATE.
    struct Failure: Error {
        var state: String
    }

    /// What was read with one statement.
    struct Read: Equatable {
        var count: Int
        var withValues: Bool
    }

    struct State {
        var rows: [String: String] = [:]
        var reads: [Read] = []
        /// The most bytes of values that one statement has read.
        var largestRead = 0
        var statements: [String] = []
        /// The errors of the next transactions, as they begin.
        var failures: [any Error] = []
        /// The error of each write.
        var writeFailure: (any Error)?
    }

    static let table = ServerTable(
        name: "notes",
        sqlName: "notes",
        columns: ["id", "body"].map {
            ServerColumn(
                name: $0,
                type: "text",
                kind: .text,
                length: nil,
                isWritable: true,
                storesNUL: true,
                isExact: true
            )
        },
        key: ["id"],
        hasSideEffects: false
    )

    private let box = NIOLockedValueBox(State())

    init(_ rows: [String: String] = [:]) { box.withLockedValue { $0.rows = rows } }

    var state: State { box.withLockedValue(\.self) }

    func change(_ body: (inout State) -> Void) { box.withLockedValue(body) }

    func withServer<Result: Sendable>(_ body: (ScriptedServer) async throws -> Result) async throws -> Result {
        try await body(self)
    }

    func begin(isAgain: Bool) async throws {
        let failure: (any Error)? = box.withLockedValue { state in
            state.statements.append("BEGIN")
            return state.failures.isEmpty ? nil : state.failures.removeFirst()
        }
        if let failure { throw failure }
    }

    func run(_ statement: String) async throws { change { $0.statements.append(statement) } }
    func transaction(_ statements: AppStatements) -> AppStatements { statements }

    func makeRecords() async throws {}
    func forgetClients(notSeenSince date: Int64) async throws -> Int { 0 }
    func records(ofClient key: [UInt8], _ numbers: ClosedRange<Int64>, now: Int64) async throws -> ClientRecords {
        ClientRecords(client: 1, forgottenThrough: 0, digests: [:])
    }
    func add(_ writes: [AppliedWrite], client: Int64) async throws {}
    func removeRecords(client: Int64, from number: Int64) async throws {}
    func forgetRecords(client: Int64, before head: Int64, keeping count: Int) async throws {}

    func tables(named names: [String]) async throws -> [ServerTable] { names.contains("notes") ? [Self.table] : [] }

    func rows(
        of table: ServerTable,
        ids: [String],
        in column: ServerColumn,
        withValues: Bool
    ) async throws -> [StoredRow] {
        box.withLockedValue { state in
            state.reads.append(Read(count: ids.count, withValues: withValues))
            let found = ids.compactMap { id in state.rows[id].map { (id, $0) } }
            guard withValues else { return found.map { StoredRow(StoredRow.Columns(["id"]), [$0.0]) } }
            state.largestRead = max(state.largestRead, found.reduce(0) { $0 + $1.1.utf8.count })
            return found.map { StoredRow(table.rowColumns, [$0.0, $0.1]) }
        }
    }

    func stores(_ text: String, in column: ServerColumn) async throws -> Bool { true }
    func text(of value: ExactJSON, for column: ServerColumn, in table: String) throws -> String? {
        try column.text(of: value, in: table)
    }

    func write(_ batch: WriteBatch) async throws {
        let failure = box.withLockedValue(\.writeFailure)
        if let failure { throw failure }
        change { state in
            for row in batch.rows { state.rows[row.id] = batch.kind == .delete ? nil : (row.values.first ?? nil) ?? "" }
        }
    }

    func checkReferences(isLast: Bool) async throws {}

    func fault(of error: any Error) -> ServerFault { error is Deadlock ? .concurrency : .other }

    func serverError(_ error: any Error) -> UploadServerError? {
        (error as? Failure).map { UploadServerError(sqlState: $0.state, message: "raised") }
    }
}
