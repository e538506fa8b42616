package import PowerSyncProtocol
package import PowerSyncRules

/// Which buckets and lookups recent op ids belong to, per stream, kept in memory by the process that writes.
///
/// A reader asks for what lies between two checkpoints. The history is bounded: once it has forgotten the beginning of
/// the range, or the range begins before the process did, the answer is "unknown".
package struct ChangeHistory {
    /// What one storage transaction has touched.
    private struct Entry {
        var lastOp: OpID
        var buckets: Set<BucketName>
        var lookups: Set<ParameterLookup>
        var size: Int { 1 + buckets.count + lookups.count }
    }

    private struct Stream {
        /// Changes with a higher op id are all in `entries`.
        var knownSince: OpID
        var entries: [Entry] = []
        var size = 0
    }

    /// The most names that are kept for one stream.
    private let capacity: Int
    private let initiallyKnownSince: OpID
    private var streams: [ReplicationStreamID: Stream] = [:]

    /// Creates a history that knows nothing up to an op id.
    package init(knownSince: OpID, capacity: Int = 50_000) {
        initiallyKnownSince = knownSince
        self.capacity = capacity
    }

    /// Adds what a transaction has touched.
    ///
    /// Op ids grow, but those of a transaction that was rolled back come again. What such a transaction touched is then
    /// reported together with what took its op ids.
    package mutating func record(
        through lastOp: OpID,
        buckets: Set<BucketName>,
        lookups: Set<ParameterLookup>,
        of id: ReplicationStreamID
    ) {
        guard !buckets.isEmpty || !lookups.isEmpty else { return }
        var stream = streams[id] ?? Stream(knownSince: initiallyKnownSince)
        streams[id] = nil
        var entry = Entry(lastOp: lastOp, buckets: buckets, lookups: lookups)
        while let undone = stream.entries.last, undone.lastOp >= lastOp {
            stream.entries.removeLast()
            stream.size -= undone.size
            entry.buckets.formUnion(undone.buckets)
            entry.lookups.formUnion(undone.lookups)
        }
        stream.entries.append(entry)
        stream.size += entry.size
        if stream.size > capacity {
            // Forgets half at a time, so that the array is not moved for every entry.
            var dropped = 0
            while dropped < stream.entries.count, stream.size > capacity / 2 {
                stream.size -= stream.entries[dropped].size
                stream.knownSince = stream.entries[dropped].lastOp
                dropped += 1
            }
            stream.entries.removeFirst(dropped)
        }
        streams[id] = stream
    }

    /// Forgets a stream that has been deleted.
    package mutating func forget(_ id: ReplicationStreamID) {
        streams[id] = nil
    }

    /// What was touched by op ids above `earlier` and up to `later`; possibly a little more.
    package func changes(from earlier: OpID, to later: OpID, of id: ReplicationStreamID) -> CheckpointChanges {
        let stream = streams[id] ?? Stream(knownSince: initiallyKnownSince)
        guard earlier >= stream.knownSince || earlier >= later else { return .unknown }
        var buckets: Set<BucketName> = []
        var lookups: Set<ParameterLookup> = []
        // A transaction may lie across a checkpoint; what it touched is then reported to both sides.
        for (index, entry) in stream.entries.enumerated().reversed() {
            guard entry.lastOp > earlier else { break }
            if index > 0, stream.entries[index - 1].lastOp >= later { continue }
            buckets.formUnion(entry.buckets)
            lookups.formUnion(entry.lookups)
        }
        return .known(buckets: buckets, lookups: lookups)
    }
}
