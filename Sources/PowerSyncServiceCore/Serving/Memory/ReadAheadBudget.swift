import Metrics
import NIOConcurrencyHelpers

/// Limits the memory that all streams of the process take for lines that clients have not read yet
/// (docs/service.md "Sync sessions").
///
/// A session waits with reading while there is no room. What it reads counts until the network has taken it, so a client that
/// does not read keeps its bytes. When others wait for them, the streams of clients that have taken nothing for ``patience`` are
/// ended, those with the most bytes first; they continue where they were when they come back.
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
        /// What is told to end counts as gone for ``patience``. A closure that ends nothing calls this again before it returns:
        /// then nobody relies on these bytes, others are told as well, and the new closure is called after that time.
        ///
        /// - Parameter end: Ends the stream; it must not keep the share.
        package func whenStalled(_ end: @escaping @Sendable () -> Void) {
            budget.state.withLockedValue { $0.holders[id]?.end = end }
        }

        /// Ends the stream if its client has taken nothing for a while.
        ///
        /// - Returns: Whether it is told to end, now or before.
        func endIfStalled() -> Bool {
            budget.endIfStalled(id)
        }

        /// Some bytes were read.
        func add(_ byteCount: Int) {
            budget.add(byteCount, to: id)
        }

        /// The network has taken some of the bytes.
        func remove(_ byteCount: Int) {
            budget.remove(byteCount, of: id)
        }
    }

    fileprivate struct Holder {
        var byteCount = 0
        /// When the network last took something, or the first bytes came.
        var since = Duration.zero
        var end: (@Sendable () -> Void)?
        /// When the stream was told to end.
        var toldAt: Duration?
    }

    fileprivate struct State {
        var lastID: UInt64 = 0
        var holders: [UInt64: Holder] = [:]
        var byteCount = 0
    }

    /// The time in which a client has to take something when others wait: 30 s.
    package static let patience = Duration.seconds(30)

    /// The bytes of all budgets of the process.
    private static let heldBytes = Meter(label: "powersync_held_bytes")

    /// Makes the metric exist, with 0.
    static func register() {
        _ = heldBytes
    }

    private let limit: Int
    private let clock: any Clock<Duration>
    /// The time since the budget was made.
    private let stopwatch: Stopwatch
    fileprivate let state = NIOLockedValueBox(State())
    private let roomChanged = ChangeSignal()
    /// One session waits for room, and the others for their turn.
    private let turns = ConcurrencyQueue(maximumRunning: 1, maximumWaiting: .max)

    /// Creates a budget.
    ///
    /// - Parameters:
    ///   - limit: How many bytes there may be before somebody reads more. What is read then comes on top.
    ///   - clock: Measures the patience.
    package init(limit: Int, clock: any Clock<Duration> = ContinuousClock()) {
        self.limit = limit
        self.clock = clock
        stopwatch = Stopwatch(clock)
    }

    /// The bytes that are in memory.
    package var byteCount: Int { state.withLockedValue(\.byteCount) }

    /// Whether something may be read now.
    var hasRoom: Bool { byteCount < limit }

    /// Makes a share for a stream.
    package func share() -> Share {
        let id = state.withLockedValue { state in
            state.lastID += 1
            state.holders[state.lastID] = Holder()
            return state.lastID
        }
        return Share(self, id: id)
    }

    /// Waits until something may be read; who comes first is served first.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func waitForRoom() async throws {
        try await turns.withSlot { try await waitInTurn() }
    }

    private func waitInTurn() async throws {
        while true {
            let (seen, now) = (roomChanged.version, stopwatch.elapsed)
            guard let full = state.withLockedValue({ $0.byteCount < limit ? nil : $0.makeRoom(below: limit, now: now) })
            else { return }
            if !full.ends.isEmpty {
                for end in full.ends { end() }
                // Who has not ended makes no room: then others are told, too.
                continue
            }
            guard let next = full.next else {
                try await roomChanged.wait(after: seen)
                continue
            }
            try await firstOf { [roomChanged] in
                try await roomChanged.wait(after: seen)
            } or: { [clock] in
                try await clock.sleep(for: next - now)
            }
        }
    }

    private func add(_ byteCount: Int, to id: UInt64) {
        let now = stopwatch.elapsed
        state.withLockedValue { state in
            if state.holders[id]?.byteCount == 0 { state.holders[id]?.since = now }
            state.change(id, by: byteCount)
        }
        Self.heldBytes.increment(by: Double(byteCount))
    }

    private func remove(_ byteCount: Int, of id: UInt64) {
        let now = stopwatch.elapsed
        let isRoom = state.withLockedValue { state in
            let wasFull = state.byteCount >= limit
            state.change(id, by: -byteCount)
            state.holders[id]?.since = now
            return wasFull && state.byteCount < limit
        }
        Self.heldBytes.decrement(by: Double(byteCount))
        if isRoom { roomChanged.advance() }
    }

    private func endIfStalled(_ id: UInt64) -> Bool {
        let now = stopwatch.elapsed
        let (end, isTold) = state.withLockedValue { state -> ((@Sendable () -> Void)?, Bool) in
            guard let holder = state.holders[id] else { return (nil, true) }
            guard holder.end != nil else { return (nil, holder.toldAt != nil) }
            guard holder.since + Self.patience <= now else { return (nil, false) }
            return (state.takeEnd(of: id, at: now), true)
        }
        end?()
        return isTold
    }

    private func close(_ id: UInt64) {
        let (rest, isRoom) = state.withLockedValue { state in
            let wasFull = state.byteCount >= limit
            let rest = state.holders.removeValue(forKey: id)?.byteCount ?? 0
            state.byteCount -= rest
            return (rest, wasFull && state.byteCount < limit)
        }
        Self.heldBytes.decrement(by: Double(rest))
        if isRoom { roomChanged.advance() }
    }
}

