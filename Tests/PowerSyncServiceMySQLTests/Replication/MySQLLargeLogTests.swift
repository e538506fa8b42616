import Foundation
import MySQLTestSupport
import PowerSyncMySQLConnection
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// A file of the log with offsets of more than 32 bits, which no request can name.
///
/// A file is that long only when one transaction is: the server begins another one behind it. It takes nine gigabytes of disk: in
/// `make soak`.
@Suite(.timeLimit(.minutes(25)), .enabled(if: ProcessInfo.processInfo.environment["POWERSYNC_SLOW"] != nil))
struct MySQLLargeLogTests {
    @Test func aTransactionOfMoreThanFourGibibytesIsReadAndResumedBehind() async throws {
        let folder = try TemporaryFolder()
        let server = try await TestMySQLServer()
        server.stop()
        try server.own(folder.url)
        // The log, and what is kept of a transaction until its end, are not in memory, where the server's other files may be.
        try await server.start([
            "--log-bin=\(folder.path("binlog"))", "--tmpdir=\(folder.url.path)", "--max-binlog-cache-size=8G",
        ])
        var scenario = try await MySQLScenario(
            [
                "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, owner TEXT, name TEXT)",
                "CREATE TABLE unread (id INT PRIMARY KEY, n INT, body LONGTEXT)",
                "INSERT INTO unread VALUES (1, 0, REPEAT('x', 40000000))",
            ],
            on: server
        )
        try await scenario.replicate()
        let begin = try await scenario.source.prepareStream("large", resumingAfter: nil, reached: nil)
        let session = try await scenario.database.open()
        try await session.execute("BEGIN")
        try await session.execute("INSERT INTO lists VALUES ('first', 'u', 'x')")
        // The whole row before and after it: eighty megabytes of the log, and a few bytes of the table.
        for _ in 0..<56 { try await session.execute("UPDATE unread SET n = n + 1", timeout: .seconds(600)) }
        try await session.execute("INSERT INTO lists VALUES ('last', 'u', 'x')")
        try await session.execute("COMMIT", timeout: .seconds(900))
        try await session.execute("INSERT INTO lists VALUES ('behind', 'u', 'x')")
        session.close()

        #expect(try await rows(scenario, after: begin) == 3)
        // The file is sent from its begin.
        let behind = try await endOfLargeTransaction(scenario)
        #expect(try await rows(scenario, after: SourcePosition(behind.lsn, of: begin.history)) == 1)
        try await scenario.source.dropStream("large")

        scenario = try scenario.reopened()
        try await scenario.replicate()
        #expect(try await scenario.ids() == ["first", "last", "behind"])
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
        try scenario.source.close()
    }

    /// The place behind the transaction, where the file has nothing but the event that names the next one.
    private func endOfLargeTransaction(_ scenario: MySQLScenario) async throws -> LogPosition {
        let session = try await scenario.database.open()
        defer { session.close() }
        let file = try #require(try await session.logFiles().first { $0.size > 1 << 32 })
        // A header, an offset, the name, and a checksum.
        let offset = UInt64(file.size) - UInt64(19 + 8 + file.name.description.utf8.count + 4)
        let last = try await session.query(
            "SHOW BINLOG EVENTS IN '\(file.name)' FROM \(offset)",
            timeout: .seconds(600)
        )
        #expect(last.rows.map { $0.string("Event_type") } == ["Rotate"])
        let stamp = try await scenario.source.log.stamp(of: file.name)
        return LogPosition(file: file.name.number, offset: offset, stamp: stamp)
    }

    /// How many rows come after a position until the log ends.
    private func rows(_ scenario: MySQLScenario, after position: SourcePosition) async throws -> Int {
        var plan = try plan(scenario.config)
        plan.defaultSchema = scenario.database.name
        let head = try await scenario.head()
        var rows = 0
        try await scenario.source.reads("large", after: position, plan) { reader in
            var isAtEnd = false
            while !isAtEnd {
                for message in try await reader.next() {
                    switch message {
                    case .changes(let changes, _): rows += changes.count
                    case .commit(let lsn): isAtEnd = lsn >= head.lsn
                    default: break
                    }
                }
            }
        }
        return rows
    }
}
