import NIOConcurrencyHelpers
import NIOCore

/// Hands out every status to every subscriber, in order.
///
/// Each subscriber has its own queue. Publishing appends to the queues, or takes a waiting subscriber out of its queue
/// together with the element it is to get, in one critical section; continuations are resumed after it.
///
/// Subscribers iterate element by element, so nothing is lost for one that keeps up. Of one that does not, the queue is
/// bounded by ``unreadLimit``: the oldest elements go first, and the newest is always there.
final class StatusFlow: Sendable {
    /// How many elements a subscriber may leave unread.
    static let unreadLimit = 1000

    private typealias Waiter = CheckedContinuation<SyncStatusSnapshot?, Never>

    private struct Subscriber {
        var queue: CircularBuffer<SyncStatusSnapshot>
        /// Tasks that wait in `next()`, by the number of their call.
        ///
        /// Not empty only while `queue` is empty.
        var waiters: [(call: UInt64, waiter: Waiter)] = []

        mutating func append(_ element: SyncStatusSnapshot) {
            if queue.count == StatusFlow.unreadLimit { queue.removeFirst() }
            queue.append(element)
        }
    }

    private struct State {
        var current = SyncStatusSnapshot()
        /// Counts the changes of the download part, so that a slow reader of the offline state cannot overwrite news.
        var downloadVersion: UInt64 = 0
        var isFinished = false
        var lastID: UInt64 = 0
        var subscribers: [UInt64: Subscriber] = [:]
        /// Those who look at the activity when it has changed.
        var activityFollowers: [UInt64: AsyncStream<Void>.Continuation] = [:]

        mutating func makeID() -> UInt64 {
            lastID += 1
            return lastID
        }
    }

    private let state = NIOLockedValueBox(State())

    /// The newest status.
    var current: SyncStatusSnapshot {
        state.withLockedValue { $0.current }
    }

    /// Identifies the newest download part, for ``update(ifDownloadVersionIs:_:)``.
    var downloadVersion: UInt64 {
        state.withLockedValue { $0.downloadVersion }
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
        let (waiters, snapshot, followers) = state.withLockedValue { state -> Notifications in
            guard !state.isFinished, version == nil || version == state.downloadVersion else {
                return ([], nil, [])
            }
            let previous = state.current.download
            let activity = state.current.activityState.version
            let hasNews = change(&state.current)
            let followers =
                state.current.activityState.version == activity ? [] : Array(state.activityFollowers.values)
            guard hasNews else { return ([], state.current, followers) }
            if state.current.download != previous {
                state.downloadVersion += 1
            }
            var waiters: [Waiter] = []
            for id in state.subscribers.keys {
                if let waiter = state.subscribers[id]?.waiters.first?.waiter {
                    state.subscribers[id]?.waiters.removeFirst()
                    waiters.append(waiter)
                } else {
                    state.subscribers[id]?.append(state.current)
                }
            }
            return (waiters, state.current, followers)
        }
        for waiter in waiters {
            waiter.resume(returning: snapshot)
        }
        for follower in followers {
            follower.yield()
        }
        return snapshot != nil
    }

    /// What is to be resumed after a change.
    private typealias Notifications = ([Waiter], SyncStatusSnapshot?, [AsyncStream<Void>.Continuation])

    /// Tells that the activity may have changed: at once, and after every change, coalescing.
    ///
    /// The order in which followers are told does not matter: they look at ``current``.
    func activityChanges() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield()
        let id = state.withLockedValue { state -> UInt64? in
            guard !state.isFinished else { return nil }
            let id = state.makeID()
            state.activityFollowers[id] = continuation
            return id
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            // The continuation must not go away under the lock.
            _ = self?.state.withLockedValue { $0.activityFollowers.removeValue(forKey: id) }
        }
        return stream
    }

    /// Ends all subscriptions, each after the elements it has not read yet.
    ///
    /// Later changes are not recorded.
    func finish() {
        let (waiters, followers) = state.withLockedValue { state -> ([Waiter], [AsyncStream<Void>.Continuation]) in
            state.isFinished = true
            let followers = Array(state.activityFollowers.values)
            state.activityFollowers.removeAll()
            var waiters: [Waiter] = []
            for id in state.subscribers.keys {
                waiters += state.subscribers[id]?.waiters.map(\.waiter) ?? []
                state.subscribers[id]?.waiters.removeAll()
            }
            return (waiters, followers)
        }
        for waiter in waiters {
            waiter.resume(returning: nil)
        }
        for follower in followers {
            follower.finish()
        }
    }

    /// Begins a subscription whose first element is the present status.
    func subscribe() -> StatusSubscription {
        let id = state.withLockedValue { state -> UInt64 in
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
        let call = state.withLockedValue { $0.makeID() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let element = state.withLockedValue { state -> SyncStatusSnapshot?? in
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
        let waiter = state.withLockedValue { state -> Waiter? in
            guard let index = state.subscribers[id]?.waiters.firstIndex(where: { $0.call == call }) else { return nil }
            return state.subscribers[id]?.waiters.remove(at: index).waiter
        }
        waiter?.resume(returning: nil)
    }

    fileprivate func unsubscribe(_ id: UInt64) {
        // Nobody waits: a task in `next()` keeps the subscription alive.
        state.withLockedValue { state in
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
