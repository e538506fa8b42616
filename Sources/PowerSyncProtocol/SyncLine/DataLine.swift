package import NIOCore

/// Operations of one bucket.
///
/// The texts of all operations live in one buffer, and operations refer to them by ``TextRange``: a row travels from
/// the socket to the bound statement parameter, or from storage to the response, without becoming a `String`.
package struct DataLine: Sendable {
    /// The bucket.
    package var bucket: BucketName
    /// The operations, ascending by op id.
    ///
    /// May be empty.
    package var operations: [SyncOperation]
    /// The bytes that the operations' text ranges refer to, counted from the buffer's reader index.
    ///
    /// Valid UTF-8 in every range.
    package var text: ByteBuffer
    /// The position before this line.
    ///
    /// Informational for clients.
    package var after: OpID?
    /// The position after this line.
    ///
    /// Informational for clients.
    package var nextAfter: OpID?
    /// Whether more operations of the bucket may follow.
    ///
    /// Informational for clients.
    package var hasMore: Bool

    /// Creates a data line from operations whose texts are in `text`.
    package init(
        bucket: BucketName,
        operations: [SyncOperation] = [],
        text: ByteBuffer = ByteBuffer(),
        after: OpID? = nil,
        nextAfter: OpID? = nil,
        hasMore: Bool = false
    ) {
        self.bucket = bucket
        self.operations = operations
        self.text = text
        self.after = after
        self.nextAfter = nextAfter
        self.hasMore = hasMore
    }
}

/// One entry of a bucket.
package struct SyncOperation: Sendable, Hashable {
    /// The kinds of operations.
    package enum Kind: UInt8, Sendable {
        /// Stores a row; replaces earlier operations of the same row identity.
        case put
        /// Cancels earlier operations of the same row identity.
        case remove
        /// Contributes its checksum only.
        case move
        /// Discards everything before it in the bucket.
        case clear
    }

    /// The position in the bucket.
    package var opID: OpID
    /// What the operation does.
    package var kind: Kind
    /// What the operation adds to the bucket's checksum.
    package var checksum: Checksum
    /// The table (`object_type`).
    package var objectType: TextRange?
    /// The row id (`object_id`).
    package var objectID: TextRange?
    /// Distinguishes source rows that have the same row id; opaque.
    package var subkey: TextRange?
    /// The row as JSON text, exactly as stored.
    package var data: TextRange?

    /// Creates an operation.
    package init(
        opID: OpID,
        kind: Kind,
        checksum: Checksum,
        objectType: TextRange? = nil,
        objectID: TextRange? = nil,
        subkey: TextRange? = nil,
        data: TextRange? = nil
    ) {
        self.opID = opID
        self.kind = kind
        self.checksum = checksum
        self.objectType = objectType
        self.objectID = objectID
        self.subkey = subkey
        self.data = data
    }
}

/// A range of UTF-8 bytes in the text of a ``DataLine``.
package struct TextRange: Sendable, Hashable {
    /// Bytes from the reader index of ``DataLine/text`` to the first byte.
    package var offset: UInt32
    /// The number of bytes.
    package var count: UInt32

    /// Creates a range.
    ///
    /// Decoded lines are limited to 128 MiB (``SyncLineFormat/maximumLineLength``), so their ranges always fit. Numbers
    /// beyond 32 bits are clamped and then refer to nothing.
    package init(offset: Int, count: Int) {
        self.offset = UInt32(clamping: offset)
        self.count = UInt32(clamping: count)
    }
}

extension DataLine {
    /// The text of a range.
    ///
    /// For tests, logs and rare operations; hot paths read ``text`` in place.
    package func string(_ range: TextRange) -> String {
        text.getString(at: text.readerIndex + Int(range.offset), length: Int(range.count)) ?? ""
    }

    /// Appends a string to ``text``.
    ///
    /// - Returns: The range to store in an operation.
    package mutating func appendText(_ string: some StringProtocol) -> TextRange {
        let offset = text.readableBytes
        let count = text.writeString(String(string))
        return TextRange(offset: offset, count: count)
    }

    /// Appends an operation with its texts.
    package mutating func append(
        _ kind: SyncOperation.Kind,
        opID: OpID,
        checksum: Checksum,
        objectType: String? = nil,
        objectID: String? = nil,
        subkey: String? = nil,
        data: String? = nil
    ) {
        operations.append(
            SyncOperation(
                opID: opID,
                kind: kind,
                checksum: checksum,
                objectType: objectType.map { appendText($0) },
                objectID: objectID.map { appendText($0) },
                subkey: subkey.map { appendText($0) },
                data: data.map { appendText($0) }
            )
        )
    }
}

extension DataLine: Equatable {
    /// Compares bucket, positions and operations with their texts; where the texts lie in the buffers does not matter.
    package static func == (lhs: DataLine, rhs: DataLine) -> Bool {
        guard
            lhs.bucket == rhs.bucket, lhs.after == rhs.after, lhs.nextAfter == rhs.nextAfter,
            lhs.hasMore == rhs.hasMore, lhs.operations.count == rhs.operations.count
        else { return false }
        return zip(lhs.operations, rhs.operations).allSatisfy { left, right in
            left.opID == right.opID && left.kind == right.kind && left.checksum == right.checksum
                && lhs.bytes(left.objectType) == rhs.bytes(right.objectType)
                && lhs.bytes(left.objectID) == rhs.bytes(right.objectID)
                && lhs.bytes(left.subkey) == rhs.bytes(right.subkey)
                && lhs.bytes(left.data) == rhs.bytes(right.data)
        }
    }

    private func bytes(_ range: TextRange?) -> ByteBuffer? {
        range.flatMap { text.getSlice(at: text.readerIndex + Int($0.offset), length: Int($0.count)) }
    }
}
