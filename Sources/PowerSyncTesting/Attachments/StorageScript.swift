import NIOConcurrencyHelpers

/// What an in-memory storage does apart from storing: fails, waits, and remembers what it was asked for.
final class StorageScript<Operation: Hashable & Sendable>: Sendable {
    private struct Failure {
        var operation: Operation
        var subject: String?
        var error: any Error
        /// How many more times; `nil` for ever.
        var times: Int?
    }

    private struct Hold {
        var operation: Operation
        var subject: String?
        var gate: StorageGate
    }

    private struct State {
        var failures: [Failure] = []
        var holds: [Hold] = []
        var calls: [(operation: Operation, subject: String)] = []
        var running = 0
        var mostRunning = 0
    }

    private let state = NIOLockedValueBox(State())
    private let changes = Signal()

    var calls: [(operation: Operation, subject: String)] { state.withLockedValue { $0.calls } }

    var mostRunning: Int { state.withLockedValue { $0.mostRunning } }

    func fail(_ operation: Operation, of subject: String?, with error: any Error, times: Int?) {
        state.withLockedValue {
            $0.failures.append(Failure(operation: operation, subject: subject, error: error, times: times))
        }
    }

    func stopFailing() {
        state.withLockedValue { $0.failures.removeAll() }
    }

    func hold(_ operation: Operation, of subject: String?, ignoringCancellation: Bool) -> StorageGate {
        let gate = StorageGate(ignoresCancellation: ignoringCancellation)
        state.withLockedValue { $0.holds.append(Hold(operation: operation, subject: subject, gate: gate)) }
        return gate
    }

    func waitForCalls(_ count: Int, of operation: Operation) async throws {
        try await changes.wait {
            state.withLockedValue { state in state.calls.count { $0.operation == operation } >= count ? () : nil }
        }
    }

    /// Does what the test wants to happen before the operation itself, and then the operation.
    func run<Result: Sendable>(
        _ operation: Operation,
        of subject: String,
        _ body: () throws -> Result
    ) async throws -> Result {
        let gates = state.withLockedValue { state in
            state.calls.append((operation, subject))
            state.running += 1
            state.mostRunning = max(state.mostRunning, state.running)
            return state.holds.filter { $0.operation == operation && $0.subject ?? subject == subject }.map(\.gate)
        }
        changes.fire()
        defer { state.withLockedValue { $0.running -= 1 } }
        for gate in gates { try await gate.pass(subject) }
        if let error = takeFailure(of: operation, subject) { throw error }
        return try body()
    }

    private func takeFailure(of operation: Operation, _ subject: String) -> (any Error)? {
        state.withLockedValue { state in
            let index = state.failures.firstIndex {
                $0.operation == operation && $0.subject ?? subject == subject && $0.times != 0
            }
            guard let index else { return nil }
            if let times = state.failures[index].times { state.failures[index].times = times - 1 }
            return state.failures[index].error
        }
    }
}
