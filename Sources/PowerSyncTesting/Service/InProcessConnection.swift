import NIOConcurrencyHelpers
import PowerSync

/// One connection of a client to a ``FakeService``, from `connect()` to its end.
final class InProcessConnection: RetryOccasions {
    let service: FakeService
    let id: FakeService.ConnectionID
    let user: String

    /// Makes a connection known to the service.
    init(to service: FakeService, user: String) {
        self.service = service
        self.user = user
        id = service.state.withLockedValue { state in
            let id = state.makeID()
            state.connections[id] = FakeService.Connection(user: user)
            return id
        }
    }

    deinit {
        _ = service.state.withLockedValue { $0.connections.removeValue(forKey: id) }
        service.changes.fire()
    }

    var count: UInt64 { service.uploads.version + service.state.withLockedValue { $0.connections[id]?.occasions ?? 0 } }

    func wait(toRetry attempt: RetriedAttempt, after count: UInt64) async throws {
        // By now the client shows why it waits, unless there was an occasion meanwhile, such as the beginning of the fault.
        if attempt == .download { noticeFaults(isWaiting: self.count <= count) }
        try await service.changes.wait { self.count > count ? () : nil }
    }

    /// What has ended is worth another attempt.
    func addOccasion() {
        service.state.withLockedValue { $0.connections[id]?.occasions += 1 }
        service.changes.fire()
    }

    /// The client shows the faults that it has run into.
    ///
    /// - Parameter isWaiting: Whether it waits for its next attempt. Otherwise it makes it at once, and runs once more into what goes
    ///   on; a stream that is cut is perhaps followed by one that is not.
    private func noticeFaults(isWaiting: Bool) {
        service.state.withLockedValue { state in
            for hit in state.connections[id]?.hits ?? [] where isWaiting || state.faults[hit]?.fault.isOnlyCut != false
            {
                state.faults[hit]?.isNoticed = true
                state.connections[id]?.noticed.insert(hit)
                state.connections[id]?.hits.remove(hit)
            }
        }
        service.changes.fire()
    }
}

// Requests meet the faults that go on.
extension InProcessConnection {
    /// Fails if nothing reaches the service.
    ///
    /// - Throws: `SyncTransportError`
    func checkOnline(_ target: String) throws {
        let isOffline = service.state.withLockedValue { state in
            guard let fault = state.fault(of: user, .offline) else { return false }
            state.connections[id]?.hits.insert(fault)
            return true
        }
        guard isOffline else { return }
        throw SyncTransportError(.connection, message: "\(target) failed: the test has begun the fault offline.")
    }

    /// Fails if tokens are refused.
    ///
    /// - Throws: ``AuthorizationError``
    func checkTokens() throws {
        let isRefused = service.state.withLockedValue { state in
            guard let fault = state.fault(of: user, .refuseToken) else { return false }
            state.connections[id]?.hits.insert(fault)
            return true
        }
        if isRefused { throw TokenRefusal() }
    }

    /// Waits for as long as the service is slow.
    ///
    /// - Parameter isOver: Ends the wait early.
    /// - Throws: `CancellationError`
    func delay(unless isOver: @escaping @Sendable () -> Bool = { false }) async throws {
        let slowness = service.state.withLockedValue { state in
            for (fault, known) in state.faults(of: user) {
                guard case .slow(let delay) = known.kind else { continue }
                state.faults[fault]?.isNoticed = true
                return Optional((fault: fault, delay: delay))
            }
            return nil
        }
        guard let slowness else { return }
        service.changes.fire()
        try await withThrowingTaskGroup { tasks in
            defer { tasks.cancelAll() }
            tasks.addTask { [clock = service.clock] in try await clock.sleep(for: slowness.delay) }
            tasks.addTask { [service] in
                try await service.changes.wait {
                    isOver() || service.state.withLockedValue { $0.faults[slowness.fault] == nil } ? () : nil
                }
            }
            try await tasks.next()
        }
    }

    /// How many lines a stream may still deliver.
    ///
    /// - Throws: `SyncTransportError` when a fault cuts it here.
    func allowance(of stream: FakeService.StreamID) throws -> Int {
        try service.state.withLockedValue { state in
            var allowance = Int.max
            for (fault, known) in state.faults(of: user) {
                guard case .cut(let count) = known.kind else { continue }
                let left = state.streams[stream]?.budgets[fault] ?? count
                state.streams[stream]?.budgets[fault] = left
                if left == 0 {
                    state.connections[id]?.hits.insert(fault)
                    throw SyncTransportError.broken(known)
                }
                allowance = min(allowance, left)
            }
            return allowance
        }
    }

    /// A stream has delivered lines.
    func didDeliver(_ count: Int, of stream: FakeService.StreamID) {
        service.state.withLockedValue { state in
            for fault in state.streams[stream]?.budgets.keys.sorted() ?? [] {
                state.streams[stream]?.budgets[fault]? -= count
            }
        }
    }
}

/// The fault ``FakeService/Fault/refuseToken``.
struct TokenRefusal: Error {}
