import NIOConcurrencyHelpers
import PowerSyncProtocol
package import PowerSyncServiceCore

/// What operators see and do.
extension InMemoryBucketStorage {
    package var fileBacked: (any FileBacked)? { nil }

    package func buckets(
        of stream: ReplicationStreamID,
        search: String,
        offset: Int,
        limit: Int
    ) throws -> BucketList {
        let found = state.withLockedValue { $0.streams[$0.index(of: stream)].operations }
            .filter { search.isEmpty || $0.key.rawValue.utf8.contains(search.utf8) }
            .map { name, operations in
                BucketList.Bucket(
                    name: name.rawValue,
                    operations: Int64(operations.count),
                    bytes: operations.reduce(0) { $0 + Int64(($1.data?.utf8.count ?? 0) + $1.id.utf8.count) }
                )
            }
            .sorted { ($1.operations, $0.name) < ($0.operations, $1.name) }
        return BucketList(
            total: found.count,
            operations: found.reduce(0) { $0 + $1.operations },
            buckets: Array(found.dropFirst(offset).prefix(limit))
        )
    }

    package func sizes(after version: Int64?) throws -> StorageSizes? {
        state.withLockedValue { state in
            // The deletion of a stream writes no operations, but makes what there is less.
            let deleted = state.streams.count { $0.record.state == .terminated }
            let present = state.lastOp.rawValue + Int64(deleted)
            guard present != version else { return nil }
            let operations = state.streams.flatMap { $0.operations.values.joined() }
            return StorageSizes(
                version: present,
                operations: operations.reduce(0) { $0 + Int64(($1.data?.utf8.count ?? 0) + $1.id.utf8.count) },
                parameters: 0,
                rows: 0,
                bucketCount: state.streams.reduce(0) { $0 + $1.operations.count }
            )
        }
    }

    package func seal() {}

    package func compact() -> CompactionResult { CompactionResult() }

    /// Nothing: there is no disk.
    package func size() -> Int64 { 0 }
}
