import NIOConcurrencyHelpers
import PowerSyncClient
import PowerSyncSQLite

/// Tells subscribers how far transfers are.
///
/// A subscriber gets what is running now, then what changes. Of one attachment it gets the newest state only, so a slow
/// subscriber costs at most one element per attachment that has news.
final class TransferProgressHub: Sendable {
    /// News for one subscriber.
    private struct Subscriber {
        /// The attachment of interest; `nil` for all.
        let id: ExactText?
        let signal: AsyncStream<Void>.Continuation
        private var news: [ExactText: AttachmentTransferProgress] = [:]
        /// The keys of `news`, the oldest news first, after those that have been taken.
        private var order: [ExactText] = []
        private var taken = 0

        init(id: ExactText?, signal: AsyncStream<Void>.Continuation) {
            self.id = id
            self.signal = signal
        }

        mutating func add(_ progress: AttachmentTransferProgress) {
            let changed = ExactText(progress.attachmentId)
            guard id == nil || id == changed else { return }
            if news.updateValue(progress, forKey: changed) == nil { order.append(changed) }
        }

        /// - Complexity: O(1) on average, however much there is: transfers wait meanwhile.
        mutating func takeOldest() -> AttachmentTransferProgress? {
            guard taken < order.count else { return nil }
            let oldest = news.removeValue(forKey: order[taken])
            taken += 1
            if taken * 2 >= order.count {
                order.removeFirst(taken)
                taken = 0
            }
            return oldest
        }
    }

    private struct State {
        var running: [ExactText: AttachmentTransferProgress] = [:]
        /// The ids in `running`, in the order in which they began.
        var order: [ExactText] = []
        /// The calls that have reached their limit, the oldest first.
        var overdue: [OverdueAttachmentCall] = []
        var finished = 0
        var remaining = 0
        var isFinished = false
        var lastID = 0
        var subscribers: [Int: Subscriber] = [:]
        var followers: [Int: AsyncStream<AttachmentQueueProgress>.Continuation] = [:]

        var overall: AttachmentQueueProgress {
            var progress = AttachmentQueueProgress()
            progress.finishedTransfers = finished
            progress.remainingTransfers = max(remaining, running.count)
            progress.running = order.compactMap { running[$0] }
            progress.overdueCalls = overdue
            return progress
        }

        mutating func makeID() -> Int {
            lastID += 1
            return lastID
        }

        /// A transfer does not run any more.
        ///
        /// - Returns: How far it was; `nil` if it did not run.
        mutating func ended(_ id: String) -> AttachmentTransferProgress? {
            guard let progress = running.removeValue(forKey: ExactText(id)) else { return nil }
            order.removeAll { $0 == ExactText(id) }
            return progress
        }
    }

    private let state = NIOLockedValueBox(State())

    /// How far all transfers are now.
    var overall: AttachmentQueueProgress { state.withLockedValue { $0.overall } }

    /// The table was read.
    ///
    /// - Parameter active: How many attachments are running or have to be transferred.
    func looked(active: Int) {
        change { state in
            if state.remaining == 0, state.running.isEmpty { state.finished = 0 }
            state.remaining = active
            return nil
        }
    }

    /// A transfer begins.
    func began(_ progress: AttachmentTransferProgress) {
        change { state in
            let id = ExactText(progress.attachmentId)
            if state.running.updateValue(progress, forKey: id) == nil { state.order.append(id) }
            return progress
        }
    }

    /// A transfer is complete.
    func finished(_ id: String) {
        change { state in
            guard let progress = state.ended(id) else { return nil }
            state.finished += 1
            state.remaining = max(0, state.remaining - 1)
            return progress.with(phase: .finished)
        }
    }

    /// A transfer has failed or was cancelled.
    func interrupted(_ id: String) {
        change { $0.ended(id)?.with(phase: .interrupted) }
    }

