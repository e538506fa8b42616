package import NIOCore

// Rules (docs/protocol.md "Lines"): a line has exactly one member, whose name is the kind. Unknown kinds and
// unknown members are skipped. Optional members may be null. When a member appears twice, the last one counts.

extension SyncLine {
    /// Decodes a line of JSON text.
    ///
    /// - Parameter json: The line, without line feed.
    /// - Throws: ``SyncLineError`` for syntax, for members that are required or have the wrong type, and for numbers
    ///   out of range.
    package init(json: ByteBuffer) throws(SyncLineError) {
        try Self.checkLength(of: json)
        self = try json.withByteView { bytes throws(SyncLineError) in
            var decoder = SyncLineDecoder(cursor: JSONLineCursor(bytes))
            var line = try decoder.readLine()
            try decoder.cursor.finish()
            if case .data(var data) = line {
                data.text = decoder.cursor.text
                line = .data(data)
            }
            return line
        }
    }

    /// Decodes a line that is a BSON document.
    ///
    /// The texts of a data line refer to the memory of the buffer.
    package init(bson: ByteBuffer) throws(SyncLineError) {
        try Self.checkLength(of: bson)
        var line = try bson.withByteView { bytes throws(SyncLineError) in
            var decoder = SyncLineDecoder(cursor: BSONLineCursor(bytes))
            let line = try decoder.readLine()
            try decoder.cursor.finish()
            return line
        }
        if case .data(var data) = line {
            data.text = bson
            line = .data(data)
        }
        self = line
    }

    /// Text ranges have 32 bits, so that nothing longer may be decoded, wherever the buffer is from.
    private static func checkLength(of bytes: ByteBuffer) throws(SyncLineError) {
        guard bytes.readableBytes <= SyncLineFormat.maximumLineLength else {
            throw .tooLong(byteCount: bytes.readableBytes)
        }
    }
}

/// Decodes sync lines of any encoding.
struct SyncLineDecoder<Cursor: LineCursor> {
    /// Where the decoder reads from.
    var cursor: Cursor

    /// Reads a whole line.
    ///
    /// The text of a data line is left empty.
    mutating func readLine() throws(SyncLineError) -> SyncLine {
        let scope = try cursor.beginObject()
        guard let kind = try cursor.nextMember(in: scope) else { throw .noMember }
        let line: SyncLine
        switch kind {
        case "data": line = .data(try readData())
        case "checkpoint": line = .checkpoint(try readCheckpoint())
        case "checkpoint_diff": line = .checkpointDiff(try readCheckpointDiff())
        case "checkpoint_complete": line = .checkpointComplete(try readCheckpointComplete())
        case "partial_checkpoint_complete": line = .partialCheckpointComplete(try readPartialCheckpointComplete())
        case "token_expires_in": line = .keepalive(tokenExpiresIn: try readSeconds())
        default:
            line = .unknown(kind: kind.string)
            try cursor.skipValue()
        }
        guard try cursor.nextMember(in: scope) == nil else { throw .severalMembers }
        return line
    }

    private mutating func readData() throws(SyncLineError) -> DataLine {
        var bucket: BucketName?
        var operations: [SyncOperation]?
        var line = DataLine(bucket: BucketName(""))
        let scope = try cursor.beginObject()
        while let name = try cursor.nextMember(in: scope) {
            switch name {
            case "bucket": bucket = BucketName(try cursor.readString())
            case "data": operations = try readOperations()
            // Informational: values of another type are treated like unknown members.
            case "after": line.after = try readInformationalOpID()
            case "next_after": line.nextAfter = try readInformationalOpID()
            case "has_more": line.hasMore = try readInformationalBool()
            default: try cursor.skipValue()
            }
        }
        line.bucket = try required(bucket, "bucket", of: "data")
        line.operations = try required(operations, "data", of: "data")
        return line
    }

    private mutating func readOperations() throws(SyncLineError) -> [SyncOperation] {
        var operations: [SyncOperation] = []
        let scope = try cursor.beginArray()
        while try cursor.nextElement(in: scope) { operations.append(try readOperation()) }
        return operations
    }

    private mutating func readOperation() throws(SyncLineError) -> SyncOperation {
        var opID: OpID?
        var kind: SyncOperation.Kind?
        var checksum: Checksum?
        var operation = SyncOperation(opID: .zero, kind: .put, checksum: .zero)
        let scope = try cursor.beginObject()
        while let name = try cursor.nextMember(in: scope) {
            switch name {
            case "op_id": opID = OpID(try cursor.readDecimal())
            case "op": kind = try cursor.readOperationKind()
            case "checksum": checksum = try readChecksum()
            case "object_type": operation.objectType = try readOptionalText()
            case "object_id": operation.objectID = try readOptionalText()
            case "subkey": operation.subkey = try readOptionalText()
            case "data": operation.data = try readOptionalText()
            default: try cursor.skipValue()
            }
        }
        operation.opID = try required(opID, "op_id", of: "operation")
        operation.kind = try required(kind, "op", of: "operation")
        operation.checksum = try required(checksum, "checksum", of: "operation")
        return operation
    }

    private mutating func readSeconds() throws(SyncLineError) -> Int32 {
        guard let seconds = Int32(exactly: try cursor.readInteger()) else {
            throw cursor.invalidValue(expected: "a 32-bit integer")
        }
        return seconds
    }
}

// MARK: Values

extension SyncLineDecoder {
    /// The value of a member that has to be there.
    func required<Value>(
        _ value: Value?,
        _ member: String,
        of object: String
    ) throws(SyncLineError) -> Value {
        guard let value else { throw .missingMember(member, of: object) }
        return value
    }

    /// Reads a checksum: a whole number, signed or unsigned, that fits 32 bits.
    mutating func readChecksum() throws(SyncLineError) -> Checksum {
        guard let checksum = Checksum(exactly: try cursor.readWholeNumber()) else {
            throw cursor.invalidValue(expected: "a checksum between -2^31 and 2^32 - 1")
        }
        return checksum
    }

    /// Reads an op id that nothing depends on; `nil` when it is not one.
    mutating func readInformationalOpID() throws(SyncLineError) -> OpID? {
        guard try cursor.isAtString() else {
            try cursor.skipValue()
            return nil
        }
        return OpID(decimal: try cursor.readString())
    }

    private mutating func readInformationalBool() throws(SyncLineError) -> Bool {
        guard try cursor.isAtBool() else {
            try cursor.skipValue()
            return false
        }
        return try cursor.readBool()
    }

    private mutating func readOptionalText() throws(SyncLineError) -> TextRange? {
        try cursor.skipNull() ? nil : cursor.readText()
    }
}
