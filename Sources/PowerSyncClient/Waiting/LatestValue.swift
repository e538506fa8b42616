import NIOConcurrencyHelpers

/// A value that changes, for several subscribers.
///
/// A subscriber gets the value of the moment when it subscribes, then the newest value after changes, in order. Changes that follow each
/// other before the subscriber takes an element are one element.
final class LatestValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var lastID: UInt64 = 0
        /// The subscribers by number, with what tells them that there is a newer value.
        var subscribers: [UInt64: (audience: Audience?, signals: AsyncStream<Void>.Continuation)] = [:]
    }

    /// Subscribers that can be ended apart from others.
    struct Audience: Hashable, Sendable {
        fileprivate let id: UInt64
    }

    private let state: NIOLockedValueBox<State>

    /// Creates a value without subscribers.
    init(_ value: Value) {
        state = NIOLockedValueBox(State(value: value))
    }

    /// The newest value.
    var current: Value { state.withLockedValue { $0.value } }

    /// Changes the value.
    ///
    /// - Parameter change: Changes the value, under the lock, and returns whether subscribers are told.
    func update(_ change: (inout Value) -> Bool) {
        let subscribers = state.withLockedValue { state -> [AsyncStream<Void>.Continuation] in
            guard change(&state.value) else { return [] }
            return state.subscribers.values.map { $0.signals }
        }
        // Outside of the lock. The order of these calls does not matter, because subscribers read the newest value.
        for subscriber in subscribers { subscriber.yield() }
    }

    /// Makes an audience without subscribers.
    func newAudience() -> Audience {
        state.withLockedValue { state in
            state.lastID += 1
            return Audience(id: state.lastID)
        }
    }

    /// Ends the subscriptions of an audience, each after the element that it has not taken yet.
    ///
    /// It can get others afterwards.
    func finish(_ audience: Audience) {
        let subscribers = state.withLockedValue { state in
            let ended = state.subscribers.filter { $0.value.audience == audience }
            for id in ended.keys { state.subscribers[id] = nil }
            return ended.values
        }
        for subscriber in subscribers { subscriber.signals.finish() }
    }

    /// Begins a subscription, which ends with the stream.
    ///
    /// - Parameter audience: The audience that the subscriber belongs to.
    /// - Returns: The values, for one consumer. An element can be equal to the one before it.
    func values(for audience: Audience? = nil) -> AsyncStream<Value> {
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield()
        let id = state.withLockedValue { state in
            state.lastID += 1
            state.subscribers[state.lastID] = (audience, continuation)
            return state.lastID
        }
        continuation.onTermination = { [weak self] _ in
            // The continuation must not go away under the lock.
            _ = self?.state.withLockedValue { $0.subscribers.removeValue(forKey: id) }
        }
        return AsyncStream { [self] in
            for await _ in signals { return current }
            return nil
        }
    }
}
