package import Logging
import NIOConcurrencyHelpers
package import PowerSyncServiceCore
package import PowerSyncServicePostgres
package import ServiceTestSupport
package import TestSupport

extension TestedStorage {
    /// A database of its own in the server of `scripts/with-postgres`.
    package static let postgres: Self = .init("postgres") { try PostgresStorageHome() }
}

/// A place for a storage in PostgreSQL.
package final class PostgresStorageHome: StorageHome {
    package let kind = TestedStorage.postgres
    package let folder: TemporaryFolder
    /// The database of the storage.
    package let database: TestDatabase
    private let leases = NIOLockedValueBox<[ReplicationStreamID: WriterLease]>([:])

    /// Makes a database.
    package init() throws {
        folder = try TemporaryFolder()
        database = try TestDatabase()
    }

    /// What the storage is opened with.
    package var settings: PostgresBucketStorage.Settings {
        var settings = PostgresBucketStorage.Settings(connection: database.connectionString)
        settings.defaultTableSchema = "main"
        return settings
    }

    /// Says nothing.
    package static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    package func open(_ options: StorageOptions) async throws -> any BucketStorage {
        try await PostgresBucketStorage.open(settings, makeID: options.makeID, logger: Self.logger)
    }

    package func writer(
        of stream: ReplicationStreamID,
        in storage: any BucketStorage
    ) async throws -> any BucketStorageWriter {
        guard let storage = storage as? PostgresBucketStorage else { throw UnknownStorage() }
        if let known = leases.withLockedValue({ $0[stream] }) { return try await storage.writer(of: stream, known) }
        let taken = try await storage.takeLease(of: stream)
        leases.withLockedValue { $0[stream] = taken }
        return try await storage.writer(of: stream, taken)
    }

    package func releaseWriters() async {
        let leases = leases.withLockedValue { leases in
            defer { leases = [:] }
            return leases.values
        }
        for lease in leases { await lease.release() }
    }

    package func rowCount(_ table: String, in storage: any BucketStorage) async throws -> Int? {
        try run("SELECT count(*) FROM \(table)").first?.first.flatMap { $0 }.flatMap { Int($0) }
    }

    /// Runs statements in the schema of the storage.
    @discardableResult
    package func run(_ sql: String) throws -> [[String?]] {
        try database.run("SET search_path TO \(PostgresBucketStorage.defaultSchema); \(sql)")
    }
}

extension PostgresBucketStorage: ObservedStorage {}

extension StorageHome {
    /// A place for a storage in PostgreSQL as what it is.
    package var postgres: PostgresStorageHome {
        guard let home = self as? PostgresStorageHome else { preconditionFailure("\(kind) is not in PostgreSQL") }
        return home
    }

    /// Runs statements in the schema of a storage in PostgreSQL.
    @discardableResult
    package func run(_ sql: String) throws -> [[String?]] { try postgres.run(sql) }
}
