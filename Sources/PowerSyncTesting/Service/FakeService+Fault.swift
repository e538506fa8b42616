import NIOConcurrencyHelpers

extension FakeService {
    /// Something that goes wrong between clients and the service.
    public struct Fault: Sendable, Hashable, CustomStringConvertible {
        enum Kind: Sendable, Hashable {
            case offline
            case refuseToken
            case cut(afterLines: Int)
            case slow(by: Duration)
            case holdCheckpoints
        }

        let kind: Kind

        /// Nothing reaches the service or the backend.
        ///
        /// Streams that are open break.
        public static let offline = Fault(kind: .offline)

        /// The service refuses tokens with status 401.
        ///
        /// Streams that are open end, as if their tokens had expired.
        public static let refuseToken = Fault(kind: .refuseToken)

        /// Each stream breaks after some more lines of it.
        ///
        /// - Parameter count: How many lines the client gets: counted from the beginning of the fault, or of the stream.
        /// - Returns: The fault.
        public static func cut(afterLines count: Int) -> Fault { Fault(kind: .cut(afterLines: max(0, count))) }

        /// Each answer and each line takes a time of the service's clock.
        ///
        /// Nothing arrives before the test moves the clock.
        ///
        /// - Parameter delay: The time.
        /// - Returns: The fault.
        public static func slow(by delay: Duration) -> Fault { Fault(kind: .slow(by: delay)) }

        /// No checkpoint has what changes: neither changed rows nor the acknowledgements of uploads reach clients, as if replication
        /// were behind.
        ///
        /// Checkpoints are those of all users, and so is this fault.
        public static let holdCheckpoints = Fault(kind: .holdCheckpoints)

        /// Whether streams that are open end with the beginning of the fault.
        var endsOpenStreams: Bool {
            switch kind {
            case .offline, .refuseToken: true
            case .cut(let count): count == 0
            case .slow, .holdCheckpoints: false
            }
        }

        /// Whether streams break only after some lines.
        var isOnlyCut: Bool {
            if case .cut = kind { true } else { false }
        }

        /// The name of the fault.
        public var description: String {
            switch kind {
            case .offline: "offline"
            case .refuseToken: "refuseToken"
            case .cut(let count): "cut(afterLines: \(count))"
            case .slow(let delay): "slow(by: \(delay))"
            case .holdCheckpoints: "holdCheckpoints"
            }
        }
    }

    /// A fault that has begun.
    ///
    /// ```swift
    /// let outage = service.begin(.offline, for: "alice")
    /// try await outage.waitUntilNoticed()  // the status says that the client is offline
    /// // … write while offline …
    /// outage.end()                         // the client connects again at once
    /// ```
    public struct OngoingFault: Sendable {
        let service: FakeService
        let id: FaultID

        /// Waits until clients have run into the fault: at least one, and all that are connected and that it concerns.
        ///
        /// For ``FakeService/Fault/offline``, ``FakeService/Fault/refuseToken`` and ``FakeService/Fault/cut(afterLines:)``, the
        /// status of a client says so by then, and the client waits for its next attempt. For
        /// ``FakeService/Fault/slow(by:)``, something is being delayed; for ``FakeService/Fault/holdCheckpoints``, something is
        /// held back.
        ///
        /// - Throws: `CancellationError`
        public func waitUntilNoticed() async throws {
            try await service.waitUntilNoticed(id)
        }

        /// Ends the fault.
        ///
        /// Clients that wait for their next attempt make it at once. Idempotent.
        public func end() {
            service.end(id)
        }
    }

    /// Begins a fault for all users.
    ///
    /// - Parameter fault: The fault. Several may go on at the same time.
    /// - Returns: What to wait for, and to end it with.
    @discardableResult
    public func begin(_ fault: Fault) -> OngoingFault {
        OngoingFault(service: self, id: begin(fault, user: nil))
    }

    /// Begins a fault for one user.
    ///
    /// - Parameters:
    ///   - fault: The fault. Several may go on at the same time.
    ///   - user: Whose connections it concerns.
    /// - Returns: What to wait for, and to end it with.
    @discardableResult
    public func begin(_ fault: Fault, for user: String) -> OngoingFault {
        OngoingFault(service: self, id: begin(fault, user: user))
    }

    /// Runs a closure during a fault, which has been noticed when it begins.
    ///
    /// ```swift
    /// try await service.during(.offline, for: "alice") {
    ///     try await alice.execute("INSERT INTO todos(id, title) VALUES ('t1', 'Milk')")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - fault: A fault that connected clients notice by themselves: ``FakeService/Fault/offline`` or
    ///     ``FakeService/Fault/refuseToken``. For others, nothing is waited for.
    ///   - user: Whose connections it concerns; `nil` for all.
    ///   - body: What happens meanwhile.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, or `CancellationError`.
    public func during<Result>(
        _ fault: Fault,
        for user: String? = nil,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let id = begin(fault, user: user)
        defer { end(id) }
        if fault.endsOpenStreams { try await waitUntilNoticed(id) }
        return try await body()
    }

    /// Lets all clients that wait for their next attempt make it now.
    public func retry() {
        state.withLockedValue { state in
            for id in state.connections.keys { state.connections[id]?.occasions += 1 }
        }
        changes.fire()
    }
}
