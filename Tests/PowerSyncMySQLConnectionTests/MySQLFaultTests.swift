import Foundation
import MySQLTestSupport
import NIOConcurrencyHelpers
import NIOCore
import PowerSyncMySQLConnection
import Testing

/// Silence, lost connections, cancellation, and connections that are left.
@Suite(.timeLimit(.minutes(10)))
struct MySQLFaultTests {
    private let logger = TestMySQL.logger

    private func proxied() async throws -> (MySQLProxy, MySQLConnectionSettings) {
        let proxy = try await MySQLProxy(to: try TestMySQL.shared().port)
        var settings = try TestMySQL.shared().settings()
        settings.port = proxy.port
        return (proxy, settings)
    }

    @Test func aServerThatSaysNothingIsNotWaitedFor() async throws {
        var (proxy, settings) = try await proxied()
        proxy.freeze()
        settings.connectTimeout = .milliseconds(200)
        let error = await #expect(throws: MySQLConnectionError.self) {
            _ = try await MySQLConnection.open(settings, logger: logger)
        }
        #expect(error?.code == .timeout)
        #expect(error?.isRetryable == true)
        await proxy.allClosed()
    }

    @Test func aStatementHasATimeLimit() async throws {
        let connection = try await TestMySQL.shared().open()
        let error = await #expect(throws: MySQLConnectionError.self) {
            try await connection.query("SELECT SLEEP(20)", timeout: .milliseconds(200))
        }
        #expect(error?.code == .timeout)
        #expect(!connection.isUsable)
    }

    @Test func silenceAmongRowsIsAnError() async throws {
        var (proxy, settings) = try await proxied()
        settings.rowsTimeout = .milliseconds(200)
        let connection = try await MySQLConnection.open(settings, logger: logger)
        let error = await #expect(throws: MySQLConnectionError.self) {
            try await connection.withRows(
                "SELECT REPEAT('z', 1000) FROM information_schema.collations a, information_schema.collations b"
            ) { rows in
                _ = try await rows.next()
                proxy.freeze()
                while try await rows.next() != nil {}
            }
        }
        #expect(error?.code == .silence)
        #expect(error?.isRetryable == true)
        await proxy.allClosed()
    }

    // The limit is for the time without a byte, not for the whole.
    @Test func slowRowsAreNoSilence() async throws {
        var settings = try TestMySQL.shared().settings()
        settings.rowsTimeout = .milliseconds(700)
        let connection = try await MySQLConnection.open(settings, logger: logger)
        defer { connection.close() }
        // Each row fills the server's buffer, and is sent when it is made.
        let rows = (1...4).map { "SELECT \($0), SLEEP(0.4), REPEAT('z', 1000000)" }.joined(separator: " UNION ALL ")
        let count = try await connection.withRows(rows) { rows in
            var count = 0
            while try await rows.next() != nil { count += 1 }
            return count
        }
        #expect(count == 4)
    }

    @Test func aConnectionThatTheServerEnds() async throws {
        let other = try await TestMySQL.shared().open()
        defer { other.close() }
        let connection = try await TestMySQL.shared().open()
        let waiting = Task { try await connection.query("SELECT SLEEP(20)") }
        try await waitUntilItRuns("SLEEP(20)", of: connection.connectionID, other)
        try await other.execute("KILL \(connection.connectionID)")
        let error = await #expect(throws: MySQLConnectionError.self) { _ = try await waiting.value }
        #expect(error?.isRetryable == true)
        // A server may still say why.
        #expect(error?.code == .lost || error?.code == .server)
    }

    /// Waits on the server until a connection runs a statement.
    private func waitUntilItRuns(_ text: String, of id: UInt32, _ connection: MySQLConnection) async throws {
        while try await connection.query(
            "SELECT SLEEP(0.01) FROM information_schema.processlist WHERE id = \(id) AND info LIKE '%\(text)%'"
        ).rows.isEmpty {}
    }

    @Test func closingEndsACall() async throws {
        let (proxy, settings) = try await proxied()
        let connection = try await MySQLConnection.open(settings, logger: logger)
        let waiting = Task { try await connection.query("SELECT SLEEP(20)") }
        await proxy.clientsSent("SLEEP(20)")
        connection.close()
        let error = await #expect(throws: MySQLConnectionError.self) { _ = try await waiting.value }
        #expect(error?.code == .closed)
        await proxy.allClosed()
    }

    @Test func cancellingEndsConnecting() async throws {
        let (proxy, settings) = try await proxied()
        proxy.freeze()
        let task = Task { try await MySQLConnection.open(settings, logger: logger) }
        await proxy.accepted(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        await proxy.allClosed()
    }

    @Test func cancellingEndsACall() async throws {
        let (proxy, settings) = try await proxied()
        let connection = try await MySQLConnection.open(settings, logger: logger)
        let task = Task { try await connection.query("SELECT SLEEP(20)") }
        await proxy.clientsSent("SLEEP(20)")
        task.cancel()
        await #expect(throws: CancellationError.self) { _ = try await task.value }
        #expect(!connection.isUsable)
        await proxy.allClosed()
    }

    @Test func cancellingEndsRows() async throws {
        let (proxy, settings) = try await proxied()
        let connection = try await MySQLConnection.open(settings, logger: logger)
        let task = Task {
            try await connection.withRows(
                "SELECT REPEAT('z', 1000) FROM information_schema.collations a, information_schema.collations b"
            ) { rows in
                while try await rows.next() != nil { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        await proxy.allClosed()
    }

    @Test func aConnectionWithoutReferencesIsClosed() async throws {
        let (proxy, settings) = try await proxied()
        do {
            let connection = try await MySQLConnection.open(settings, logger: logger)
            #expect(try await connection.query("SELECT 1").firstString == "1")
        }
        await proxy.allClosed()
    }

    // Calls are cancelled at a random moment each: in the handshake, in a statement, among rows. Ten thousand in `make soak`.
    @Test func nothingIsLeftBehind() async throws {
        let count = ProcessInfo.processInfo.environment["POWERSYNC_SLOW"] == nil ? 300 : 10_000
        let (proxy, settings) = try await proxied()
        let logger = logger
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                if number >= 16 { try await group.next() }
                group.addTask {
                    let task = Task {
                        let connection = try await MySQLConnection.open(settings, logger: logger)
                        try await connection.execute("SELECT REPEAT('z', 1000) FROM information_schema.collations")
                    }
                    if number % 4 != 0 { for _ in 0..<Int.random(in: 0..<200) { await Task.yield() } }
                    if number % 4 != 3 { task.cancel() }
                    _ = await task.result
                }
            }
            try await group.waitForAll()
        }
        await proxy.allClosed()
        #expect(proxy.accepted > count / 4)
    }
}
