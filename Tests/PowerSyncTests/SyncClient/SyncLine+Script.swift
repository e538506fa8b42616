import PowerSyncProtocol

extension SyncLine {
    /// A checkpoint; checksums are 0.
    static func checkpoint(
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

    /// Operations that put rows into `lists`; the ids of rows are `<bucket><op id>`.
    static func put(_ bucket: String, _ opIDs: ClosedRange<Int64>) -> SyncLine {
        var line = DataLine(bucket: BucketName(bucket))
        for opID in opIDs {
            line.append(
                .put,
                opID: OpID(opID),
                checksum: .zero,
                objectType: "lists",
                objectID: "\(bucket)\(opID)",
                data: #"{"name":"remote"}"#
            )
        }
        return .data(line)
    }

    /// An operation that puts a row into a table, or removes it when there is no data.
    static func row(_ bucket: String, _ opID: Int64, _ table: String, _ id: String, _ data: String?) -> SyncLine {
        var line = DataLine(bucket: BucketName(bucket))
        line.append(
            data == nil ? .remove : .put,
            opID: OpID(opID),
            checksum: .zero,
            objectType: table,
            objectID: id,
            data: data
        )
        return .data(line)
    }

    /// The end of a checkpoint.
    static let done = SyncLine.checkpointComplete(CheckpointComplete(lastOpID: nil))

    /// The end of the part of a checkpoint up to a priority.
    static func done(_ priority: Int32) -> SyncLine {
        .partialCheckpointComplete(PartialCheckpointComplete(lastOpID: nil, priority: Priority(priority)))
    }
}

extension BucketDescription {
    /// A bucket of a checkpoint; the checksum is 0.
    static func bucket(
        _ name: String,
        _ priority: Int32 = 3,
        count: Int64? = nil,
        reasons: [BucketReason] = []
    ) -> BucketDescription {
        BucketDescription(
            name: BucketName(name),
            checksum: .zero,
            priority: Priority(priority),
            count: count,
            reasons: reasons
        )
    }
}