extension ReadAheadBudget.Holder {
    /// Whether there is something to call, and nothing was called a short time ago.
    fileprivate func canBeTold(at now: Duration) -> Bool {
        guard end != nil else { return false }
        guard let toldAt else { return true }
        return toldAt + ReadAheadBudget.patience <= now
    }
}

extension ReadAheadBudget.State {
    /// What is to be done while there is no room.
    fileprivate struct Full {
        /// Ends streams.
        var ends: [@Sendable () -> Void] = []
        /// When to look again, if there is no room before.
        var next: Duration?

        fileprivate mutating func lookAgain(at time: Duration) {
            next = min(next ?? time, time)
        }
    }

    fileprivate mutating func change(_ id: UInt64, by byteCount: Int) {
        holders[id]?.byteCount += byteCount
        self.byteCount += byteCount
    }

    /// How to end a stream, which is to be done.
    fileprivate mutating func takeEnd(of id: UInt64, at now: Duration) -> (@Sendable () -> Void)? {
        guard let end = holders[id]?.end else { return nil }
        holders[id]?.end = nil
        holders[id]?.toldAt = now
        return end
    }

    /// Tells streams to end of which nothing was taken, until there will be room.
    ///
    /// Nobody is told twice within the patience, so that looking again at once comes to an end.
    ///
    /// - Parameters:
    ///   - limit: Below how many bytes there is room.
    ///   - now: The time.
    /// - Returns: Whom to tell, and when to look again.
    fileprivate mutating func makeRoom(below limit: Int, now: Duration) -> Full {
        let patience = ReadAheadBudget.patience
        var full = Full()
        var rest = byteCount
        for holder in holders.values where holder.byteCount > 0 {
            // One that does not end is not counted on for ever.
            guard let end = holder.toldAt.map({ $0 + patience }), end > now else { continue }
            full.lookAgain(at: end)
            // One that can be told again goes on.
            if holder.end == nil { rest -= holder.byteCount }
        }
        let candidates = holders.filter { $0.value.byteCount > 0 && $0.value.canBeTold(at: now) }
            .sorted { $0.value.byteCount > $1.value.byteCount }
        for (id, holder) in candidates where rest >= limit && holder.since + patience <= now {
            guard let end = takeEnd(of: id, at: now) else { continue }
            rest -= holder.byteCount
            full.ends.append(end)
            full.lookAgain(at: now + patience)
        }
        guard rest >= limit else { return full }
        for (_, holder) in candidates where holder.since + patience > now {
            full.lookAgain(at: holder.since + patience)
        }
        return full
    }
}