    /// A running transfer has moved bytes; ignored when it is over.
    func moved(_ id: String, transferred: Int64, total: Int64?) {
        change { state in
            guard let before = state.running[ExactText(id)] else { return nil }
            let progress = before.moved(transferred: transferred, total: total ?? before.totalBytes)
            state.running[ExactText(id)] = progress
            return progress
        }
    }

    /// A call of the app's has reached its limit and has not returned.
    func overdue(_ call: OverdueAttachmentCall) {
        change { state in
            let index = state.overdue.firstIndex { $0.since > call.since } ?? state.overdue.endIndex
            state.overdue.insert(call, at: index)
            return nil
        }
    }

    /// A call of the app's that had reached its limit has returned.
    func returned(_ id: String) {
        change { state in
            state.overdue.removeAll { ExactText($0.attachmentId) == ExactText(id) }
            return nil
        }
    }

    /// A transfer will not be tried again.
    func gaveUp() {
        change { state in
            state.remaining = max(0, state.remaining - 1)
            return nil
        }
    }

    /// Changes the state, and tells the subscribers afterwards.
    private func change(_ change: (inout State) -> AttachmentTransferProgress?) {
        let (signals, followers, overall) = state.withLockedValue { state in
            let before = state.followers.isEmpty ? nil : state.overall
            var signals: [AsyncStream<Void>.Continuation] = []
            if let progress = change(&state) {
                for key in state.subscribers.keys { state.subscribers[key]?.add(progress) }
                signals = state.subscribers.values.map(\.signal)
            }
            let overall = before.map { _ in state.overall }
            return (signals, overall == before ? [] : Array(state.followers.values), overall)
        }
        for signal in signals { signal.yield() }
        if let overall {
            for follower in followers { follower.yield(overall) }
        }
    }

    /// The transfers from now on: those that run, then their changes.
    ///
    /// - Parameter id: The attachment of interest; `nil` for all.
    /// - Returns: The stream.
    func transfers(of id: String? = nil) -> AsyncStream<AttachmentTransferProgress> {
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let key = state.withLockedValue { state -> Int? in
            guard !state.isFinished else { return nil }
            var subscriber = Subscriber(id: id.map { ExactText($0) }, signal: signal)
            for id in state.order {
                if let progress = state.running[id] { subscriber.add(progress) }
            }
            let key = state.makeID()
            state.subscribers[key] = subscriber
            return key
        }
        guard let key else { return AsyncStream { nil } }
        signal.onTermination = { [weak self] reason in
            // After the end of the hub the subscriber still reads what is there.
            if case .cancelled = reason { self?.remove(key) }
        }
        return AsyncStream { [weak self] in
            if let news = self?.takeNews(of: key) { return news }
            for await _ in signals {
                if let news = self?.takeNews(of: key) { return news }
            }
            return self?.takeNews(of: key)
        }
    }

    /// How far all transfers are: now, then after each change.
    func overallChanges() -> AsyncStream<AttachmentQueueProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: AttachmentQueueProgress.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let key = state.withLockedValue { state -> Int? in
            continuation.yield(state.overall)
            guard !state.isFinished else { return nil }
            let key = state.makeID()
            state.followers[key] = continuation
            return key
        }
        guard let key else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.remove(key) }
        return stream
    }

    /// Ends all streams, each after what its subscriber has not read yet.
    func finish() {
        let (signals, followers) = state.withLockedValue { state in
            state.isFinished = true
            return (state.subscribers.values.map(\.signal), Array(state.followers.values))
        }
        for signal in signals { signal.finish() }
        for follower in followers { follower.finish() }
    }

    private func takeNews(of key: Int) -> AttachmentTransferProgress? {
        state.withLockedValue { $0.subscribers[key]?.takeOldest() }
    }

    private func remove(_ key: Int) {
        // Streams must not go away under the lock.
        _ = state.withLockedValue { ($0.subscribers.removeValue(forKey: key), $0.followers.removeValue(forKey: key)) }
    }
}
