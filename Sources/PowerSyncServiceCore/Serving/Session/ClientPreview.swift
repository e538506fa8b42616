package import PowerSyncProtocol
import PowerSyncSyncConfig
package import PowerSyncAuth

/// Computes the buckets and rows that a client would get if it synced for the first time now.
package struct ClientPreview: Codable, Sendable, Equatable {
    /// A bucket of the client.
    package struct Bucket: Codable, Sendable, Equatable {
        /// Its name.
        package var name: String
        /// 0 for the most urgent one, to 3.
        package var priority: Int
        /// The stream that leads to it; the first one when there are several.
        package var stream: String
        /// The number of operations that the client downloads.
        package var operations: Int64
        /// The number of rows that it then has of this bucket; `nil` when they were not counted.
        package var rows: Int?
        /// The bytes of these rows as JSON.
        package var bytes: Int?
    }

    /// A table on the client.
    package struct Table: Codable, Sendable, Equatable {
        /// Its name.
        package var name: String
        /// The number of rows that it has.
        package var rows: Int
        /// The bytes of these rows as JSON.
        package var bytes: Int
    }

    /// The checkpoint that the client would get.
    package var checkpoint: String
    /// The buckets.
    package var buckets: [Bucket]
    /// The tables, by name; empty when rows were not counted.
    package var tables: [Table]
    /// The operations of all buckets.
    package var operations: Int64
    /// The problems of subscriptions that cannot be evaluated, or get nothing.
    package var errors: [String]
    /// Whether rows were counted.
    package var isCounted: Bool

    /// The most operations of which rows are counted.
    package static let maximumOperations: Int64 = 100_000

    /// Finds out what a client would get.
    ///
    /// - Parameters:
    ///   - request: What the client would ask for; what it has does not count.
    ///   - token: The token that the client would have.
    ///   - environment: What sessions share.
    /// - Throws: ``BucketStorageError`` with code `noActiveStream`, `BucketLimitError`, or an error of the storage.
    package init(
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
        let storage = environment.storage
        guard let stream = try await storage.activeStream() else { throw BucketStorageError.noActiveStream }
        var checkpoints = storage.checkpoints(of: stream).makeAsyncIterator()
        guard let checkpoint = try await checkpoints.next() else { throw BucketStorageError.noActiveStream }
        let querier = stream.plan.querier(
            for: SyncPlanRequest(
                tokenPayload: token.payload,
                parameters: request.parameters,
                streams: request.streams
            ),
            bucketPrefix: stream.bucketPrefix
        )
        var resolver = BucketResolver(
            storage: storage,
            querier: querier,
            limits: environment.limits,
            writeCheckpointKey: token.writeCheckpointKey(clientID: request.clientID)
        )
        let candidate = try await resolver.candidate(for: CheckpointNews(checkpoint: checkpoint, scope: .unknown))
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
