import MySQLTestSupport
import PowerSyncMySQLConnection
import Testing

/// Connections that are kept.
@Suite(.timeLimit(.minutes(1)))
struct MySQLPoolTests {
    private func pool(_ settings: MySQLConnectionSettings? = nil, maximum: Int = 2) throws -> MySQLPool {
        let connector = try MySQLConnector(settings ?? TestMySQL.shared().settings(), logger: TestMySQL.logger)
        return MySQLPool(connector, maximumConnections: maximum)
    }

    @Test func aConnectionIsUsedAgain() async throws {
        let pool = try pool()
        defer { pool.close() }
        let first = try await pool.withConnection { $0.connectionID }
        #expect(try await pool.withConnection { $0.connectionID } == first)
    }

    @Test func aConnectionThatFailedIsNotUsedAgain() async throws {
        let pool = try pool()
        defer { pool.close() }
        let first = try await pool.withConnection { $0.connectionID }
        await #expect(throws: MySQLConnectionError.self) {
            try await pool.withConnection { try await $0.execute("SELEC") }
        }
        #expect(try await pool.withConnection { $0.connectionID } != first)
    }

    @Test func thereAreNeverMoreConnections() async throws {
        let proxy = try await MySQLProxy(to: try TestMySQL.shared().port)
        var settings = try TestMySQL.shared().settings()
        settings.port = proxy.port
        let pool = try pool(settings, maximum: 2)
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<20 {
                group.addTask { try await pool.withConnection { try await $0.query("SELECT SLEEP(0.01)").firstString } }
            }
            for try await answer in group { #expect(answer == "0") }
        }
        #expect(proxy.accepted <= 2)
        pool.close()
        await proxy.allClosed()
    }

    @Test func aCallThatWaitsForItsTurnCanBeCancelled() async throws {
        let pool = try pool(maximum: 1)
        defer { pool.close() }
        try await pool.withConnection { connection in
            let task = Task { try await pool.withConnection(\.connectionID) }
            task.cancel()
            await #expect(throws: CancellationError.self) { _ = try await task.value }
            let answer = try await connection.query("SELECT 1").firstString
            #expect(answer == "1")
        }
        #expect(try await pool.withConnection { $0.isUsable })
    }

    @Test func connectionsThatTheServerHasClosedAreNotUsed() async throws {
        let proxy = try await MySQLProxy(to: try TestMySQL.shared().port)
        var settings = try TestMySQL.shared().settings()
        settings.port = proxy.port
        let pool = try pool(settings)
        defer { pool.close() }
        let answer = try await pool.withConnection { try await $0.query("SELECT 1").firstString }
        #expect(answer == "1")
        proxy.cut()
        await proxy.allClosed()
        let again = try await pool.withConnection { try await $0.query("SELECT 1").firstString }
        #expect(again == "1")
    }

    @Test func aClosedPoolIsClosed() async throws {
        let pool = try pool()
        try await pool.withConnection { connection in
            pool.close()
            let answer = try await connection.query("SELECT 1").firstString
            #expect(answer == "1")
        }
        let error = await #expect(throws: MySQLConnectionError.self) { try await pool.withConnection { _ in } }
        #expect(error?.code == .closed)
    }
}
