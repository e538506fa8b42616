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
        let rows = try await LiveRows(of: candidate.buckets.map(\.name), at: candidate.checkpoint, environment)
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
