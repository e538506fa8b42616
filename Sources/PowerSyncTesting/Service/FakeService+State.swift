import NIOConcurrencyHelpers
import PowerSync
import PowerSyncServiceCore

extension FakeService {
    /// The number of a fault.
    typealias FaultID = Int
    /// The number of a connection: what a client has between `connect()` and its end.
    typealias ConnectionID = Int
    /// The number of a connection.
    typealias StreamID = Int

    struct State {
        var lastID = 0
        var faults: [FaultID: FaultState] = [:]
        var connections: [ConnectionID: Connection] = [:]
        var streams: [StreamID: Stream] = [:]
        /// How often users went offline; `nil` for all of them at once.
        var outages: [String?: Int] = [:]
    }

    struct FaultState {
        let fault: Fault
        /// Whose connections it concerns; `nil` for all.
        let user: String?
        /// Whether a client has run into it.
        var isNoticed = false
    }

    struct Connection {
        let user: String
        /// How often what has failed was worth another attempt.
        var occasions: UInt64 = 0
        /// The faults that it has run into and that its client does not show yet.
        var hits: Set<FaultID> = []
        /// The faults that its client shows.
        var noticed: Set<FaultID> = []
    }

    struct Stream {
        let connection: ConnectionID
        let clientID: String?
        let userKey: String
        let lines: LineQueue
        let keepalives: Keepalives
        /// How many lines are left before faults cut the stream.
        var budgets: [FaultID: Int] = [:]
    }
}

extension FakeService.State {
    mutating func makeID() -> Int {
        lastID += 1
        return lastID
    }

    func concerns(_ fault: FakeService.FaultState, _ user: String) -> Bool {
        fault.user == nil || fault.user == user
    }

    /// The faults that go on for a user, the oldest first.
    func faults(of user: String) -> [(id: FakeService.FaultID, fault: FakeService.Fault)] {
        faults.filter { concerns($0.value, user) }.sorted { $0.key < $1.key }.map { ($0.key, $0.value.fault) }
    }

    /// A fault of a kind that goes on for a user.
    func fault(of user: String, _ kind: FakeService.Fault.Kind) -> FakeService.FaultID? {
        faults(of: user).first { $0.fault.kind == kind }?.id
    }

    /// How often a user went offline.
    func outages(of user: String) -> Int {
        outages[nil, default: 0] + outages[user, default: 0]
    }

    /// The situation of a fault's users has changed: what has failed is worth another attempt.
    mutating func addOccasion(for user: String?) {
        for (id, connection) in connections where user == nil || connection.user == user {
            connections[id]?.occasions += 1
        }
    }
}

extension [FakeService.StreamID: FakeService.Stream] {
    /// Whose write checkpoints the open stream of a client has; `nil` when there is no such stream.
    func userKey(of clientID: String) -> String? {
        filter { $0.value.clientID == clientID }.max { $0.key < $1.key }?.value.userKey
    }
}

// Faults.
extension FakeService {
    func begin(_ fault: Fault, user: String?) -> FaultID {
        let (id, ended) = state.withLockedValue { state in
            let id = state.makeID()
            state.faults[id] = FaultState(fault: fault, user: user)
            if fault == .offline { state.outages[user, default: 0] += 1 }
            state.addOccasion(for: user)
            guard fault.endsOpenStreams else { return (id, [Stream]()) }
            let ended = state.streams.values.filter { stream in
                guard let connection = state.connections[stream.connection] else { return false }
                return user == nil || connection.user == user
            }
            // Whose token is refused learns it from its next request.
            guard fault != .refuseToken else { return (id, ended) }
            for stream in ended { state.connections[stream.connection]?.hits.insert(id) }
            return (id, ended)
        }
        if fault == .holdCheckpoints { rows.hold() }
        for stream in ended { stream.end(with: fault) }
        changes.fire()
        return id
    }

    func end(_ id: FaultID) {
        let fault = state.withLockedValue { state in
            let fault = state.faults.removeValue(forKey: id)
            if let fault { state.addOccasion(for: fault.user) }
            return fault?.fault
        }
        // What the rules cannot commit they have refused before.
        if fault == .holdCheckpoints { try? rows.release() }
        changes.fire()
    }

    func waitUntilNoticed(_ id: FaultID) async throws {
        try await changes.wait {
            state.withLockedValue { state -> Void? in
                guard let fault = state.faults[id] else { return () }
                switch fault.fault.kind {
                case .holdCheckpoints: return rows.isWithheld ? () : nil
                case .slow: return fault.isNoticed ? () : nil
                case .offline, .refuseToken, .cut:
                    let concerned = state.connections.values.filter { state.concerns(fault, $0.user) }
                    return fault.isNoticed && concerned.allSatisfy { $0.noticed.contains(id) } ? () : nil
                }
            }
        }
    }
}

extension FakeService.Stream {
    /// Ends the stream as a fault does that begins.
    fileprivate func end(with fault: FakeService.Fault) {
        switch fault.kind {
        case .refuseToken: lines.offer(keepalives.lastLine, isLast: true)
        default: lines.finish(.failed(SyncTransportError.broken(fault)))
        }
    }
}

extension SyncTransportError {
    /// A connection that a fault breaks.
    static func broken(_ fault: FakeService.Fault) -> SyncTransportError {
        SyncTransportError(.connection, message: "The connection broke: the test has begun the fault \(fault).")
    }
}
