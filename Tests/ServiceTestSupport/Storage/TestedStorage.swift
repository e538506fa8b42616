import GRDB
import Logging
import NIOConcurrencyHelpers
import PostgresTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite
@testable import PowerSyncTesting

/// The storages that suites are run over.
enum TestedStorage: String, CaseIterable, CustomTestStringConvertible {
    /// The model that the others are compared with.
    case inMemory
    case sqlite
    /// SQLite that moves everything into segments, again and again.
    case sealed
    case postgres

    /// The ones that differ in more than how they are set up.
    static let distinct: [TestedStorage] = [.inMemory, .sqlite, .postgres]
    /// Those of them that survive their process.
    static let durable: [TestedStorage] = [.sqlite, .postgres]

    var testDescription: String { rawValue }
}

/// A place for one storage, which can be opened again and again.
final class StorageHome: Sendable {
    let kind: TestedStorage
    let folder: TemporaryFolder
    /// The database of a storage in PostgreSQL.
    let database: TestDatabase?
    private let leases = NIOLockedValueBox<[ReplicationStreamID: WriterLease]>([:])

    init(_ kind: TestedStorage, folder: TemporaryFolder? = nil) throws {
        self.kind = kind
        self.folder = try folder ?? TemporaryFolder()
        database = kind == .postgres ? try TestDatabase() : nil
    }

    /// Opens the storage.
    func open(
        sealing: SealingLimits = SealingLimits(),
        walLimit: Int = WriteAheadLog.limit,
        makeID: @escaping @Sendable () -> String = { RandomID.make() }
    ) async throws -> any BucketStorage {
        switch kind {
        case .inMemory: return InMemoryBucketStorage()
        case .sqlite, .sealed:
            return try SQLiteBucketStorage(
                path: folder.path("buckets.db"),
                sealing: kind == .sealed ? Self.eagerly : sealing,
                walLimit: walLimit,
                makeID: makeID
            )
        case .postgres: return try await PostgresBucketStorage.open(settings, makeID: makeID, logger: Self.logger)
        }
    }

    /// What a storage in PostgreSQL is opened with.
    var settings: PostgresBucketStorage.Settings {
        get throws {
            var settings = PostgresBucketStorage.Settings(connection: try #require(database).connectionString)
            settings.defaultTableSchema = "main"
            return settings
        }
    }

    static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Segments of any number of operations, some of which are swept.
    private static var eagerly: SealingLimits {
        var limits = SealingLimits()
        limits.minimum = 1
        limits.segmentBytes = 250
        limits.unswept = 10
        return limits
    }

    /// A writer that is not bound to a scope.
    ///
    /// Those of one stream share a lease.
    func writer(of stream: ReplicationStreamID, in storage: any BucketStorage) async throws -> any BucketStorageWriter {
        switch storage {
        case let storage as InMemoryBucketStorage: return storage.writer(of: stream)
        case let storage as SQLiteBucketStorage: return try await storage.writer(of: stream)
        case let storage as PostgresBucketStorage:
            let known = leases.withLockedValue { $0[stream] }
            let taken = try await WriterLease.take(orHaving: known, stream, storage)
            leases.withLockedValue { $0[stream] = taken }
            return try await storage.writer(of: stream, taken)
        default: throw UnknownStorage()
        }
    }

    /// Runs statements in the schema of a storage in PostgreSQL.
    @discardableResult
    func run(_ sql: String) throws -> [[String?]] {
        try #require(database).run("SET search_path TO \(PostgresBucketStorage.defaultSchema); \(sql)")
    }

    /// Gives the leases of all writers back, which must not be used any more.
    func releaseWriters() async {
        let leases = leases.withLockedValue { leases in
            defer { leases = [:] }
            return leases.values
        }
        for lease in leases { await lease.release() }
    }
}

extension WriterLease {
    fileprivate static func take(
        orHaving lease: WriterLease?,
        _ stream: ReplicationStreamID,
        _ storage: PostgresBucketStorage
    ) async throws -> WriterLease {
        if let lease { return lease }
        let connection = try await PostgresConnection.open(
            storage.settings.connection,
            settings: storage.schema.sessionSettings
        )
        return try await take(stream, storage.schema, on: connection)
    }
}

struct UnknownStorage: Error {}

extension BucketStorage {
    /// What tells of checkpoints.
    var feed: CheckpointFeed {
        switch self {
        case let storage as InMemoryBucketStorage: storage.feed
        case let storage as SQLiteBucketStorage: storage.feed
        case let storage as PostgresBucketStorage: storage.feed
        default: preconditionFailure("\(type(of: self)) is not a storage that is tested")
        }
    }

    /// A storage in SQLite as what it is.
    private var sqlite: SQLiteBucketStorage {
        guard let storage = self as? SQLiteBucketStorage else { preconditionFailure("\(type(of: self)) has no file") }
        return storage
    }

    /// Connections to the file of a storage in SQLite.
    var pool: DatabasePool { sqlite.pool }

    /// The log of a storage in SQLite.
    var log: WriteAheadLog { sqlite.log }
}
