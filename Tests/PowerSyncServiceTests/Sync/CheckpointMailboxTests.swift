import PowerSyncProtocol
import Testing

@testable import PowerSyncServiceCore

@Suite(.timeLimit(.minutes(1))) struct CheckpointMailboxTests {
    private typealias Machine = SyncSessionStateMachineTests

    @Test func onlyTheNewestCheckpointIsKept() async throws {
        let mailbox = CheckpointMailbox()
        #expect(mailbox.takeIfAvailable() == nil)
        mailbox.put(Machine.checkpoint(1))
        mailbox.put(Machine.checkpoint(2))
        #expect(mailbox.takeIfAvailable() == Machine.checkpoint(2))
        #expect(mailbox.takeIfAvailable() == nil)
    }

    @Test func takingWaitsForTheNextOne() async throws {
        let mailbox = CheckpointMailbox()
        async let taken = mailbox.take()
        mailbox.put(Machine.checkpoint(1))
        #expect(try await taken == Machine.checkpoint(1))
    }

    @Test func theEndVoidsTheLastCheckpoint() async throws {
        let mailbox = CheckpointMailbox()
        mailbox.put(Machine.checkpoint(1))
        #expect(!mailbox.isFinished)
        mailbox.finish()
        #expect(mailbox.isFinished)
        #expect(try await mailbox.take() == nil)
    }
}
