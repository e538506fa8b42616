import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct ConnectorCallsTests {
    private let connection: ConnectionRules.ConnectionID
    private let clock = TestClock()
    private let calls: ConnectorCalls

    init() throws {
        var machine = ConnectionRules()
        let (member, call) = (machine.joined(), machine.newCall())
        guard case .open(let connection, for: call)? = machine.called(call, .connect, by: member).first else {
            throw ScriptedError(name: "no connection")
        }
        self.connection = connection
        calls = ConnectorCalls(of: connection, clock: ElapsedClock(clock))
    }

    @Test func methodsKnowTheirConnection() async throws {
        let known = try await calls.run { ConnectorCalls.connection }
        #expect(known == connection)
        #expect(ConnectorCalls.connection == nil)
    }

    @Test func noMethodBeginsAfterTheOthersWereCancelled() async {
        let runs = Shared(0)
        calls.cancel()
        await #expect(throws: CancellationError.self) { try await calls.run { runs.value += 1 } }
        #expect(await calls.haveEnded(within: .seconds(1)))
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
        async let end = calls.haveEnded(within: .seconds(1))
        try await clock.waitForTimer(of: .seconds(1))
        gate.open()
        #expect(await end)
        #expect(hasEnded.value)
        #expect(clock.pendingTimers.isEmpty)
    }

    @Test func methodsThatDoNotReturnAreLeftBehind() async throws {
        let (began, gate) = (TaskGate(), TaskGate())
        let caller = Task { [calls] in
            try await calls.run {
                began.open()
                try await Task { try await gate.pass() }.value
            }
        }
        try await began.pass()
        calls.cancel()
        async let end = calls.haveEnded(within: .seconds(1))
        try await clock.waitForTimer(of: .seconds(1))
        clock.advance(by: .seconds(1))
        #expect(await !end)
        gate.open()
        _ = await caller.result
    }
}
