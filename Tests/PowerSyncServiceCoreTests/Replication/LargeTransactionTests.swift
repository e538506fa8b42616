import GRDB
import NIOConcurrencyHelpers
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// How far a large transaction of the source is, while clients get nothing of it (docs/postgres.md "How it is followed").
@Suite(.timeLimit(.minutes(1))) struct LargeTransactionTests {
    /// A source that notes what the statistics say whenever it is asked for changes.
    private struct WatchingSource: ForwardingSource {
        let source: EmbeddedSource
        let willRead: @Sendable () -> Void

        private struct Changes: ChangeReader {
            var reader: any ChangeReader
            let willRead: @Sendable () -> Void

            mutating func next() async throws -> [SourceMessage] {
                willRead()
                return try await reader.next()
            }
        }

        func withChanges<Result>(
            of handle: String,
            after position: SourcePosition,
            tables: [SourceTable],
            plan: SyncPlan,
            _ body: (inout any ChangeReader) async throws -> Result
        ) async throws -> Result {
            try await source.withChanges(of: handle, after: position, tables: tables, plan: plan) { reader in
                var changes: any ChangeReader = Changes(reader: reader, willRead: willRead)
                return try await body(&changes)
            }
        }
    }

    @Test(arguments: [30_000, StreamReplicator.shownTransaction - 1])
    func theStatisticsSayHowManyChangesHaveCome(rows: Int) async throws {
        let scenario = try SourceScenario()
        let statistics = ReplicationStatistics()
        let seen = NIOLockedValueBox<[ReplicationStatistics.OpenTransaction]>([])
        _ = try await scenario.storage.deploy(scenario.config, plan: plan(scenario.config))
        let replicator = Replicator(
            storage: scenario.storage,
            source: WatchingSource(source: scenario.source) {
                if let open = statistics.counts.openTransaction { seen.withLockedValue { $0.append(open) } }
            },
            streamsChanged: ChangeSignal(),
            statistics: statistics,
            logger: scenario.logger
        )
        let connection = try scenario.foreignConnection()
        try await replicator.whileRunning {
            try await scenario.caughtUp()
            try await connection.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO lists (id)
                        WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
                        SELECT 'l' || i FROM n
                        """
                )
            }
            try await scenario.caughtUp()
        }
        let changes = seen.withLockedValue { $0.map(\.changes) }
        #expect(changes.isEmpty == (rows < StreamReplicator.shownTransaction))
        #expect(changes == changes.sorted())
        #expect(changes.allSatisfy { $0 >= StreamReplicator.shownTransaction && $0 <= rows })
        #expect(statistics.counts.openTransaction == nil)
    }
}
