import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// Whatever stands in an internal table when an app connects, every call returns or throws, and the app goes on.
///
/// A trap would end the tests, a hang meets the time limit.
@Suite(.timeLimit(.minutes(1))) struct ForeignValuesWhileConnectedTests {
    /// Of every type; numbers at the end of their range, and bytes that no text is.
    private static let values = [
        "NULL", "-1", "9223372036854775807", "1.5", "9e999", "'x'", "x'00ff'", "CAST(x'ff00ff' AS TEXT)",
    ]

    private let harness = SyncHarness()
    private var database: any PowerSyncDatabaseProtocol { harness.database }

    @Test(
        arguments: [
            "ps_migration", "ps_untyped", "ps_crud", "ps_tx", "ps_kv", "ps_buckets", "ps_oplog", "ps_updated_rows",
            "ps_sync_state", "ps_stream_subscriptions",
        ]
    )
    func noValueKeepsAnAppFromGoingOn(in table: String) async throws {
        let service = Task {
            while let stream = try? await harness.service.nextStream() { serve(stream) }
        }
        defer { service.cancel() }
        _ = try await database.syncStream(name: "s", params: nil).subscribe()
        try await connect()
        try await harness.wait { $0.hasSynced == true }
        try await database.disconnect()
        try await harness.insert("local")
        try await makeLenient(table)
        let columns = try await database.getAll("SELECT name FROM pragma_table_info('\(table)')") {
            try $0.getString(index: 0)
        }
        #expect(!columns.isEmpty)
        for column in columns {
            for value in Self.values {
                try await database.execute("UPDATE \(table) SET \(column) = \(value)")
                await attempt("connecting") { try await connect() }
                await attempt("writing") { try await harness.insert("more") }
                await attempt("reading") { _ = try await harness.lists() }
                await attempt("the upload queue") {
                    _ = try await database.getUploadQueueStats(includeSize: true)
                    _ = try await database.getNextCrudTransaction()
                }
                await attempt("disconnecting") { try await database.disconnect() }
                try await restore(table)
            }
        }
        try await database.close()
    }

    /// Connects, and waits for the time after which a connection is tried again: each stream here ends, if there is one.
    private func connect() async throws {
        try await harness.connect()
        try await harness.clock.waitForTimer(of: .seconds(5))
    }

    private func serve(_ stream: ScriptedStream) {
        stream.accept()
        stream.send(
            .checkpoint(3, [.bucket("a", count: 2, priority: 1), .bucket("b", count: 1)], writeCheckpoint: 1),
            .put("a", 1...2),
            .done(1),
            .row("b", 3, "unknown", "u", "{}"),
            .done
        )
        stream.end()
    }

    /// Makes a table take every value, and remembers what is in it.
    private func makeLenient(_ table: String) async throws {
        try await database.execute("CREATE TABLE kept_\(table) AS SELECT * FROM \(table)")
        try await database.execute("DROP TABLE \(table)")
        try await database.execute("CREATE TABLE \(table) AS SELECT * FROM kept_\(table)")
    }

    private func restore(_ table: String) async throws {
        try await database.execute("DELETE FROM \(table)")
        try await database.execute("INSERT INTO \(table) SELECT * FROM kept_\(table)")
    }

    /// Does something that may fail, with an error that an app can tell.
    private func attempt(_ what: String, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch is PowerSyncError {
        } catch {
            Issue.record("\(what): unexpected error \(error)")
        }
    }
}
