import TestSupport

/// Carries requests, answers and streams between processes.
///
/// `@unchecked`: the simulation has one thread.
package final class SimulatedNetwork: @unchecked Sendable {
    /// How long a connection lives without a packet.
    static let patience = Duration.seconds(120)

    let runtime: SimulatedRuntime
    private var random: SeededGenerator

    package init(_ runtime: SimulatedRuntime, seed: UInt64) {
        self.runtime = runtime
        random = SeededGenerator(seed: seed)
    }

    /// Whether something happens that does in so many of 100 cases.
    private func happens(_ percentage: Int) -> Bool { percentage > 0 && random.number(below: 100) < percentage }

    /// Where a packet goes.
    enum Direction {
        /// From the device.
        case out
        /// To the device.
        case `in`
    }

    /// How long a packet takes now; `nil` for one that comes too late for its connection.
    func delay(_ direction: Direction, over link: SimulatedLink) -> Duration? {
        let latency = Duration.milliseconds(Int.random(in: link.latency, using: &random))
        let silentUntil = direction == .out ? link.silentOutUntil : link.silentInUntil
        guard silentUntil > runtime.now else { return latency }
        let silence = Duration.nanoseconds(Int64(silentUntil - runtime.now))
        return silence < Self.patience ? silence + latency : nil
    }

    /// Sends a request, and waits for the answer.
    ///
    /// - Parameters:
    ///   - link: The way of the client.
    ///   - server: The process that answers; `nil` while there is none.
    ///   - carryOut: Answers the request, as a task of the server. It may be carried out twice, or without a word to the client.
    /// - Returns: The answer.
    /// - Throws: What `carryOut` throws, ``SimulatedNetworkError``, or `CancellationError`.
    func call<Value: Sendable>(
        over link: SimulatedLink,
        to server: @escaping () -> SimulatedProcess?,
        _ carryOut: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let (answer, client) = (Answer<Value>(), link.process)
        // Nothing that happens to the connection is seen at once by both ends.
        func fail(_ error: SimulatedNetworkError, after delay: Duration) {
            runtime.after(delay, for: client) { answer.give(.failure(error)) }
        }
        guard link.downUntil <= runtime.now else {
            fail(.unreachable, after: .milliseconds(random.number(below: 3000)))
            return try await answer.value()
        }
        let connection = link.opened { [runtime] error in
            runtime.after(.milliseconds(1), for: client) { answer.give(.failure(error)) }
        }
        defer { link.forget(connection) }
        let attempts = happens(link.repeatedRequests) ? 2 : 1
        for _ in 0..<attempts {
            guard let there = delay(.out, over: link) else {
                fail(.timedOut, after: Self.patience)
                continue
            }
            runtime.after(there) { [self] in
                guard let process = server(), runtime.isAlive(process) else {
                    return fail(.unreachable, after: .milliseconds(5))
                }
                let death = runtime.whenDead(process) { answer.isGiven ? () : fail(.broken, after: .milliseconds(5)) }
                runtime.run(as: process) {
                    _ = Task {
                        let result: Result<Value, any Error>
                        do { result = .success(try await carryOut()) } catch { result = .failure(error) }
                        runtime.forgetDeath(death)
                        if happens(link.lostAnswers) { return fail(.broken, after: .milliseconds(20)) }
                        guard let back = delay(.in, over: link) else { return fail(.timedOut, after: Self.patience) }
                        runtime.after(back, for: client) { answer.give(result) }
                    }
                }
            }
        }
        return try await answer.value()
    }
}
