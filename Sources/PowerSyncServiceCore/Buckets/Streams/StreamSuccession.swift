/// What the streams of a storage become when one of them is deployed, starts again, or makes its first checkpoint
/// (docs/service.md "Replication streams"): the rules of every storage.
///
/// A storage reads the states, applies one of the rules, and stores what has changed, all of it in a transaction that no other
/// of these steps runs beside. Whatever the order of the steps, at most one stream is processing, and none that is older than
/// the one that clients are served from.
package struct StreamSuccession: Sendable {
    /// The streams, by their numbers.
    private var states: [(id: ReplicationStreamID, state: ReplicationStream.State)]
    /// The new states of those whose state has changed.
    package private(set) var changes: [(id: ReplicationStreamID, state: ReplicationStream.State)] = []

    /// Begins with what is stored.
    ///
    /// - Parameter streams: The streams with their states, in any order; terminated ones may be left out.
    package init(_ streams: some Sequence<(id: ReplicationStreamID, state: ReplicationStream.State)>) {
        states = streams.sorted { $0.id < $1.id }
    }

    private mutating func set(_ index: Int, to state: ReplicationStream.State) {
        states[index].state = state
        changes.append((states[index].id, state))
    }

    /// A config is deployed: streams that are copied for another one are stopped.
    ///
    /// - Parameter kept: The stream that has the config already; `nil` when a new one follows.
    package mutating func deploy(keeping kept: ReplicationStreamID?) {
        for index in states.indices where states[index].state == .processing && states[index].id != kept {
            set(index, to: .stop)
        }
    }

    /// The stream that takes over from one whose history is lost.
    package enum Successor: Sendable, Equatable {
        /// A new stream with the same config.
        case new
        /// A stream that is there.
        case stream(ReplicationStreamID)
        /// None: the stream itself is gone, and nothing is replicated.
        case none
    }

    /// The history of a stream is lost.
    ///
    /// The second call for a stream changes nothing. A newer config that is being copied takes over: a copy for the old one would
    /// only be in its way.
    ///
    /// - Parameter lost: The stream.
    /// - Returns: The stream that takes over.
    package mutating func restart(_ lost: ReplicationStreamID) -> Successor {
        let newest = states.last { $0.id > lost && $0.state == .processing }?.id
        guard let index = states.firstIndex(where: { $0.id == lost }), states[index].state.isReplicated else {
            let successor = newest ?? states.last { $0.state.isReplicated }?.id
            return successor.map { .stream($0) } ?? .none
        }
        set(index, to: states[index].state == .active ? .errored : .stop)
        return newest.map { .stream($0) } ?? .new
    }

    /// A stream has made its first checkpoint: clients are served from it, and older ones are stopped.
    ///
    /// Should clients be served from a newer one already, that stays, and the stream itself is stopped: they never get an older
    /// config again.
    ///
    /// - Parameter stream: A processing stream.
    /// - Returns: Whether clients are served from it.
    package mutating func activate(_ stream: ReplicationStreamID) -> Bool {
        let isOutdated = states.contains { $0.id > stream && $0.state.isServed }
        for index in states.indices {
            let (id, state) = states[index]
            if id == stream {
                set(index, to: isOutdated ? .stop : .active)
            } else if id < stream, state.isServed || state == .processing, !isOutdated {
                set(index, to: .stop)
            }
        }
        return !isOutdated
    }
}
