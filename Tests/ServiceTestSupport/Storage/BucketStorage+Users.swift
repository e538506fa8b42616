package import PowerSyncProtocol
import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// What users have.
extension BucketStorage {
    /// Waits until clients are served a text from a position on.
    ///
    /// - Parameters:
    ///   - content: The text of the config: it may have been deployed into the stream of another one.
    ///   - lsn: The position.
    /// - Returns: The stream, with the plan of the config, and the checkpoint.
    /// - Throws: An error of the storage, and `CancellationError`.
    package func served(
        _ content: String,
        from lsn: LSN
    ) async throws -> (stream: ReplicationStream, checkpoint: StorageCheckpoint) {
        while true {
            let seen = feed.signal.version
            if let active = try await activeStream(),
                let stream = try await streams().first(where: { $0.id == active.id }),
                stream.content == content, active.checkpoint.configNumber == stream.configNumber,
                active.checkpoint.lsn >= lsn
            {
                return (stream, active.checkpoint)
            }
            try await feed.signal.wait(after: seen)
        }
    }

    /// The names of the buckets of a user with all streams, without their prefix.
    package func buckets(
        of user: String,
        _ stream: ReplicationStream,
        at checkpoint: StorageCheckpoint
    ) async throws -> [String] {
        let request = SyncPlanRequest(tokenPayload: ["sub": .string(user)])
        let querier = stream.plan.querier(for: request, bucketPrefix: stream.bucketPrefix)
        let found = try await querier.buckets(limits: BucketLimits()) { lookups in
            try await parameterRows(lookups, at: checkpoint, limit: 1000)
        }
        return found.buckets.map { String($0.name.rawValue.dropFirst(stream.bucketPrefix.count)) }.sorted()
    }

    /// The rows of a user with all streams, as ``rowText(_:_:)``.
    package func rowTexts(
        of user: String,
        _ stream: ReplicationStream,
        at checkpoint: StorageCheckpoint
    ) async throws -> Set<String> {
        var rows: Set<String> = []
        for bucket in try await buckets(of: user, stream, at: checkpoint) {
            let operations = try await allOperations(bucket, of: stream, at: checkpoint)
            for row in reduceByIdentity(operations).values {
                rows.insert(rowText(row.table, try JSONObject(parsing: row.data ?? "")))
            }
        }
        return rows
    }
}

/// A row as a text that does not depend on the order of its columns.
package func rowText(_ table: String, _ row: JSONObject) -> String {
    "\(table) \(row.members.map { "\($0.name)=\($0.value.text)" }.sorted())"
}
