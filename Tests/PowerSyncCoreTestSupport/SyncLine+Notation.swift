package import PowerSyncProtocol

// Lines in a short notation, so that scenarios read like a table.

extension SyncLine {
    /// `checkpoint`.
    package static func checkpoint(
        _ opID: Int64,
        _ buckets: [BucketDescription] = [],
        writeCheckpoint: Int64? = nil,
        streams: [StreamDescription] = []
    ) -> SyncLine {
        .checkpoint(
            Checkpoint(
                lastOpID: OpID(opID),
                writeCheckpoint: writeCheckpoint.map { WriteCheckpoint($0) },
                buckets: buckets,
                streams: streams
            )
        )
    }

    /// `checkpoint_diff`.
    package static func diff(
        _ opID: Int64,
        _ updated: [BucketDescription] = [],
        removed: [String] = [],
        writeCheckpoint: Int64? = nil
    ) -> SyncLine {
        .checkpointDiff(
            CheckpointDiff(
                lastOpID: OpID(opID),
                writeCheckpoint: writeCheckpoint.map { WriteCheckpoint($0) },
                updatedBuckets: updated,
                removedBuckets: removed.map { BucketName($0) }
            )
        )
    }

    /// `data`.
    package static func ops(_ bucket: String, _ operations: Operation...) -> SyncLine {
        .data(.line(bucket, operations))
    }

    /// `checkpoint_complete`.
    package static let done = SyncLine.checkpointComplete(CheckpointComplete(lastOpID: nil))

    /// `partial_checkpoint_complete`.
    package static func done(_ priority: Int32) -> SyncLine {
        .partialCheckpointComplete(PartialCheckpointComplete(lastOpID: nil, priority: Priority(priority)))
    }

    /// `token_expires_in`.
    package static func tokenExpires(in seconds: Int32) -> SyncLine {
        .keepalive(tokenExpiresIn: seconds)
    }
}

extension BucketDescription {
    /// A bucket of a checkpoint; the checksum is 0 unless said otherwise.
    package static func bucket(
        _ name: String,
        checksum: UInt32 = 0,
        count: Int64? = nil,
        priority: Int32 = 3,
        _ reasons: BucketReason...
    ) -> BucketDescription {
        BucketDescription(
            name: BucketName(name),
            checksum: Checksum(checksum),
            priority: Priority(priority),
            count: count,
            reasons: reasons
        )
    }
}

/// An operation of a data line; the table is `items` and the checksum 0 unless said otherwise.
package struct Operation {
    package var kind: SyncOperation.Kind
    package var opID: Int64
    package var id: String?
    package var checksum: UInt32
    package var type: String?
    package var subkey: String?
    package var data: String?

    package init(
        kind: SyncOperation.Kind,
        opID: Int64,
        id: String? = nil,
        checksum: UInt32,
        type: String? = nil,
        subkey: String? = nil,
        data: String? = nil
    ) {
        (self.kind, self.opID, self.id, self.checksum) = (kind, opID, id, checksum)
        (self.type, self.subkey, self.data) = (type, subkey, data)
    }

    package static func put(
        _ opID: Int64,
        _ id: String?,
        _ checksum: UInt32 = 0,
        type: String? = "items",
        subkey: String? = nil,
        data: String? = "{}"
    ) -> Operation {
        Operation(kind: .put, opID: opID, id: id, checksum: checksum, type: type, subkey: subkey, data: data)
    }

    package static func remove(_ opID: Int64, _ id: String, _ checksum: UInt32 = 0, type: String = "items") -> Operation
    {
        Operation(kind: .remove, opID: opID, id: id, checksum: checksum, type: type)
    }

    package static func move(_ opID: Int64, _ checksum: UInt32 = 0) -> Operation {
        Operation(kind: .move, opID: opID, checksum: checksum)
    }

    package static func clear(_ opID: Int64, _ checksum: UInt32 = 0) -> Operation {
        Operation(kind: .clear, opID: opID, checksum: checksum)
    }
}

extension DataLine {
    package static func line(_ bucket: String, _ operations: [Operation]) -> DataLine {
        var line = DataLine(bucket: BucketName(bucket))
        for operation in operations {
            line.append(
                operation.kind,
                opID: OpID(operation.opID),
                checksum: Checksum(operation.checksum),
                objectType: operation.type,
                objectID: operation.id,
                subkey: operation.subkey,
                data: operation.data
            )
        }
        return line
    }
}
