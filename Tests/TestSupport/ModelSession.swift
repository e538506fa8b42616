package import PowerSyncProtocol

/// One sync stream of a ``ModelService``: what its client has been told.
package struct ModelSession: Sendable {
    /// How many operations a line has at most.
    private static let operationsPerLine = 4

    package let clientID: String
    /// The last checkpoint that was announced; `nil` before the first.
    private var checkpoint: (opID: Int64, writeCheckpoint: WriteCheckpoint?, buckets: [String: BucketDescription])?
    /// The last operation of each bucket that the client has.
    private var positions: [String: Int64]

    package init(_ request: StreamingSyncRequest) {
        clientID = request.clientID ?? ""
        positions = Dictionary(uniqueKeysWithValues: request.buckets.map { ($0.name.rawValue, $0.after.rawValue) })
    }

    /// The lines that bring the client up to date: a checkpoint, and its data by priority.
    package mutating func lines(
        buckets: [ModelBucket],
        lastOpID: Int64,
        writeCheckpoint: WriteCheckpoint?,
        table: String,
        column: String
    ) -> [SyncLine] {
        let descriptions = Dictionary(uniqueKeysWithValues: buckets.map { ($0.name, $0.description) })
        guard var lines = announce(buckets.map(\.description), lastOpID, writeCheckpoint) else { return [] }
        checkpoint = (lastOpID, writeCheckpoint, descriptions)
        let priorities = Set(buckets.map(\.priority)).sorted()
        for priority in priorities {
            for bucket in buckets where bucket.priority == priority {
                let position = positions[bucket.name] ?? 0
                var rest = bucket.operations.filter { $0.opID > position }[...]
                while !rest.isEmpty {
                    let part = rest.prefix(ModelSession.operationsPerLine)
                    lines.append(.data(ModelSession.line(part, of: bucket.name, table: table, column: column)))
                    rest = rest.dropFirst(part.count)
                    positions[bucket.name] = part.last?.opID
                }
            }
            lines.append(
                priority == priorities.last
                    ? .checkpointComplete(CheckpointComplete(lastOpID: OpID(lastOpID)))
                    : .partialCheckpointComplete(
                        PartialCheckpointComplete(lastOpID: OpID(lastOpID), priority: Priority(priority))
                    )
            )
        }
        return lines
    }

    /// The line that announces a checkpoint; `nil` when nothing has changed.
    private mutating func announce(
        _ buckets: [BucketDescription],
        _ lastOpID: Int64,
        _ writeCheckpoint: WriteCheckpoint?
    ) -> [SyncLine]? {
        guard let old = checkpoint else {
            return [
                .checkpoint(
                    Checkpoint(lastOpID: OpID(lastOpID), writeCheckpoint: writeCheckpoint, buckets: buckets)
                )
            ]
        }
        let updated = buckets.filter { old.buckets[$0.name.rawValue] != $0 }
        let removed = Set(old.buckets.keys).subtracting(buckets.map(\.name.rawValue)).sorted()
        // The client deletes it, so it is sent from the start if it comes back.
        for name in removed { positions[name] = nil }
        guard
            lastOpID != old.opID || writeCheckpoint != old.writeCheckpoint || !updated.isEmpty || !removed.isEmpty
        else { return nil }
        return [
            .checkpointDiff(
                CheckpointDiff(
                    lastOpID: OpID(lastOpID),
                    writeCheckpoint: writeCheckpoint,
                    updatedBuckets: updated,
                    removedBuckets: removed.map { BucketName($0) }
                )
            )
        ]
    }

    private static func line(
        _ operations: ArraySlice<ModelBucket.Operation>,
        of bucket: String,
        table: String,
        column: String
    ) -> DataLine {
        var line = DataLine(bucket: BucketName(bucket))
        for operation in operations {
            line.append(
                operation.kind,
                opID: OpID(operation.opID),
                checksum: operation.checksum,
                objectType: operation.row == nil ? nil : table,
                objectID: operation.row,
                subkey: operation.row.map { "key of \($0)" },
                data: operation.value.map { #"{"\#(column)":"\#($0)"}"# }
            )
        }
        return line
    }
}
