import Foundation
import GRDB
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// Opening while another connection writes.
@Suite(.timeLimit(.minutes(1))) struct ConnectionOpenerTests {
    /// Runs a test with a file that a connection is about to write to.
    private func withLockedFile(_ body: (_ path: String, _ other: DatabaseQueue) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("a.db").path
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let other = try DatabaseQueue(path: path, configuration: configuration)
            try await other.writeWithoutTransaction { try $0.execute(sql: "CREATE TABLE t (id); BEGIN IMMEDIATE") }
            try await body(path, other)
        }
    }

    private func makeOpener(
        _ path: String,
        onSleep: @escaping @Sendable (Duration) async throws -> Void
    ) -> ConnectionOpener {
        ConnectionOpener(
            location: .file(path: path),
            initialStatements: [],
            clock: TestClock(onSleep: onSleep)
        )
    }

    @Test func succeedsOnceTheLockIsReleased() async throws {
        try await withLockedFile { path, other in
            let sleeps = Shared(0)
            let opener = makeOpener(path) { _ in
                sleeps.value += 1
                if sleeps.value == 3 { try await other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") } }
            }
            let writer = try await opener.open()
            #expect(sleeps.value == 3)
            let mode = try await writer.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") }
            #expect(mode == "wal")
            try writer.close()
        }
    }

    @Test func failsWhenTheBudgetIsUsedUp() async throws {
        try await withLockedFile { path, _ in
            let sleeps = Shared<[Duration]>([])
            let opener = makeOpener(path) { sleeps.value.append($0) }
            let error = await #expect(throws: DatabaseError.self) { _ = try await opener.open() }
            #expect(error?.isContention == true)
            let total = sleeps.value.reduce(.zero, +)
            #expect(total > .seconds(4) && total < .seconds(6))
            #expect(sleeps.value.allSatisfy { $0 <= .milliseconds(250) })
        }
    }

    @Test func stopsWhenCancelled() async throws {
        try await withLockedFile { path, _ in
            let hasSlept = Counter()
            let opener = makeOpener(path) { _ in
                hasSlept.increment()
                // Longer than the test may take; ends by cancellation.
                try await ContinuousClock().sleep(for: .seconds(3600))
            }
            let task = Task { _ = try await opener.open() }
            await hasSlept.wait(for: 1)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func otherErrorsAreNotRetried() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("a.db").path
            try Data("this is not a database, but long enough to have a header".utf8).write(
                to: URL(fileURLWithPath: path)
            )
            let opener = makeOpener(path) { _ in Issue.record("waited for nothing") }
            let error = await #expect(throws: DatabaseError.self) { _ = try await opener.open() }
            #expect(error?.resultCode == .SQLITE_NOTADB)
        }
    }
}
