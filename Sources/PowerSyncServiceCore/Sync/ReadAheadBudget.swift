import Synchronization

/// Limits the memory that all streams of the process take for lines that clients have not read yet
/// (docs/service.md "Sync sessions").
///
/// A session waits with reading while there is no room. What it reads counts until the network has taken it, so a client that
/// does not read keeps its bytes. When others wait for them, the streams of such clients are ended, those with the most bytes
/// first; they continue where they were when they come back.
package final class ReadAheadBudget: Sendable {
    /// What one stream has in memory.
    ///
    /// Nothing of it counts any more when the last reference goes away.
    package final class Share: Sendable {
        private let budget: ReadAheadBudget
        private let id: UInt64

        fileprivate init(_ budget: ReadAheadBudget, id: UInt64) {
            self.budget = budget
            self.id = id
        }

        deinit { budget.close(id) }

        /// Calls a closure, once, when the memory is wanted by others and the client has taken nothing for a while.
        ///
        /// - Parameter end: Ends the stream; it must not keep the share.
        package func whenStalled(_ end: @escaping @Sendable () -> Void) {
            budget.state.withLock { $0.holders[id]?.end = end }
        }

        /// Some bytes were read.
        func add(_ byteCount: Int) {
            budget.state.withLock { $0.change(id, by: byteCount) }
        }

        /// The network has taken some of the bytes.
        func remove(_ byteCount: Int) {
            budget.remove(byteCount, of: id)
        }
    }

    fileprivate struct Holder {
        var byteCount = 0
        /// How often the network has taken something.
        var removals = 0
        var end: (@Sendable () -> Void)?
    }

    fileprivate struct State {
        var lastID: UInt64 = 0
        var holders: [UInt64: Holder] = [:]
        var byteCount = 0
    }

    /// The time in which a client has to take something when others wait: 30 s.
    package static let patience = Duration.seconds(30)

    private let limit: Int
    private let clock: any Clock<Duration>
    fileprivate let state = Mutex(State())
    private let roomChanged = ChangeSignal()

    /// Creates a budget.
    ///
    /// - Parameters:
    ///   - limit: How many bytes there may be before somebody reads more. What is read then comes on top.
    ///   - clock: Measures the patience.
    package init(limit: Int, clock: any Clock<Duration> = ContinuousClock()) {
        self.limit = limit
        self.clock = clock
    }

    /// The bytes that are in memory.
    package var byteCount: Int { state.withLock(\.byteCount) }

    /// Whether something may be read now.
    var hasRoom: Bool { byteCount < limit }

    /// Makes a share for a stream.
    package func share() -> Share {
        let id = state.withLock { state in
            state.lastID += 1
            state.holders[state.lastID] = Holder()
            return state.lastID
        }
        return Share(self, id: id)
    }

    /// Waits until something may be read.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func waitForRoom() async throws {
        while true {
            let seen = roomChanged.version
            let removals = state.withLock { $0.byteCount < limit ? nil : $0.holders.mapValues(\.removals) }
            guard let removals else { return }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.roomChanged.wait(after: seen) }
                group.addTask { [clock] in
                    try await clock.sleep(for: Self.patience)
                    self.endStalled(since: removals)
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    /// Ends streams of which nothing was taken, until there would be room.
    private func endStalled(since removals: [UInt64: Int]) {
        let ends = state.withLock { state -> [@Sendable () -> Void] in
            let stalled = state.holders.filter { id, holder in
                holder.byteCount > 0 && holder.end != nil && removals[id] == holder.removals
            }
            var ends: [@Sendable () -> Void] = []
            var rest = state.byteCount
            for (id, holder) in stalled.sorted(by: { $0.value.byteCount > $1.value.byteCount }) where rest >= limit {
                rest -= holder.byteCount
                ends.append(contentsOf: [state.holders[id]?.takeEnd()].compactMap(\.self))
            }
            return ends
        }
        for end in ends { end() }
    }

    private func remove(_ byteCount: Int, of id: UInt64) {
        let isRoom = state.withLock { state in
            let wasFull = state.byteCount >= limit
            state.change(id, by: -byteCount)
            state.holders[id]?.removals += 1
            return wasFull && state.byteCount < limit
        }
        if isRoom { roomChanged.advance() }
    }

    private func close(_ id: UInt64) {
        let isRoom = state.withLock { state in
            let wasFull = state.byteCount >= limit
            state.byteCount -= state.holders.removeValue(forKey: id)?.byteCount ?? 0
            return wasFull && state.byteCount < limit
        }
        if isRoom { roomChanged.advance() }
    }
}

extension ReadAheadBudget.State {
    fileprivate mutating func change(_ id: UInt64, by byteCount: Int) {
        holders[id]?.byteCount += byteCount
        self.byteCount += byteCount
    }
}

extension ReadAheadBudget.Holder {
    fileprivate mutating func takeEnd() -> (@Sendable () -> Void)? {
        defer { end = nil }
        return end
    }
}
