import Metrics
import NIOConcurrencyHelpers

/// The ledger of the memory that the process takes for lines of clients (docs/service.md "Sync sessions").
///
/// | what is in memory | limit | when the limit is reached |
/// | --- | --- | --- |
/// | lines that were read for a client and that the network has not taken | `max_read_ahead_bytes` | sessions wait before they read; see ``waitForRoom()`` |
/// | ``shared``: encoded runs that are kept for other sessions | 32 MiB | the oldest ones are dropped |
/// | ``fresh``: operations that the dispatcher has read for one session each | 16 MiB | the dispatcher reads none, the sessions do |
///
/// The metric `powersync_held_bytes` has the bytes of each of them, as its `kind`.
///
/// Lines of a client that reads nothing stay in memory. When sessions wait for room, the streams of clients that have
/// taken nothing for ``patience`` are ended, those with the most bytes first. Their clients continue where they were
/// when they connect again.
package final class LineMemory: Sendable {
    /// The unsent lines of one stream.
    ///
    /// An account is closed by its last reference: lines outlive the session that has read them, in the queue of the
    /// response.
    package final class Account: Sendable {
        private let memory: LineMemory
        private let id: UInt64

        fileprivate init(_ memory: LineMemory, id: UInt64) {
            self.memory = memory
            self.id = id
        }

        deinit { memory.close(id) }

        /// Sets the closure that ends the stream when other sessions want its memory and the client has taken nothing
        /// for ``patience``.
        ///
        /// The closure is called once. The bytes of the stream then count as free for ``patience``. A closure that does
        /// not end the stream calls this function again before it returns: then the bytes do not count as free, other
        /// streams are ended as well, and the new closure may be called after ``patience``.
        ///
        /// - Parameter end: Ends the stream; it must not keep the account.
        package func whenStalled(_ end: @escaping @Sendable () -> Void) {
            memory.state.withLockedValue { $0.holders[id]?.end = end }
        }

        /// Ends the stream if its client has taken nothing for ``patience``.
        ///
        /// - Returns: Whether the stream is told to end, now or before.
        func endIfStalled() -> Bool {
            memory.endIfStalled(id)
        }

        /// Counts bytes that were read.
        func add(_ byteCount: Int) {
            memory.add(byteCount, to: id)
        }

        /// Counts bytes that the network has taken, also 0: the client is not stalled.
        func remove(_ byteCount: Int) {
            memory.remove(byteCount, of: id)
        }
    }

    /// The bytes of what is kept so that it is not read again.
    final class Cache: Sendable {
        /// The most bytes.
        let limit: Int
        private let used = NIOLockedValueBox(0)
        private let meter: Meter

        fileprivate init(limit: Int, meter: Meter) {
            self.limit = limit
            self.meter = meter
        }

        /// The bytes that are in memory.
        var byteCount: Int { used.withLockedValue { $0 } }

        /// Counts bytes that are kept.
        func add(_ byteCount: Int) {
            used.withLockedValue { $0 += byteCount }
            meter.increment(by: Double(byteCount))
        }

        /// Counts bytes that are dropped.
        func remove(_ byteCount: Int) {
            used.withLockedValue { $0 -= byteCount }
            meter.decrement(by: Double(byteCount))
        }
    }

    /// The state of one account.
    fileprivate struct Holder {
        var byteCount = 0
        /// The time at which the network last took bytes, or the first bytes were read.
        var since = Duration.zero
        var end: (@Sendable () -> Void)?
        /// The time at which the stream was told to end.
        var toldAt: Duration?
    }

    fileprivate struct State {
        var lastID: UInt64 = 0
        var holders: [UInt64: Holder] = [:]
        var byteCount = 0
    }

    /// The time within which a client has to take bytes when sessions wait for memory: 30 s.
    package static let patience = Duration.seconds(30)
    /// The most bytes of ``shared``: 32 MiB.
    static let sharedLimit = 32 * 1024 * 1024
    /// The most bytes of ``fresh``: 16 MiB.
    static let freshLimit = 16 * 1024 * 1024

    private static let unsentBytes = meter("unsent")
    private static let sharedBytes = meter("shared")
    private static let freshBytes = meter("fresh")

    /// Of all ledgers of the process.
    private static func meter(_ kind: String) -> Meter {
        Meter(label: "powersync_held_bytes", dimensions: [("kind", kind)])
    }

    /// Makes the metric exist, with 0.
    static func register() {
        _ = (unsentBytes, sharedBytes, freshBytes)
    }

    /// Encoded runs that are kept for other sessions.
    let shared = Cache(limit: sharedLimit, meter: sharedBytes)
    /// Operations that the dispatcher has read for one session each.
    let fresh = Cache(limit: freshLimit, meter: freshBytes)

    private let limit: Int
    private let clock: any Clock<Duration>
    /// The time since the ledger was made.
    private let stopwatch: Stopwatch
    fileprivate let state = NIOLockedValueBox(State())
    private let roomChanged = ChangeSignal()
    /// The semaphore of waiting for room: one session waits for it, and the others for their turn.
    private let turns = ConcurrencyQueue(maximumRunning: 1, maximumWaiting: .max)

    /// Creates a ledger.
    ///
    /// - Parameters:
    ///   - limit: Below how many bytes of unsent lines a session may read. What it reads then comes on top.
    ///   - clock: Measures ``patience``.
    package init(limit: Int = .max, clock: any Clock<Duration> = ContinuousClock()) {
        self.limit = limit
        self.clock = clock
        stopwatch = Stopwatch(clock)
    }

    /// The bytes of unsent lines that are in memory.
    package var byteCount: Int { state.withLockedValue(\.byteCount) }

    /// Whether a session may read now.
    var hasRoom: Bool { byteCount < limit }

    /// Opens an account for the unsent lines of a stream.
    package func openAccount() -> Account {
        let id = state.withLockedValue { state in
            state.lastID += 1
            state.holders[state.lastID] = Holder()
            return state.lastID
        }
        return Account(self, id: id)
    }

    /// Waits until a session may read; the session that has waited longest is the first.
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
                // A stream that has not ended makes no room: then other streams are told as well.
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
        Self.unsentBytes.increment(by: Double(byteCount))
    }

    private func remove(_ byteCount: Int, of id: UInt64) {
        let now = stopwatch.elapsed
        let isRoom = state.withLockedValue { state in
            let wasFull = state.byteCount >= limit
            state.change(id, by: -byteCount)
            state.holders[id]?.since = now
            return wasFull && state.byteCount < limit
        }
        Self.unsentBytes.decrement(by: Double(byteCount))
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
        Self.unsentBytes.decrement(by: Double(rest))
        if isRoom { roomChanged.advance() }
    }
}

