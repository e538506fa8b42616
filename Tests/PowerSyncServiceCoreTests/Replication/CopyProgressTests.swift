import GRDB
import NIOConcurrencyHelpers
import PowerSyncSyncConfig
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// How far the copy of tables is, in the log and for operators.
@Suite(.timeLimit(.minutes(1))) struct CopyProgressTests {
    private static let config = """
        config: {edition: 3}
        streams:
          all: {queries: [SELECT * FROM lists, SELECT * FROM todos]}
        """

    /// A source whose tables take a time to be read, all of it before the first rows.
    private struct SlowSource: ForwardingSource {
        let source: EmbeddedSource
        let clock: TestClock
        let delay: Duration
        let willRead: @Sendable () -> Void

        private struct Pages: SnapshotReader {
            var pages: any SnapshotReader
            /// What happens before the first page.
            var begin: (@Sendable () -> Void)?

            mutating func next() async throws -> SnapshotChunk? {
                begin?()
                begin = nil
                return try await pages.next()
            }
        }

        func snapshot(of table: SourceTableDescriptor, after key: SnapshotKey?) async throws -> any SnapshotReader {
            Pages(pages: try await source.snapshot(of: table, after: key)) {
                willRead()
                clock.advance(by: delay)
            }
        }
    }

    /// The lines of a copy of two tables of which each takes a time, and what the statistics have said when each began.
    private static func copy(
        taking delay: Duration
    ) async throws -> (lines: [String], copies: [ReplicationStatistics.TableCopy]) {
        let scenario = try SourceScenario(
            schema: [SourceScenario.lists, "CREATE TABLE todos (id TEXT PRIMARY KEY, title TEXT)"],
            config: config
        )
        try await scenario.foreignConnection().write { db in
            for (table, count) in [("lists", 15_000), ("todos", 7)] {
                try db.execute(
                    sql: """
                        INSERT INTO \(table) (id)
                        WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
                        SELECT 'r' || i FROM n
                        """
                )
            }
        }
        let clock = TestClock()
        let statistics = ReplicationStatistics()
        let seen = NIOLockedValueBox<[ReplicationStatistics.TableCopy]>([])
        _ = try await scenario.storage.deploy(config, plan: plan(config))
        let replicator = Replicator(
            storage: scenario.storage,
            source: SlowSource(source: scenario.source, clock: clock, delay: delay) {
                seen.withLockedValue { $0 += statistics.counts.copies.values }
            },
            streamsChanged: ChangeSignal(),
            clock: clock,
            statistics: statistics,
            logger: scenario.logger
        )
        try await replicator.whileRunning { try await scenario.caughtUp() }
        #expect(statistics.counts.copies.isEmpty)
        #expect(statistics.counts.rows == 15_007)
        return (
            scenario.log.lines.filter { $0.contains("A table of the source is being copied") },
            seen.withLockedValue(\.self)
        )
    }

    @Test func theStatisticsSayWhichTableIsCopied() async throws {
        let copies = try await Self.copy(taking: .seconds(1)).copies
        #expect(copies.map(\.table.name) == ["lists", "todos"])
        #expect(copies.map(\.rows) == [0, 0])
        #expect(copies.map(\.copiedTables) == [0, 1])
        #expect(copies.map(\.tables) == [2, 2])
        #expect(copies.map(\.estimatedRows) == [15_000, 7])
    }

    @Test func theLogSaysAboutHowManyRowsAreReadBeforeTheyAre() async throws {
        func announced(_ scenario: SourceScenario) -> [String] {
            scenario.log.lines.filter { $0.contains("A table of the source is about to be read") }
        }
        var scenario = try SourceScenario(
            schema: [SourceScenario.lists, "CREATE TABLE todos (id TEXT PRIMARY KEY, title TEXT)"]
        )
        try await scenario.foreignConnection().write { db in
            try db.execute(sql: "INSERT INTO lists (id) VALUES ('a'); INSERT INTO todos (id) VALUES ('b'), ('c')")
        }
        try await scenario.replicate()
        #expect(
            announced(scenario).map { $0.hasSuffix("estimated_rows=1 replication_stream=1 table=main.lists") } == [true]
        )

        // What the first config does not read is read beside the change stream.
        let config = SourceScenario.allLists + "\n  todos:\n    query: SELECT * FROM todos"
        _ = try await scenario.storage.deploy(config, versionLabel: nil, plan: plan(config), mode: .keepingParts)
        scenario = try scenario.reopened(config: config)
        _ = try await scenario.replicating { [scenario] in try await scenario.served(config) }
        #expect(
            announced(scenario).map { $0.hasSuffix("estimated_rows=2 replication_stream=1 table=main.todos") } == [true]
        )
    }

    @Test func aCopyThatTakesLongIsInTheLogEveryTenSeconds() async throws {
        let lines = try await Self.copy(taking: .seconds(10)).lines
        #expect(lines.count == 2)
        #expect(lines.first?.contains("rows=10000") == true, "\(lines)")
        #expect(lines.first?.contains("copied_tables=0") == true, "\(lines)")
        #expect(lines.first?.contains("estimated_rows=15000") == true, "\(lines)")
        #expect(lines.last?.contains("rows=7") == true, "\(lines)")
        #expect(lines.last?.contains("copied_tables=1") == true, "\(lines)")
        #expect(lines.allSatisfy { $0.contains("copying_tables=2") })
    }

    @Test func severalTablesCountTogether() async throws {
        let lines = try await Self.copy(taking: .seconds(9)).lines
        #expect(lines.count == 1)
        #expect(lines.first?.contains("todos") == true, "\(lines)")
        #expect(try await Self.copy(taking: .seconds(4)).lines.isEmpty)
    }
}
