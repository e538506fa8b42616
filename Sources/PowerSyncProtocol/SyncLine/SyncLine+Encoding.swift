package import NIOCore

extension SyncLine {
    /// Appends the line as a service sends it.
    ///
    /// NDJSON lines include their line feed and contain no other line break: U+0085, U+2028 and U+2029 are escaped.
    ///
    /// - Parameters:
    ///   - format: The encoding.
    ///   - rawData: NDJSON only: whether rows are strings (`true`) or objects (`false`, for old clients). Rows have to
    ///     be JSON objects.
    ///   - buffer: What the line is appended to.
    package func encode(as format: SyncLineFormat, rawData: Bool = true, into buffer: inout ByteBuffer) {
        switch format {
        case .ndjson:
            var encoder = SyncLineEncoder(writer: JSONLineWriter(capacity: expectedLength, rawData: rawData))
            encoder.write(self)
            buffer.writeBytes(encoder.writer.output)
            buffer.append(UInt8(ascii: "\n"))
        case .bson:
            var encoder = SyncLineEncoder(writer: BSONLineWriter(capacity: expectedLength))
            encoder.write(self)
            buffer.writeBytes(encoder.writer.output)
        }
    }

    /// The length that most lines do not exceed, so that their memory is requested once.
    private var expectedLength: Int {
        guard case .data(let data) = self else { return 1_024 }
        // Names, numbers and lengths around the texts, and a little for escapes.
        return data.text.readableBytes + data.text.readableBytes / 4 + 160 * data.operations.count + 256
    }
}

/// Encodes sync lines.
///
/// Members come in the order that the established service uses, though order has no meaning.
struct SyncLineEncoder<Writer: LineWriter> {
    /// Where the encoder writes to.
    var writer: Writer

    /// Writes a whole line.
    mutating func write(_ line: SyncLine) {
        writer.beginObject(nil)
        switch line {
        case .checkpoint(let checkpoint): write(checkpoint)
        case .checkpointDiff(let diff): write(diff)
        case .data(let data): write(data)
        case .partialCheckpointComplete(let completion):
            writer.beginObject("partial_checkpoint_complete")
            if let lastOpID = completion.lastOpID { writer.write("last_op_id", lastOpID.description) }
            writer.write("priority", Int64(completion.priority.rawValue))
            writer.endObject()
        case .checkpointComplete(let completion):
            writer.beginObject("checkpoint_complete")
            if let lastOpID = completion.lastOpID { writer.write("last_op_id", lastOpID.description) }
            writer.endObject()
        case .keepalive(let seconds): writer.write("token_expires_in", Int64(seconds))
        case .unknown(let kind):
            writer.beginObject(named: kind)
            writer.endObject()
        }
        writer.endObject()
    }

    private mutating func write(_ checkpoint: Checkpoint) {
        writer.beginObject("checkpoint")
        writer.write("last_op_id", checkpoint.lastOpID.description)
        write(checkpoint.writeCheckpoint)
        write("buckets", checkpoint.buckets)
        writer.beginArray("streams")
        for stream in checkpoint.streams { write(stream) }
        writer.endArray()
        writer.endObject()
    }

    private mutating func write(_ diff: CheckpointDiff) {
        writer.beginObject("checkpoint_diff")
        writer.write("last_op_id", diff.lastOpID.description)
        write(diff.writeCheckpoint)
        writer.beginArray("removed_buckets")
        for bucket in diff.removedBuckets { writer.write(nil, bucket.rawValue) }
        writer.endArray()
        write("updated_buckets", diff.updatedBuckets)
        writer.endObject()
    }

    private mutating func write(_ writeCheckpoint: WriteCheckpoint?) {
        if let writeCheckpoint { writer.write("write_checkpoint", writeCheckpoint.description) }
    }

    private mutating func write(_ name: StaticString, _ buckets: [BucketDescription]) {
        writer.beginArray(name)
        for bucket in buckets {
            writer.beginObject(nil)
            writer.write("bucket", bucket.name.rawValue)
            if let count = bucket.count { writer.write("count", count) }
            writer.write("checksum", checksum: Int64(bucket.checksum.signed))
            writer.write("priority", Int64(bucket.priority.rawValue))
            writer.beginArray("subscriptions")
            for reason in bucket.reasons {
                writer.beginObject(nil)
                switch reason {
                case .defaultStream(let index): writer.write("default", Int64(index))
                case .subscription(let index): writer.write("sub", Int64(index))
                }
                writer.endObject()
            }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
    }

    private mutating func write(_ stream: StreamDescription) {
        writer.beginObject(nil)
        writer.write("name", stream.name)
        writer.write("is_default", stream.isDefault)
        writer.beginArray("errors")
        for error in stream.errors {
            writer.beginObject(nil)
            switch error.subject {
            case .defaultSubscription: writer.write("subscription", literal: "default")
            case .subscription(let index): writer.write("subscription", Int64(index))
            }
            writer.write("message", error.message)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }

    private mutating func write(_ data: DataLine) {
        writer.beginObject("data")
        writer.write("bucket", data.bucket.rawValue)
        if let after = data.after { writer.write("after", after.description) }
        writer.write("has_more", data.hasMore)
        writer.beginArray("data")
        data.text.withByteView { text in
            for operation in data.operations { write(operation, text: text) }
        }
        writer.endArray()
        if let nextAfter = data.nextAfter { writer.write("next_after", nextAfter.description) }
        writer.endObject()
    }

    private mutating func write(_ operation: SyncOperation, text: ByteView) {
        writer.beginObject(nil)
        writer.write("op_id", operation.opID.description)
        writer.write("op", literal: operation.kind.wireForm)
        if let type = text[operation.objectType] { writer.write("object_type", text: type) }
        if let id = text[operation.objectID] { writer.write("object_id", text: id) }
        writer.write("checksum", checksum: Int64(operation.checksum.rawValue))
        if let subkey = text[operation.subkey] { writer.write("subkey", text: subkey) }
        if let row = text[operation.data] {
            writer.write("data", row: row)
        } else if operation.kind == .remove {
            writer.writeNull("data")
        }
        writer.endObject()
    }
}

extension ByteView {
    /// The bytes of a text range; `nil` without a range, or when it refers to nothing.
    fileprivate subscript(range: TextRange?) -> ByteView? {
        guard let range, Int(range.offset) + Int(range.count) <= count else { return nil }
        return self[Int(range.offset)..<Int(range.offset) + Int(range.count)]
    }
}
