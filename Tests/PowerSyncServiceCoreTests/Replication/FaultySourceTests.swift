import GRDB
import NIOConcurrencyHelpers
import PowerSyncSyncConfig
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Sources that do not keep their promises (docs/service.md "What a source promises"): replication stops, and says why.
@Suite(.timeLimit(.minutes(1))) struct FaultySourceTests {
    /// A source whose messages are changed.
    private struct ChangedSource: ForwardingSource {
        let source: EmbeddedSource
        let change: @Sendable (SourceMessage) -> SourceMessage

        private struct Changes: ChangeReader {
            var reader: any ChangeReader
            let change: @Sendable (SourceMessage) -> SourceMessage

            mutating func next() async throws -> [SourceMessage] { try await reader.next().map(change) }
        }

        func withChanges<Result>(
            of handle: String,
            after position: SourcePosition,
            tables: [SourceTable],
            plan: SyncPlan,
            _ body: (inout any ChangeReader) async throws -> Result
        ) async throws -> Result {
            try await source.withChanges(of: handle, after: position, tables: tables, plan: plan) { reader in
                var changes: any ChangeReader = Changes(reader: reader, change: change)
                return try await body(&changes)
            }
        }
    }

    /// What replication fails with.
    private func failure(
        of scenario: SourceScenario,
        _ change: @escaping @Sendable (SourceMessage) -> SourceMessage
    ) async throws -> String? {
        let failures = ChangeSignal()
        let message = NIOLockedValueBox<String?>(nil)
        _ = try await scenario.storage.deploy(scenario.config, plan: plan(scenario.config))
        let replicator = Replicator(
            storage: scenario.storage,
            source: ChangedSource(source: scenario.source, change: change),
            streamsChanged: ChangeSignal(),
            // The next attempt never comes.
            clock: TestClock(),
            logger: scenario.logger,
            report: { report, _ in
                guard let error = report.error else { return }
                message.withLockedValue { $0 = "\(error)" }
                failures.advance()
            }
        )
        try await replicator.whileRunning { try await failures.wait(after: 0) }
        return message.withLockedValue { $0 }
    }

    @Test func positionsWithoutAnOrderAreRefused() async throws {
        let scenario = try SourceScenario()
        let failure = try #require(
            try await failure(of: scenario) { message in
                if case .commit = message { .commit(LSN("10")) } else { message }
            }
        )
        #expect(failure.contains("The source gives positions that have no order, "), "\(failure)")
        #expect(failure.contains(" and 10: this is a fault of the service."), "\(failure)")
        #expect(try await scenario.storage.activeStream() == nil)
    }

    @Test func rowsThatCannotBeCompletedAreRefused() async throws {
        let scenario = try SourceScenario()
        // After the copy, as the first change.
        let isCopied = NIOLockedValueBox(false)
        let foreign = try scenario.foreignConnection()
        let failure = try await failure(of: scenario) { message in
            switch message {
            case .commit where !isCopied.withLockedValue({ $0 }):
                isCopied.withLockedValue { $0 = true }
                try? foreign.write { db in try db.execute(sql: "INSERT INTO lists (id) VALUES ('late')") }
                return message
            case .changes(let changes, let relationID):
                return .partialUpdates(changes.compactMap { $0.row.map { PartialUpdate($0) } }, relationID: relationID)
            default: return message
            }
        }
        #expect(
            failure?.contains("leaves out cells of main.lists, and its rows cannot be read by their keys.") == true,
            "\(failure ?? "no failure")"
        )
    }
}
