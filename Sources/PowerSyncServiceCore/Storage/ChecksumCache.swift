package import PowerSyncProtocol
import Synchronization

/// The newest known checksum of each bucket, extended as checkpoints advance.
///
/// A value at checkpoint `c0` becomes one at `c > c0` by adding the operations between the two, unless a `CLEAR` lies
/// there: then the sum of the range is already the whole. Requests for a bucket and checkpoint that another task is
/// already reading wait for that task. Errors are not kept: all who wait get them, the next request tries again.
package final class ChecksumCache: Sendable {
    /// A range of operations to be summed up.
    package struct Range: Sendable {
        /// The bucket.
        package var bucket: BucketName
        /// Operations above this op id.
        package var after: OpID
        /// Operations up to this op id.
        package var through: OpID
    }

    /// The sum of a range.
    package struct RangeSum: Sendable {
        /// Sum and number of the operations in the range.
        package var value: BucketChecksum
        /// Whether the range contains a `CLEAR`, so that nothing before it counts.
        package var isWhole: Bool

        /// Creates a sum.
        package init(value: BucketChecksum, isWhole: Bool) {
            self.value = value
            self.isWhole = isWhole
        }
    }

    private struct Key: Hashable {
        var streamID: ReplicationStreamID
        var bucket: BucketName
    }

    private struct Entry {
        var opID: OpID
        var value: BucketChecksum
        /// The look at the cache that last used the entry.
        var lastUse: UInt64
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var flights: [Key: Flight] = [:]
        var uses: UInt64 = 0
    }

    /// One read of the storage that others may wait for.
    private final class Flight: Sendable {
        let opID: OpID
        let signal = ChangeSignal()
        let failure = Mutex<(any Error)?>(nil)

        init(opID: OpID) {
            self.opID = opID
        }
    }

    private let state = Mutex(State())
    private let capacity: Int

    /// Creates an empty cache.
    ///
    /// - Parameter capacity: The most buckets. Those used longest ago are forgotten.
    package init(capacity: Int = 100_000) {
        self.capacity = capacity
    }

    /// Checksums at a checkpoint, from the cache as far as possible.
    ///
    /// - Parameters:
    ///   - buckets: Names of buckets of the checkpoint's stream.
    ///   - checkpoint: Operations above its op id are not counted.
    ///   - load: Sums up ranges; returns a sum for each, in order.
    /// - Returns: A value for every bucket.
    /// - Throws: What `load` throws, here or in another task that was asked for the same bucket.
    package func checksums(
        _ buckets: [BucketName],
        at checkpoint: StorageCheckpoint,
        load: ([Range]) async throws -> [RangeSum]
    ) async throws -> [BucketName: BucketChecksum] {
        var result: [BucketName: BucketChecksum] = [:]
        result.reserveCapacity(buckets.count)
        var missing = buckets
        while !missing.isEmpty {
            let flight = Flight(opID: checkpoint.opID)
            let look = lookUp(missing, at: checkpoint, boarding: flight)
            result.merge(look.found) { $1 }
            if !look.mine.isEmpty {
                let loaded = try await fly(flight, look.mine, at: checkpoint, load: load)
                result.merge(loaded) { $1 }
            }
            for other in look.others {
                try await other.signal.wait(after: 0)
                if let failure = other.failure.withLock({ $0 }) { throw failure }
            }
            missing = look.waiting
        }
        return result
    }

    /// Forgets a stream.
    package func removeAll(of streamID: ReplicationStreamID) {
        state.withLock { $0.entries = $0.entries.filter { $0.key.streamID != streamID } }
    }

    private struct Look {
        var found: [BucketName: BucketChecksum] = [:]
        /// Ranges that the caller must load, with what to add them to.
        var mine: [(range: Range, base: BucketChecksum)] = []
        /// Buckets that other tasks are loading.
        var waiting: [BucketName] = []
        var others: [Flight] = []
    }

    private func lookUp(_ buckets: [BucketName], at checkpoint: StorageCheckpoint, boarding flight: Flight) -> Look {
        state.withLock { state in
            state.uses += 1
            var look = Look()
            for bucket in buckets {
                let key = Key(streamID: checkpoint.streamID, bucket: bucket)
                if let entry = state.entries[key], entry.opID == checkpoint.opID {
                    state.entries[key]?.lastUse = state.uses
                    look.found[bucket] = entry.value
                } else if let other = state.flights[key], other.opID == checkpoint.opID {
                    if other === flight { continue }
                    look.waiting.append(bucket)
                    if !look.others.contains(where: { $0 === other }) { look.others.append(other) }
                } else {
                    // A cached value of a later checkpoint is of no use for an earlier one.
                    let base = state.entries[key].flatMap { $0.opID < checkpoint.opID ? $0 : nil }
                    let range = Range(bucket: bucket, after: base?.opID ?? .zero, through: checkpoint.opID)
                    look.mine.append((range, base?.value ?? .empty))
                    if state.flights[key] == nil { state.flights[key] = flight }
                }
            }
            return look
        }
    }

    private func fly(
        _ flight: Flight,
        _ ranges: [(range: Range, base: BucketChecksum)],
        at checkpoint: StorageCheckpoint,
        load: ([Range]) async throws -> [RangeSum]
    ) async throws -> [BucketName: BucketChecksum] {
        var loaded: [BucketName: BucketChecksum] = [:]
        defer {
            land(flight, loaded, ranges.map(\.range.bucket), at: checkpoint)
            flight.signal.advance()
        }
        do {
            let sums = try await load(ranges.map(\.range))
            for ((range, base), sum) in zip(ranges, sums) {
                loaded[range.bucket] =
                    if sum.isWhole {
                        sum.value
                    } else {
                        BucketChecksum(
                            checksum: base.checksum + sum.value.checksum,
                            count: base.count + sum.value.count
                        )
                    }
            }
            return loaded
        } catch {
            // Those who wait need not be cancelled because this task is: they look again.
            if !(error is CancellationError) { flight.failure.withLock { $0 = error } }
            throw error
        }
    }

    private func land(
        _ flight: Flight,
        _ loaded: [BucketName: BucketChecksum],
        _ buckets: [BucketName],
        at checkpoint: StorageCheckpoint
    ) {
        state.withLock { state in
            for bucket in buckets {
                let key = Key(streamID: checkpoint.streamID, bucket: bucket)
                if state.flights[key] === flight { state.flights[key] = nil }
                guard let value = loaded[bucket] else { continue }
                if let entry = state.entries[key], entry.opID > checkpoint.opID { continue }
                state.entries[key] = Entry(opID: checkpoint.opID, value: value, lastUse: state.uses)
            }
            if state.entries.count > capacity {
                // Half at a time: the search for the oldest entries is paid rarely.
                let kept = state.entries.sorted { $0.value.lastUse > $1.value.lastUse }.prefix(capacity / 2)
                state.entries = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
            }
        }
    }
}
