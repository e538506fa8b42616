import PowerSyncProtocol
import PowerSyncServiceCore

/// The rows that a client has when it has downloaded some buckets.
struct LiveRows {
    /// A row on the client.
    private struct Row: Hashable {
        var table: String
        var id: String
    }

    /// The key by which operations of a bucket replace each other.
    private struct Key: Hashable {
        var row: Row
        var subkey: String
    }

    private struct Put {
        var opID: OpID
        var bytes: Int
        var data: String?
    }

    private var buckets: [BucketName: [Key: Put]] = [:]

    /// Whether the contents of rows are kept.
    private let keepsData: Bool

    /// Downloads buckets.
    ///
    /// - Parameters:
    ///   - buckets: Their names.
    ///   - checkpoint: What they are read at.
    ///   - keepsData: Whether the contents of rows are kept, and not only their sizes.
    ///   - environment: What sessions share.
    /// - Throws: An error of the storage.
    init(
        of buckets: [BucketName],
        at checkpoint: StorageCheckpoint,
        keepsData: Bool = false,
        _ environment: SyncSession.Environment
    ) async throws {
        self.keepsData = keepsData
        // The storage gives them in the order of their names.
        var positions = buckets.sorted().map { StreamingSyncRequest.BucketPosition(name: $0, after: .zero) }
        while !positions.isEmpty {
            try Task.checkCancellation()
            let request = positions
            let indexes = Dictionary(request.indices.map { (request[$0].name, $0) }) { first, _ in first }
            let chunks = try await environment.dataReaders.withSlot {
                try await environment.storage.bucketData(request, at: checkpoint)
            }
            for chunk in chunks {
                apply(chunk.line)
                if let index = indexes[chunk.line.bucket], let next = chunk.line.nextAfter {
                    positions[index].after = next
                }
            }
            guard let last = chunks.last, last.line.hasMore else { return }
            // Those before have been read to their end, and are in the order of their names.
            positions.removeAll { $0.name < last.line.bucket }
        }
    }

    private mutating func apply(_ line: DataLine) {
        for operation in line.operations {
            let key = Self.key(of: operation, line)
            switch operation.kind {
            case .put:
                let bytes = operation.data.map { Int($0.count) } ?? 0
                let data = keepsData ? operation.data.map { line.string($0) } : nil
                buckets[line.bucket, default: [:]][key] = Put(opID: operation.opID, bytes: bytes, data: data)
            case .remove: buckets[line.bucket]?[key] = nil
            case .clear: buckets[line.bucket] = nil
            case .move: break
            }
        }
    }

    private static func key(of operation: SyncOperation, _ line: DataLine) -> Key {
        func text(_ range: TextRange?) -> String { range.map { line.string($0) } ?? "" }
        let row = Row(table: text(operation.objectType), id: text(operation.objectID))
        return Key(row: row, subkey: text(operation.subkey))
    }

    /// The rows of a bucket.
    func size(of bucket: BucketName) -> (rows: Int, bytes: Int) {
        let rows = Self.rows(of: buckets[bucket].map { [$0] } ?? [])
        return (rows.count, rows.values.reduce(0) { $0 + $1.bytes })
    }

    /// The rows of all tables; of a row in several buckets, what was written last counts.
    var tables: [ClientPreview.Table] {
        var tables: [String: ClientPreview.Table] = [:]
        for (row, put) in Self.rows(of: Array(buckets.values)) {
            tables[row.table, default: ClientPreview.Table(name: row.table, rows: 0, bytes: 0)].rows += 1
            tables[row.table]?.bytes += put.bytes
        }
        return tables.values.sorted { $0.name < $1.name }
    }

    /// The rows of all tables, by table and id, with their contents if these are kept.
    var rows: [(table: String, id: String, data: String)] {
        Self.rows(of: Array(buckets.values)).map { ($0.table, $0.id, $1.data ?? "") }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
    }

    private static func rows(of buckets: [[Key: Put]]) -> [Row: Put] {
        var rows: [Row: Put] = [:]
        for (key, put) in buckets.joined() {
            if let known = rows[key.row], known.opID >= put.opID { continue }
            rows[key.row] = put
        }
        return rows
    }
}
