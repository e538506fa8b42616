import PowerSyncAuth
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// What a client would get that syncs for the first time now.
struct ClientPreview: Codable, Sendable, Equatable {
    /// A bucket of the client.
    struct Bucket: Codable, Sendable, Equatable {
        /// Its name.
        var name: String
        /// 0 for the most urgent one, to 3.
        var priority: Int
        /// The stream that leads to it; the first one when there are several.
        var stream: String
        /// How many operations the client downloads.
        var operations: Int64
        /// How many rows it then has of this bucket; `nil` when they were not counted.
        var rows: Int?
        /// The bytes of these rows as JSON.
        var bytes: Int?
    }

    /// A table on the client.
    struct Table: Codable, Sendable, Equatable {
        /// Its name.
        var name: String
        /// How many rows it has.
        var rows: Int
        /// The bytes of these rows as JSON.
        var bytes: Int
    }

    /// The checkpoint that the client would get.
    var checkpoint: String
    /// The buckets.
    var buckets: [Bucket]
    /// The tables, by name; empty when rows were not counted.
    var tables: [Table]
    /// The operations of all buckets.
    var operations: Int64
    /// Why subscriptions cannot be evaluated, or get nothing.
    var errors: [String]
    /// Whether rows were counted.
    var isCounted: Bool

    /// The most operations of which rows are counted.
    static let maximumOperations: Int64 = 100_000

    /// Finds out what a client would get.
    ///
    /// - Parameters:
    ///   - request: What the client would ask for; what it has does not count.
    ///   - token: The token that the client would have.
    ///   - environment: What sessions share.
    /// - Throws: ``BucketStorageError`` with code `noActiveStream`, `BucketLimitError`, or an error of the storage.
    init(
        _ request: StreamingSyncRequest,
        token: VerifiedToken,
        environment: SyncSession.Environment
    ) async throws {
        do {
            self = try await Self.make(request, token, environment)
        } catch let error as BucketStorageError
            where error.code == .checkpointInvalidated || error.code == .unknownStream
        {
            // A later checkpoint is there by now.
            self = try await Self.make(request, token, environment)
        }
    }

    private static func make(
        _ request: StreamingSyncRequest,
        _ token: VerifiedToken,
        _ environment: SyncSession.Environment
    ) async throws -> ClientPreview {
        let candidate = try await SyncSession.firstCandidate(for: request, token: token, environment)
        var preview = ClientPreview(candidate)
        guard preview.operations <= maximumOperations else { return preview }
        let rows = try await LiveRows(of: candidate, environment)
        for index in preview.buckets.indices {
            let size = rows.size(of: candidate.buckets[index].name)
            (preview.buckets[index].rows, preview.buckets[index].bytes) = (size.rows, size.bytes)
        }
        preview.tables = rows.tables
        preview.isCounted = true
        return preview
    }

    private init(_ candidate: SyncSession.Candidate) {
        checkpoint = "\(candidate.checkpoint.opID)"
        buckets = candidate.buckets.map { bucket in
            Bucket(
                name: bucket.name.rawValue,
                priority: Int(bucket.priority.rawValue),
                stream: bucket.stream,
                operations: candidate.checksums[bucket.name]?.count ?? 0
            )
        }
        tables = []
        operations = buckets.reduce(0) { $0 + $1.operations }
        errors = candidate.streams.flatMap { stream in stream.errors.map { "\(stream.name): \($0.message)" } }
        isCounted = false
    }
}

/// The rows that a client has when it has downloaded some buckets.
private struct LiveRows {
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
    }

    private var buckets: [BucketName: [Key: Put]] = [:]

    /// Downloads buckets.
    init(of candidate: SyncSession.Candidate, _ environment: SyncSession.Environment) async throws {
        var positions = candidate.buckets.map { StreamingSyncRequest.BucketPosition(name: $0.name, after: .zero) }
        while !positions.isEmpty {
            try Task.checkCancellation()
            let request = positions
            let indexes = Dictionary(request.indices.map { (request[$0].name, $0) }) { first, _ in first }
            let chunks = try await environment.dataReaders.withSlot {
                try await environment.storage.bucketData(request, at: candidate.checkpoint)
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
                buckets[line.bucket, default: [:]][key] = Put(opID: operation.opID, bytes: bytes)
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

    private static func rows(of buckets: [[Key: Put]]) -> [Row: Put] {
        var rows: [Row: Put] = [:]
        for (key, put) in buckets.joined() {
            if let known = rows[key.row], known.opID >= put.opID { continue }
            rows[key.row] = put
        }
        return rows
    }
}