extension LineMemory.Holder {
    /// Whether the stream can be told to end, and was not told within the patience.
    fileprivate func canBeTold(at now: Duration) -> Bool {
        guard end != nil else { return false }
        guard let toldAt else { return true }
        return toldAt + LineMemory.patience <= now
    }
}

extension LineMemory.State {
    /// The actions while there is no room.
    fileprivate struct Full {
        /// Ends streams.
        var ends: [@Sendable () -> Void] = []
        /// The time at which to look again, if there is no room before.
        var next: Duration?

        fileprivate mutating func lookAgain(at time: Duration) {
            next = min(next ?? time, time)
        }
    }

    fileprivate mutating func change(_ id: UInt64, by byteCount: Int) {
        holders[id]?.byteCount += byteCount
        self.byteCount += byteCount
    }

    /// Takes the closure that ends a stream; the caller has to call it.
    fileprivate mutating func takeEnd(of id: UInt64, at now: Duration) -> (@Sendable () -> Void)? {
        guard let end = holders[id]?.end else { return nil }
        holders[id]?.end = nil
        holders[id]?.toldAt = now
        return end
    }

    /// Chooses streams to end, of which nothing was taken, until there will be room.
    ///
    /// No stream is told twice within the patience, so that looking again at once comes to an end.
    ///
    /// - Parameters:
    ///   - limit: Below how many bytes there is room.
    ///   - now: The time since the ledger was made.
    /// - Returns: The closures that end the streams, and when to look again.
    fileprivate mutating func makeRoom(below limit: Int, now: Duration) -> Full {
        let patience = LineMemory.patience
        var full = Full()
        var rest = byteCount
        for holder in holders.values where holder.byteCount > 0 {
            // A stream that does not end counts as free for the patience only.
            guard let end = holder.toldAt.map({ $0 + patience }), end > now else { continue }
            full.lookAgain(at: end)
            // A stream that can be told again goes on.
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
