import NIOCore
package import PowerSyncProtocol

/// Makes chunks of operations that are read bucket by bucket (docs/service.md "Reading buckets").
///
/// Texts go from the memory of the database into the buffer of the line; no `String` is made of them.
package struct BucketChunkBuilder {
    private let limits: BucketDataLimits
    private var chunks: [BucketChunk] = []
    /// The chunk that is being filled; `nil` between two buckets.
    private var current: BucketChunk?
    /// The bytes of row data in ``current``.
    private var currentBytes = 0
    /// What ``current`` may have.
    private var chunkBytes: Int
    private var totalBytes = 0
    /// How many operations there is room for.
    package private(set) var remainingOperations: Int

    /// Creates a builder without chunks.
    package init(limits: BucketDataLimits) {
        self.limits = limits
        chunkBytes = limits.firstChunkBytes ?? limits.chunkBytes
        remainingOperations = limits.operations
    }

    /// Begins a bucket.
    ///
    /// - Returns: Whether there is room for operations of it.
    package mutating func begin() -> Bool {
        guard remainingOperations > 0 else { return false }
        guard totalBytes <= limits.totalBytes else {
            // The caller goes on while the last chunk says so, and other buckets are waiting.
            chunks[chunks.count - 1].line.hasMore = true
            return false
        }
        return true
    }

    /// Adds an operation to the line of its bucket, unless there are enough.
    ///
    /// - Returns: Whether there is room for another one.
    package mutating func append(
        _ stored: StoredOperation,
        of position: StreamingSyncRequest.BucketPosition
    ) -> Bool {
        var after = position.after
        if let chunk = current, exceeds(chunk.line, with: stored) {
            after = chunk.line.nextAfter ?? after
            close(hasMore: true)
            if totalBytes > limits.totalBytes { return false }
        }
        var chunk = current ?? BucketChunk(line: DataLine(bucket: position.name, after: after))
        current = nil
        var operation = SyncOperation(opID: OpID(stored.opID), kind: stored.kind, checksum: stored.checksum)
        if stored.kind == .put || stored.kind == .remove {
            operation.objectType = unsafe append(stored.table, to: &chunk.line.text)
            operation.objectID = unsafe append(stored.rowID, to: &chunk.line.text)
            operation.subkey = appendSubkey(of: stored, to: &chunk.line.text)
        }
        if stored.kind == .put { operation.data = unsafe append(stored.data, to: &chunk.line.text) }
        if let target = stored.targetOp { chunk.targetOp = max(chunk.targetOp ?? .zero, OpID(target)) }
        chunk.line.operations.append(operation)
        chunk.line.nextAfter = operation.opID
        current = chunk
        unsafe currentBytes += stored.data.count
        unsafe totalBytes += stored.data.count
        remainingOperations -= 1
        return remainingOperations > 0
    }

    /// Ends the bucket whose operations were added last.
    package mutating func endBucket() {
        close(hasMore: remainingOperations == 0)
    }

    /// What was added.
    ///
    /// - Parameter mayContinue: Whether the database has stopped before the end, without being told to.
    /// - Returns: The chunks, in the order of their operations.
    package consuming func finish(mayContinue: Bool = false) -> [BucketChunk] {
        if mayContinue, !chunks.isEmpty { chunks[chunks.count - 1].line.hasMore = true }
        return chunks
    }

    /// Whether a line would be too long with another operation.
    private func exceeds(_ line: DataLine, with stored: StoredOperation) -> Bool {
        if unsafe currentBytes + stored.data.count > chunkBytes { return true }
        return chunkBytes < limits.chunkBytes && line.sentBytes + stored.sentBytes > chunkBytes
    }

    private mutating func close(hasMore: Bool) {
        guard var chunk = current else { return }
        current = nil
        currentBytes = 0
        chunkBytes = min(2 * chunkBytes, limits.chunkBytes)
        chunk.line.hasMore = hasMore
        chunks.append(chunk)
    }

    private func append(_ bytes: UnsafeRawBufferPointer, to text: inout ByteBuffer) -> TextRange {
        let offset = text.readableBytes
        unsafe text.writeBytes(bytes)
        return TextRange(offset: offset, count: bytes.count)
    }

    /// Appends `<source table id>/<replica id>`.
    private func appendSubkey(of operation: StoredOperation, to text: inout ByteBuffer) -> TextRange {
        let offset = text.readableBytes
        let (table, key) = unsafe (operation.sourceTable, ReplicaID(bytes: operation.sourceKey))
        let count = table.count + 1 + ReplicaID.textBytes
        unsafe text.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { memory in
            unsafe memory.copyMemory(from: table)
            unsafe memory[table.count] = UInt8(ascii: "/")
            unsafe key.writeText(to: UnsafeMutableRawBufferPointer(rebasing: memory[(table.count + 1)...]))
            return count
        }
        return TextRange(offset: offset, count: count)
    }
}

extension DataLine {
    /// What an operation takes in a line besides its texts, at most: names of members, numbers, and what parts them: 128 bytes.
    fileprivate static let bytesAroundTexts = 128

    /// About the length of the line, in either format.
    package var sentBytes: Int { text.readableBytes + operations.count * Self.bytesAroundTexts }
}

extension StoredOperation {
    /// About what it adds to the length of a line.
    fileprivate var sentBytes: Int {
        guard kind == .put || kind == .remove else { return DataLine.bytesAroundTexts }
        let subkey = unsafe sourceTable.count + 1 + ReplicaID.textBytes
        return unsafe table.count + rowID.count + subkey + data.count + DataLine.bytesAroundTexts
    }
}
