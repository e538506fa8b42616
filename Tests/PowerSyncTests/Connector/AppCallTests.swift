import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct AppCallTests {
    private static let limit = Duration.seconds(10)

    private let clock = TestClock()
    private let call: AppCall
    private let overdue = Shared<[String]>([])
    /// What lets the app's code return.
    private let gate = TaskGate()

    init() {
        call = AppCall("work", limit: AppCallLimit(Self.limit, option: "the limit"), clock: ElapsedClock(clock))
    }

    /// Starts the call.
    private func start(_ body: @escaping @Sendable () async throws -> Int) -> Task<Int, any Error> {
        Task { [call, overdue] in
            try await call.run(body) { error in overdue.value += ["\(error)"] }
        }
    }

    /// The app's code, which takes no notice of its cancellation.
    private func waitAtTheGate() async throws -> Int {
        try await Task { [gate] in try await gate.pass() }.value
        return 1
    }

    @Test func aCallThatReturnsInTimeLeavesNothingBehind() async throws {
        #expect(try await start { 1 }.value == 1)
        #expect(overdue.value.isEmpty)
        #expect(clock.pendingTimers.isEmpty)
    }

    @Test func whatACallThrowsInTimeIsThrown() async throws {
        await #expect(throws: ScriptedError()) { try await start { throw ScriptedError() }.value }
        #expect(overdue.value.isEmpty)
    }

    @Test func anOverdueCallIsCancelledAndWaitedFor() async throws {
        let cancelled = TaskGate()
        let running = start { [gate] in
            await withTaskCancellationHandler {
                _ = try? await Task { try await gate.pass() }.value
            } onCancel: {
                cancelled.open()
            }
            return 2
        }
        try await clock.waitForTimer(of: Self.limit)
        clock.advance(by: Self.limit)
        try await cancelled.pass()
        gate.open()
        #expect(try await running.value == 2)
        #expect(
            overdue.value == ["work has not returned within its limit of 10.0 seconds (the limit) and was cancelled."]
        )
    }

    @Test func whatAnOverdueCallThrowsIsPartOfTheError() async throws {
        let running = start {
            try await TaskGate().pass()
            return 1
        }
        try await clock.waitForTimer(of: Self.limit)
        clock.advance(by: Self.limit)
        let error = await #expect(throws: OverdueCallError.self) { try await running.value }
        #expect(error?.call == "work")
        #expect(error?.limit == Self.limit)
        #expect(error?.underlyingError is CancellationError)
        #expect(overdue.value.count == 1)
    }

    @Test func theCancellationOfTheCallerIsNoOverdueCall() async throws {
        let running = start {
            try await TaskGate().pass()
            return 1
        }
        try await clock.waitForTimer(of: Self.limit)
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        #expect(overdue.value.isEmpty)
        #expect(clock.pendingTimers.isEmpty)
    }

    @Test func progressBeginsTheLimitAnew() async throws {
        let running = start(waitAtTheGate)
        try await clock.waitForTimer(of: .seconds(10))
        clock.advance(by: .seconds(9))
        call.progressed()
        clock.advance(by: .seconds(1))
        try await clock.waitForTimer(of: .seconds(9))
        #expect(overdue.value.isEmpty)
        clock.advance(by: .seconds(9))
        gate.open()
        #expect(try await running.value == 1)
    }

    @Test
    func workOfOursIsNoTimeWithoutProgressAlsoInATaskThatTheCallHasStarted() async throws {
        let (began, worked, running) = (TaskGate(), TaskGate(), TaskGate())
        let call = start { [gate] in
            await Task {
                await AppCall.whileWorking {
                    began.open()
                    try? await gate.pass()
                }
            }.value
            worked.open()
            try await running.pass()
            return 3
        }
        try await began.pass()
        for _ in 1...3 {
            try await clock.waitForTimer(of: Self.limit)
            clock.advance(by: Self.limit)
        }
        gate.open()
        try await worked.pass()
        running.open()
        #expect(try await call.value == 3)
        #expect(overdue.value.isEmpty)
    }

    @Test func timeInWhichTheProcessWasSuspendedDoesNotCount() async throws {
        let running = start(waitAtTheGate)
        try await clock.waitForTimer(of: Self.limit)
        clock.advance(by: Self.limit + ElapsedClock.suspension)
        try await clock.waitForTimer(of: Self.limit)
        gate.open()
        #expect(try await running.value == 1)
        #expect(overdue.value.isEmpty)
    }

    @Test func theLongestLimitIsOneThatClocksCanAdd() async throws {
        #expect(AppCallLimit(.seconds(Int64.max), option: "").duration == Argument.longestTime)
    }
}
