import GRDB
import NIOCore
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncServiceCore

/// Reads operations into chunks (docs/service.md "Reading buckets").
///
/// Texts go from SQLite's memory into the buffer of the line; no `String` is made of them.
struct BucketDataReader {
    private let statement: PreparedStatement
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
        statement = try PreparedStatement(db, sql: view.queries.data, interruption: .cancellation)
        self.checkpoint = checkpoint
        self.limits = limits
        remainingOperations = limits.operations
    }

    /// Reads the buckets in the order given.
    consuming func read(_ positions: [StreamingSyncRequest.BucketPosition]) throws -> [BucketChunk] {
        defer { statement.reset() }
        for position in positions {
            guard remainingOperations > 0 else { break }
            guard totalBytes <= limits.totalBytes else {
                // The caller goes on while the last chunk says so, and other buckets are waiting.
                chunks[chunks.count - 1].line.hasMore = true
                break
            }
            try read(position)
        }
        return chunks
    }

    private mutating func read(_ position: StreamingSyncRequest.BucketPosition) throws {
        statement.bind(checkpoint.streamID.rawValue, at: 1)
        statement.bind(position.name.rawValue, at: 2)
        statement.bind(position.after.rawValue, at: 3)
        statement.bind(checkpoint.opID.rawValue, at: 4)
        statement.bind(Int64(remainingOperations), at: 5)
        var after = position.after
        while try statement.step() {
            let bytes = statement.text(at: Column.data)?.count ?? 0
            if let chunk = current, currentBytes + bytes > limits.chunkBytes {
                after = chunk.line.nextAfter ?? after
                close(hasMore: true)
                if totalBytes > limits.totalBytes {
                    statement.reset()
                    return
                }
            }
            append(bucket: position.name, after: after)
            currentBytes += bytes
            totalBytes += bytes
            remainingOperations -= 1
        }
        close(hasMore: remainingOperations == 0)
    }

    private mutating func append(bucket: BucketName, after: OpID) {
        var chunk = current ?? BucketChunk(line: DataLine(bucket: bucket, after: after))
        current = nil
        let opID = OpID(statement.integer(at: Column.opID))
        let kind = kind
        var operation = SyncOperation(
            opID: opID,
            kind: kind,
            checksum: Checksum(truncating: statement.integer(at: Column.checksum))
        )
        if kind == .put || kind == .remove {
            operation.objectType = appendText(at: Column.tableName, to: &chunk.line.text)
            operation.objectID = appendText(at: Column.rowID, to: &chunk.line.text)
            operation.subkey = appendSubkey(to: &chunk.line.text)
        }
        if kind == .put { operation.data = appendText(at: Column.data, to: &chunk.line.text) }
        if !statement.isNull(at: Column.targetOp) {
            chunk.targetOp = max(chunk.targetOp ?? .zero, OpID(statement.integer(at: Column.targetOp)))
        }
        chunk.line.operations.append(operation)
        chunk.line.nextAfter = opID
        current = chunk
    }

    private mutating func close(hasMore: Bool) {
        guard var chunk = current else { return }
        current = nil
        currentBytes = 0
        chunk.line.hasMore = hasMore
        chunks.append(chunk)
    }

    /// The kind of the current operation, from the first letter of its name.
    private var kind: SyncOperation.Kind {
        switch statement.text(at: Column.op)?.first {
        case UInt8(ascii: "P"): .put
        case UInt8(ascii: "R"): .remove
        case UInt8(ascii: "C"): .clear
        default: .move
        }
    }

    private func appendText(at column: CInt, to text: inout ByteBuffer) -> TextRange {
        let offset = text.readableBytes
        guard let bytes = statement.text(at: column) else { return TextRange(offset: offset, count: 0) }
        text.writeBytes(bytes)
        return TextRange(offset: offset, count: bytes.count)
    }

    /// Appends `<source table id>/<replica id>`.
    private func appendSubkey(to text: inout ByteBuffer) -> TextRange {
        let offset = text.readableBytes
        if let table = statement.text(at: Column.sourceTable) { text.writeBytes(table) }
        var rest = [UInt8(ascii: "/")]
        ReplicaID(bytes: statement.blob(at: Column.sourceKey)).appendText(to: &rest)
        text.writeBytes(rest)
        return TextRange(offset: offset, count: text.readableBytes - offset)
    }

    private enum Column {
        static let opID: CInt = 0
        static let op: CInt = 1
        static let checksum: CInt = 2
        static let targetOp: CInt = 3
        static let sourceTable: CInt = 4
        static let sourceKey: CInt = 5
        static let tableName: CInt = 6
        static let rowID: CInt = 7
        static let data: CInt = 8
    }
}
