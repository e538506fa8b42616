import GRDB
import NIOCore
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncServiceCore

/// Reads operations into chunks (docs/service.md "Reading buckets").
///
/// Texts go from SQLite's memory into the buffer of the line; no `String` is made of them.
struct BucketDataReader {
    private let db: Database
    private let segments: PreparedStatement?
    private let tail: PreparedStatement
    private let checkpoint: StorageCheckpoint
    private let limits: BucketDataLimits

    private var chunks: [BucketChunk] = []
    /// The chunk that is being filled; `nil` between two buckets.
    private var current: BucketChunk?
    /// The bytes of row data in ``current``.
    private var currentBytes = 0
    private var totalBytes = 0
    private var remainingOperations: Int

    /// Creates a reader for one read transaction.
    init(_ db: Database, _ view: StreamView, checkpoint: StorageCheckpoint, limits: BucketDataLimits) throws {
        self.db = db
        segments = try view.queries.segments.map { try PreparedStatement(db, sql: $0, interruption: .cancellation) }
        tail = try PreparedStatement(db, sql: view.queries.data, interruption: .cancellation)
        self.checkpoint = checkpoint
        self.limits = limits
        remainingOperations = limits.operations
    }

    /// Reads the buckets in the order given.
    consuming func read(_ positions: [StreamingSyncRequest.BucketPosition]) throws -> [BucketChunk] {
        defer {
            segments?.reset()
            tail.reset()
        }
        for position in positions {
            guard remainingOperations > 0 else { break }
            guard totalBytes <= limits.totalBytes else {
                // The caller goes on while the last chunk says so, and other buckets are waiting.
                chunks[chunks.count - 1].line.hasMore = true
                break
            }
            if try readSegments(position) { try readTail(position) }
            close(hasMore: remainingOperations == 0)
        }
        return chunks
    }

    /// - Returns: Whether what follows may be read.
    private mutating func readSegments(_ position: StreamingSyncRequest.BucketPosition) throws -> Bool {
        guard let segments else { return true }
        segments.bind(checkpoint.streamID.rawValue, at: 1)
        segments.bind(position.name.rawValue, at: 2)
        segments.bind(position.after.rawValue, at: 3)
        var hasRoom = true
        while hasRoom, try segments.step() {
            try BucketSegments.read(segments.blob(at: 0), of: segments.integer(at: 1), db) { operation in
                guard operation.opID > position.after.rawValue else { return true }
                // Nothing that follows is part of the checkpoint.
                hasRoom = operation.opID <= checkpoint.opID.rawValue && append(operation, of: position)
                return hasRoom
            }
        }
        segments.reset()
        return hasRoom
    }

    private mutating func readTail(_ position: StreamingSyncRequest.BucketPosition) throws {
        tail.bind(checkpoint.streamID.rawValue, at: 1)
        tail.bind(position.name.rawValue, at: 2)
        tail.bind(position.after.rawValue, at: 3)
        tail.bind(checkpoint.opID.rawValue, at: 4)
        tail.bind(Int64(remainingOperations), at: 5)
        while try tail.step(), append(StoredOperation(tail), of: position) {}
        tail.reset()
    }

    /// Adds an operation to the line, unless there are enough.
    ///
    /// - Returns: Whether there is room for another one.
    private mutating func append(
        _ stored: StoredOperation,
        of position: StreamingSyncRequest.BucketPosition
    ) -> Bool {
        var after = position.after
        if let chunk = current, currentBytes + stored.data.count > limits.chunkBytes {
            after = chunk.line.nextAfter ?? after
            close(hasMore: true)
            if totalBytes > limits.totalBytes { return false }
        }
        var chunk = current ?? BucketChunk(line: DataLine(bucket: position.name, after: after))
        current = nil
        var operation = SyncOperation(opID: OpID(stored.opID), kind: stored.kind, checksum: stored.checksum)
        if stored.kind == .put || stored.kind == .remove {
            operation.objectType = append(stored.table, to: &chunk.line.text)
            operation.objectID = append(stored.rowID, to: &chunk.line.text)
            operation.subkey = appendSubkey(of: stored, to: &chunk.line.text)
        }
        if stored.kind == .put { operation.data = append(stored.data, to: &chunk.line.text) }
        if let target = stored.targetOp { chunk.targetOp = max(chunk.targetOp ?? .zero, OpID(target)) }
        chunk.line.operations.append(operation)
        chunk.line.nextAfter = operation.opID
        current = chunk
        currentBytes += stored.data.count
        totalBytes += stored.data.count
        remainingOperations -= 1
        return remainingOperations > 0
    }

    private mutating func close(hasMore: Bool) {
        guard var chunk = current else { return }
        current = nil
        currentBytes = 0
        chunk.line.hasMore = hasMore
        chunks.append(chunk)
    }

    private func append(_ bytes: UnsafeRawBufferPointer, to text: inout ByteBuffer) -> TextRange {
        let offset = text.readableBytes
        text.writeBytes(bytes)
        return TextRange(offset: offset, count: bytes.count)
    }

    /// Appends `<source table id>/<replica id>`.
    private func appendSubkey(of operation: StoredOperation, to text: inout ByteBuffer) -> TextRange {
        let offset = text.readableBytes
        let (table, key) = (operation.sourceTable, ReplicaID(bytes: operation.sourceKey))
        let count = table.count + 1 + ReplicaID.textBytes
        text.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { memory in
            memory.copyMemory(from: table)
            memory[table.count] = UInt8(ascii: "/")
            key.writeText(to: UnsafeMutableRawBufferPointer(rebasing: memory[(table.count + 1)...]))
            return count
        }
        return TextRange(offset: offset, count: count)
    }
}
