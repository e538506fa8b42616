// The lines about checkpoints (docs/protocol.md "Lines").
extension SyncLineDecoder {
    mutating func readCheckpoint() throws(SyncLineError) -> Checkpoint {
        var lastOpID: OpID?
        var buckets: [BucketDescription]?
        var checkpoint = Checkpoint(lastOpID: .zero)
        let scope = try cursor.beginObject()
        while let name = try cursor.nextMember(in: scope) {
            switch name {
            case "last_op_id": lastOpID = OpID(try cursor.readDecimal())
            case "write_checkpoint": checkpoint.writeCheckpoint = try readWriteCheckpoint()
            case "buckets": buckets = try readBuckets()
            case "streams": checkpoint.streams = try readStreams()
            default: try cursor.skipValue()
            }
        }
        checkpoint.lastOpID = try required(lastOpID, "last_op_id", of: "checkpoint")
        checkpoint.buckets = try required(buckets, "buckets", of: "checkpoint")
        return checkpoint
    }

    mutating func readCheckpointDiff() throws(SyncLineError) -> CheckpointDiff {
        var lastOpID: OpID?
        var updated: [BucketDescription]?
        var removed: [BucketName]?
        var diff = CheckpointDiff(lastOpID: .zero)
        let scope = try cursor.beginObject()
        while let name = try cursor.nextMember(in: scope) {
            switch name {
            case "last_op_id": lastOpID = OpID(try cursor.readDecimal())
            case "write_checkpoint": diff.writeCheckpoint = try readWriteCheckpoint()
            case "updated_buckets": updated = try readBuckets()
            case "removed_buckets": removed = try readBucketNames()
            default: try cursor.skipValue()
            }
        }
        diff.lastOpID = try required(lastOpID, "last_op_id", of: "checkpoint_diff")
        diff.updatedBuckets = try required(updated, "updated_buckets", of: "checkpoint_diff")
        diff.removedBuckets = try required(removed, "removed_buckets", of: "checkpoint_diff")
        return diff
    }

    mutating func readCheckpointComplete() throws(SyncLineError) -> CheckpointComplete {
        var completion = CheckpointComplete(lastOpID: nil)
        let scope = try cursor.beginObject()
        while let name = try cursor.nextMember(in: scope) {
            switch name {
            case "last_op_id": completion.lastOpID = try readInformationalOpID()
            default: try cursor.skipValue()
            }
        }
        return completion
    }

    mutating func readPartialCheckpointComplete() throws(SyncLineError) -> PartialCheckpointComplete {
        var lastOpID: OpID?
        var priority: Priority?
        let scope = try cursor.beginObject()
        while let name = try cursor.nextMember(in: scope) {
            switch name {
            case "last_op_id": lastOpID = try readInformationalOpID()
            case "priority": priority = try readPriority()
            default: try cursor.skipValue()
            }
        }
        return PartialCheckpointComplete(
            lastOpID: lastOpID,
            priority: try required(priority, "priority", of: "partial_checkpoint_complete")
        )
    }
}

// MARK: Buckets

extension SyncLineDecoder {
    private mutating func readBuckets() throws(SyncLineError) -> [BucketDescription] {
        var buckets: [BucketDescription] = []
        let scope = try cursor.beginArray()
        while try cursor.nextElement(in: scope) { buckets.append(try readBucket()) }
        return buckets
    }

    private mutating func readBucket() throws(SyncLineError) -> BucketDescription {
        var bucketName: BucketName?
        var checksum: Checksum?
        var bucket = BucketDescription(name: BucketName(""), checksum: .zero)
        let scope = try cursor.beginObject()
        while let name = try cursor.nextMember(in: scope) {
            switch name {
            case "bucket": bucketName = BucketName(try cursor.readString())
            case "checksum": checksum = try readChecksum()
            case "priority": bucket.priority = try cursor.skipNull() ? .default : readPriority()
            case "count": bucket.count = try cursor.skipNull() ? nil : cursor.readWholeNumber()
            case "subscriptions": bucket.reasons = try readReasons()
            default: try cursor.skipValue()
            }
        }
        bucket.name = try required(bucketName, "bucket", of: "bucket description")
        bucket.checksum = try required(checksum, "checksum", of: "bucket description")
        return bucket
    }

