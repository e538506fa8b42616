import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct ConnectorCallsTests {
    private let session: SyncGroup.SessionID
    private let calls: ConnectorCalls

    init() throws {
        var machine = SyncGroup.StateMachine()
        let (member, call) = (machine.joined(), machine.newCall())
        guard case .open(let session, for: call)? = machine.called(call, .connect, by: member).first else {
            throw ScriptedError(name: "no session")
        }
        self.session = session
        calls = ConnectorCalls(of: session, clock: ElapsedClock(TestClock()))
    }

    @Test func methodsKnowTheirSession() async throws {
        let known = try await calls.run { ConnectorCalls.session }
        #expect(known == session)
        #expect(ConnectorCalls.session == nil)
    }

    @Test func noMethodBeginsAfterTheOthersWereCancelled() async {
        let runs = Shared(0)
        calls.cancel()
        await #expect(throws: CancellationError.self) { try await calls.run { runs.value += 1 } }
        await calls.end()
        #expect(runs.value == 0)
    }

    @Test func theEndIsThatOfTheLastMethod() async throws {
        let (began, gate) = (TaskGate(), TaskGate())
        let hasEnded = Shared(false)
        let caller = Task { [calls] in
            try await calls.run {
                began.open()
                // Takes no notice of its cancellation.
                try await Task { try await gate.pass() }.value
                hasEnded.value = true
            }
        }
        try await began.pass()
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        #expect(!hasEnded.value)
        gate.open()
        await calls.end()
        #expect(hasEnded.value)
    }
}
