import NIOCore
import Synchronization

/// Hands out every status to every subscriber, in order and without loss.
///
/// Each subscriber has its own queue. Publishing appends to the queues, or takes a waiting subscriber out of its queue
/// together with the element it is to get, in one critical section; continuations are resumed after it. Queues are
/// unbounded by contract: subscribers iterate element by element (`swift-api.md` 10).
final class StatusFlow: Sendable {
    private typealias Waiter = CheckedContinuation<SyncStatusSnapshot?, Never>

    private struct Subscriber {
        var queue: CircularBuffer<SyncStatusSnapshot>
        /// Tasks that wait in `next()`, by the number of their call.
        ///
        /// Not empty only while `queue` is empty.
        var waiters: [(call: UInt64, waiter: Waiter)] = []
    }

    private struct State {
        var current = SyncStatusSnapshot()
        /// Counts the changes of the download part, so that a slow reader of the offline state cannot overwrite news.
        var downloadVersion: UInt64 = 0
        var isFinished = false
        var lastID: UInt64 = 0
        var subscribers: [UInt64: Subscriber] = [:]

        mutating func makeID() -> UInt64 {
            lastID += 1
            return lastID
        }
    }

    private let state = Mutex(State())

    /// The newest status.
    var current: SyncStatusSnapshot {
        state.withLock { $0.current }
    }

    /// Identifies the newest download part, for ``update(ifDownloadVersionIs:_:)``.
    var downloadVersion: UInt64 {
        state.withLock { $0.downloadVersion }
    }

    /// Changes the status and publishes it.
    ///
    /// - Parameters:
    ///   - version: If given, nothing happens unless the download part is still the one of this version.
    ///   - change: Changes the status, under the lock. Returns whether there is anything to publish.
    /// - Returns: Whether `change` was called.
    @discardableResult
    func update(
        ifDownloadVersionIs version: UInt64? = nil,
        _ change: (inout SyncStatusSnapshot) -> Bool
    ) -> Bool {
        let (waiters, snapshot) = state.withLock { state -> ([Waiter], SyncStatusSnapshot?) in
            guard !state.isFinished, version == nil || version == state.downloadVersion else {
                return ([], nil)
            }
            let previous = state.current.download
            guard change(&state.current) else { return ([], state.current) }
            if state.current.download != previous {
                state.downloadVersion += 1
            }
            var waiters: [Waiter] = []
            for id in state.subscribers.keys {
                if let waiter = state.subscribers[id]?.waiters.first?.waiter {
                    state.subscribers[id]?.waiters.removeFirst()
                    waiters.append(waiter)
                } else {
                    state.subscribers[id]?.queue.append(state.current)
                }
            }
            return (waiters, state.current)
        }
        for waiter in waiters {
            waiter.resume(returning: snapshot)
        }
        return snapshot != nil
    }

    /// Ends all subscriptions, each after the elements it has not read yet.
    ///
    /// Later changes are not recorded.
    func finish() {
        let waiters = state.withLock { state -> [Waiter] in
            state.isFinished = true
            var waiters: [Waiter] = []
            for id in state.subscribers.keys {
                waiters += state.subscribers[id]?.waiters.map(\.waiter) ?? []
                state.subscribers[id]?.waiters.removeAll()
            }
            return waiters
        }
        for waiter in waiters {
            waiter.resume(returning: nil)
        }
    }

    /// Begins a subscription whose first element is the present status.
    func subscribe() -> StatusSubscription {
        let id = state.withLock { state -> UInt64 in
            let id = state.makeID()
            var queue = CircularBuffer<SyncStatusSnapshot>()
            queue.append(state.current)
            state.subscribers[id] = Subscriber(queue: queue)
            return id
        }
        return StatusSubscription(flow: self, id: id)
    }

    /// The next element of a subscription; `nil` when the flow has finished or the task is cancelled.
    fileprivate nonisolated(nonsending) func next(of id: UInt64) async -> SyncStatusSnapshot? {
        let call = state.withLock { $0.makeID() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let element = state.withLock { state -> SyncStatusSnapshot?? in
                    if Task.isCancelled { return .some(nil) }
                    if let element = state.subscribers[id]?.queue.popFirst() { return element }
                    if state.isFinished { return .some(nil) }
                    state.subscribers[id]?.waiters.append((call, waiter))
                    return nil
                }
                if let element {
                    waiter.resume(returning: element)
                }
            }
        } onCancel: {
            cancel(call: call, of: id)
        }
    }

    private func cancel(call: UInt64, of id: UInt64) {
        let waiter = state.withLock { state -> Waiter? in
            guard let index = state.subscribers[id]?.waiters.firstIndex(where: { $0.call == call }) else { return nil }
            return state.subscribers[id]?.waiters.remove(at: index).waiter
        }
        waiter?.resume(returning: nil)
    }

    fileprivate func unsubscribe(_ id: UInt64) {
        // Nobody waits: a task in `next()` keeps the subscription alive.
        state.withLock { state in
            state.subscribers[id] = nil
        }
    }
}

/// One subscriber's place in a ``StatusFlow``.
///
/// Ends with its last reference.
final class StatusSubscription: Sendable {
    private let flow: StatusFlow
    private let id: UInt64

    fileprivate init(flow: StatusFlow, id: UInt64) {
        self.flow = flow
        self.id = id
    }

    deinit {
        flow.unsubscribe(id)
    }

    /// The next status; `nil` when the database has been closed or the task is cancelled.
    ///
    /// Runs where its caller runs: what is there already is returned without a hop.
    nonisolated(nonsending) func next() async -> SyncStatusSnapshot? {
        await flow.next(of: id)
    }
}
