import GRDB
import Logging
import PowerSyncSyncConfig
import PowerSyncTesting
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Noticing commits of other programs.
@Suite(.timeLimit(.minutes(1))) struct SourcePollingTests {
    private let clock = TestClock()
    private let folder: TemporaryFolder
    private let source: EmbeddedSource
    private let syncPlan: SyncPlan

    init() throws {
        folder = try TemporaryFolder()
        source = try EmbeddedSource(
            path: folder.path("source.db"),
            schema: [SourceScenario.lists],
            clock: clock,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        syncPlan = try plan(SourceScenario.allLists)
    }

    /// Waits for the messages after the first commit, while `body` runs.
    private func nextMessages(while body: @Sendable @escaping () async throws -> Void) async throws -> [SourceMessage] {
        let tables = try await source.tables(for: syncPlan)
        return try await source.withChanges(of: "s", after: try await source.head(), tables: tables) { reader in
            guard case .commit? = try await reader.next().first else {
                Issue.record("the first batch has no commit")
                return []
            }
            async let done: Void = body()
            let messages = try await reader.next()
            try await done
            return messages
        }
    }

    @Test func foreignCommitIsNoticedAtTheNextPoll() async throws {
        let messages = try await nextMessages { [clock, folder] in
            try await clock.nextTimerScheduled()
            try await DatabaseQueue(path: folder.path("source.db")).write { db in
                try db.execute(sql: "INSERT INTO lists (id) VALUES ('a')")
            }
            clock.advance(by: EmbeddedSource.pollInterval)
        }
        #expect(messages.count == 2)
    }

    @Test func ownCommitIsNoticedWithoutAPoll() async throws {
        let messages = try await nextMessages { [clock, source] in
            try await clock.nextTimerScheduled()
            try await source.putLists(["a": [:]])
        }
        #expect(messages.count == 2)
    }

    @Test func idleReaderShowsThatItIsAlive() async throws {
        let messages = try await nextMessages { [clock] in
            for _ in 0..<EmbeddedChangeReader.maximumPolls {
                try await clock.nextTimerScheduled()
                clock.advance(by: EmbeddedSource.pollInterval)
            }
        }
        #expect(messages.isEmpty)
    }

    @Test func waitingEndsWithTheTask() async throws {
        let waiting = Task { try await nextMessages {} }
        try await clock.nextTimerScheduled()
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }
}
