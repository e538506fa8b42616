import NIOConcurrencyHelpers
import PowerSyncCore

/// The streams for which the app holds subscription handles, with the number of handles of each.
///
/// Shared by all databases of one file: handles of one keep streams alive that another one syncs.
final class LiveStreams: Sendable {
    /// One handle's share in a stream: the stream, and what tells shares apart that were made before and after the stream was forgotten.
    typealias Share = (key: StreamKey, generation: UInt64)

    private let state = NIOLockedValueBox<
        (entries: [StreamKey: (generation: UInt64, handles: Int)], lastGeneration: UInt64)
    >(([:], 0))

    /// The streams, in a stable order.
    var keys: [StreamKey] {
        state.withLockedValue { Array($0.entries.keys) }.sorted { $0.description < $1.description }
    }

    /// Counts one more handle.
    func retain(_ key: StreamKey) -> Share {
        state.withLockedValue { state in
            if let generation = state.entries[key]?.generation {
                state.entries[key]?.handles += 1
                return (key, generation)
            }
            state.lastGeneration += 1
            state.entries[key] = (state.lastGeneration, 1)
            return (key, state.lastGeneration)
        }
    }

    /// Counts one handle less.
    ///
    /// Call it once for each share.
    ///
    /// - Returns: Whether that was the last handle. `false` when the stream was forgotten meanwhile.
    func release(_ share: Share) -> Bool {
        state.withLockedValue { state in
            guard let entry = state.entries[share.key], entry.generation == share.generation else { return false }
            guard entry.handles == 1 else {
                state.entries[share.key]?.handles -= 1
                return false
            }
            state.entries[share.key] = nil
            return true
        }
    }

    /// Forgets all handles of a stream; releasing them later has no effect.
    func forget(_ key: StreamKey) {
        state.withLockedValue { state in
            state.entries[key] = nil
        }
    }

    /// Forgets all handles.
    func forgetAll() {
        state.withLockedValue { $0.entries.removeAll() }
    }
}