    private mutating func readReasons() throws(SyncLineError) -> [BucketReason] {
        guard try !cursor.skipNull() else { return [] }
        var reasons: [BucketReason] = []
        let scope = try cursor.beginArray()
        while try cursor.nextElement(in: scope) {
            let scope = try cursor.beginObject()
            guard let name = try cursor.nextMember(in: scope) else {
                throw .missingMember("default", of: "bucket subscription")
            }
            switch name {
            case "default": reasons.append(.defaultStream(try readIndex()))
            case "sub": reasons.append(.subscription(try readIndex()))
            default: throw cursor.invalidValue(expected: "'default' or 'sub'")
            }
            guard try cursor.nextMember(in: scope) == nil else {
                throw cursor.invalidValue(expected: "the only member of a bucket subscription")
            }
        }
        return reasons
    }

    private mutating func readBucketNames() throws(SyncLineError) -> [BucketName] {
        var names: [BucketName] = []
        let scope = try cursor.beginArray()
        while try cursor.nextElement(in: scope) { names.append(BucketName(try cursor.readString())) }
        return names
    }

    private mutating func readWriteCheckpoint() throws(SyncLineError) -> WriteCheckpoint? {
        try cursor.skipNull() ? nil : WriteCheckpoint(cursor.readDecimal())
    }

    /// Reads a priority, 0 … 2147483646.
    ///
    /// The number above is kept for complete checkpoints on disk.
    private mutating func readPriority() throws(SyncLineError) -> Priority {
        let number = try cursor.readInteger()
        guard number >= 0, let number = Int32(exactly: number), Priority(number) != .complete else {
            throw cursor.invalidValue(expected: "a priority between 0 and 2147483646")
        }
        return Priority(number)
    }

    /// Reads an index into the streams or the subscriptions.
    ///
    /// That it refers to something is not checked here.
    private mutating func readIndex() throws(SyncLineError) -> Int {
        guard let index = Int(exactly: try cursor.readInteger()), index >= 0 else {
            throw cursor.invalidValue(expected: "an index")
        }
        return index
    }
}

// MARK: Streams

extension SyncLineDecoder {
    private mutating func readStreams() throws(SyncLineError) -> [StreamDescription] {
        guard try !cursor.skipNull() else { return [] }
        var streams: [StreamDescription] = []
        let scope = try cursor.beginArray()
        while try cursor.nextElement(in: scope) { streams.append(try readStream()) }
        return streams
    }

    private mutating func readStream() throws(SyncLineError) -> StreamDescription {
        var streamName: String?
        var isDefault: Bool?
        var errors: [StreamError] = []
        let scope = try cursor.beginObject()
        while let name = try cursor.nextMember(in: scope) {
            switch name {
            case "name": streamName = try cursor.readString()
            case "is_default": isDefault = try cursor.readBool()
            case "errors": errors = try readStreamErrors()
            default: try cursor.skipValue()
            }
        }
        return StreamDescription(
            name: try required(streamName, "name", of: "stream description"),
            isDefault: try required(isDefault, "is_default", of: "stream description"),
            errors: errors
        )
    }

    private mutating func readStreamErrors() throws(SyncLineError) -> [StreamError] {
        guard try !cursor.skipNull() else { return [] }
        var errors: [StreamError] = []
        let scope = try cursor.beginArray()
        while try cursor.nextElement(in: scope) {
            var subject: StreamError.Subject?
            var message: String?
            let scope = try cursor.beginObject()
            while let name = try cursor.nextMember(in: scope) {
                switch name {
                case "subscription": subject = try readStreamErrorSubject()
                case "message": message = try cursor.readString()
                default: try cursor.skipValue()
                }
            }
            errors.append(
                StreamError(
                    subject: try required(subject, "subscription", of: "stream error"),
                    message: try required(message, "message", of: "stream error")
                )
            )
        }
        return errors
    }

    /// Any string means the default subscription, a number is the index of an explicit one.
    private mutating func readStreamErrorSubject() throws(SyncLineError) -> StreamError.Subject {
        guard try cursor.isAtString() else { return .subscription(try readIndex()) }
        _ = try cursor.readString()
        return .defaultSubscription
    }
}
