import NIOConcurrencyHelpers
import PowerSyncTesting
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct TurnLockTests {
    private struct Left: Error {}

    private let lock = TurnLock(error: Left())
    private let clock = TestClock()
    private let held = HeldCall()

    /// Takes a turn that hangs, in spite of a cancellation.
    ///
    /// - Returns: The task that waits for it.
    private func hang(of owner: Owner? = nil) async throws -> Task<Void, any Error> {
        let task = Task { [lock, held] in
            try await lock.withTurn(of: owner.map { ObjectIdentifier($0) }) { _ = await held.arrive() }
        }
        try await held.waitForArrivals(1)
        return task
    }

    /// What takes turns.
    private final class Owner: Sendable {}

    @Test func aTurnThatHangsIsLeftBehindByOneThatInsists() async throws {
        let hung = try await hang()
        let behind = Task { [lock] in try await lock.withTurn { Issue.record("has a turn before the one that insists") }
        }
        let insisting = Task { [lock, clock] in
            try await lock.take(insistingAfter: .milliseconds(500), ElapsedClock(clock))
        }
        try await clock.waitForTimer(of: .milliseconds(500))
        clock.advance(by: .milliseconds(499))
        clock.advance(by: .milliseconds(1))
        let turn = try await insisting.value
        await #expect(throws: Left.self) { try await hung.value }
        // It was behind the first one, or comes after the second.
        behind.cancel()
        await #expect(throws: (any Error).self) { try await behind.value }
        held.open()
        #expect(held.wasCancelled)
        turn.end()
        // Its end has not given the lock away a second time.
        #expect(try await lock.withTurn { 1 } == 1)
    }

    @Test func aTurnThatEndsInTimeIsNotLeftBehind() async throws {
        let holder = try await hang()
        let insisting = Task { [lock, clock] in
            try await lock.take(insistingAfter: .milliseconds(500), ElapsedClock(clock))
        }
        try await clock.waitForTimer(of: .milliseconds(500))
        clock.advance(by: .milliseconds(499))
        held.open()
        try await holder.value
        #expect(!held.wasCancelled)
        try await insisting.value.end()
        #expect(try await lock.withTurn { 1 } == 1)
    }

    @Test func oneThatInsistsAndIsCancelledInsistsNoMore() async throws {
        let hung = try await hang()
        let insisting = Task { [lock, clock] in
            try await lock.take(insistingAfter: .milliseconds(500), ElapsedClock(clock))
        }
        try await clock.waitForTimer(of: .milliseconds(500))
        insisting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await insisting.value }
        held.open()
        try await hung.value
        #expect(try await lock.withTurn { 1 } == 1)
    }

    @Test func aTurnThatBecomesOverdueIsNotWaitedForByThoseThatInsistAlready() async throws {
        struct Overdue: Error {}
        let turn = try await lock.take(insistingAfter: .milliseconds(500), ElapsedClock(clock))
        let insisting = Task { [lock, clock] in
            try await lock.take(insistingAfter: .milliseconds(500), ElapsedClock(clock))
        }
        try await clock.waitForTimer(of: .milliseconds(500))
        turn.becameOverdue(throwing: Overdue())
        await #expect(throws: Overdue.self) { _ = try await insisting.value }
        // Also one that asks now.
        await #expect(throws: Overdue.self) {
            _ = try await lock.take(insistingAfter: .milliseconds(500), ElapsedClock(clock))
        }
        turn.end()
        #expect(try await lock.withTurn { 1 } == 1)
    }

    @Test func aFreeLockIsTakenWithoutATimer() async throws {
        let turn = try await lock.take(insistingAfter: .milliseconds(500), ElapsedClock(clock))
        await turn.run { #expect(lock.isHeldByThisTask) }
        #expect(!lock.isHeldByThisTask)
        turn.end()
    }

    @Test func anOwnerLeavesItsOwnTurnOnly() async throws {
        let (owner, other) = (Owner(), Owner())
        let hung = try await hang(of: owner)
        lock.leave(turnOf: ObjectIdentifier(other))
        lock.leave(turnOf: ObjectIdentifier(owner))
        await #expect(throws: CancellationError.self) { try await hung.value }
        #expect(try await lock.withTurn { 1 } == 1)
        held.open()
        #expect(held.wasCancelled)
    }

    @Test func aTurnThatHasBegunIsCancelledWithItsCaller() async throws {
        for _ in 0..<200 {
            let caller = NIOLockedValueBox<Task<Bool, any Error>?>(nil)
            // The lock is given back when the caller is there.
            let task = caller.withLockedValue { [lock] started in
                let task = Task {
                    try await lock.withTurn {
                        caller.withLockedValue { $0 }?.cancel()
                        return Task.isCancelled
                    }
                }
                started = task
                return task
            }
            #expect(try await task.value)
        }
    }

    @Test func whatIsLeftBehindWritesNothing() async throws {
        let harness = QueueHarness()
        let service = AttachmentService(
            db: harness.database,
            tableName: "attachments",
            logger: harness.log,
            maxArchivedCount: 100
        )
        let (results, result) = AsyncStream.makeStream(of: Result<Attachment, any Error>.self)
        let call = Task { [held] in
            try await service.withContext { table in
                _ = await held.arrive()
                do {
                    let row = Attachment(id: "a", filename: "a.jpg", state: .synced)
                    result.yield(.success(try await table.saveAttachment(attachment: row)))
                } catch {
                    result.yield(.failure(error))
                }
            }
        }
        try await held.waitForArrivals(1)
        service.leaveTurn()
        await #expect(throws: CancellationError.self) { try await call.value }
        held.open()
        let written = await results.first { _ in true }
        #expect(throws: CancellationError.self) { try written?.get() }
        #expect(try await harness.rows().isEmpty)
        try await harness.database.close()
    }
}
