import Foundation
import Logging
import PostgresTestSupport
import PowerSyncServiceCore
import PowerSyncServicePostgres
import PowerSyncServiceSQLite
import ServiceTestSupport
import TestSupport

#if canImport(Glibc)
import Glibc
#endif

/// A service in a process of its own, which is killed (`kill -9`) while it reads tables for a config.
struct DyingService: Codable, Sendable {
    /// When the process is killed.
    struct Death: Codable, Sendable, CustomStringConvertible {
        /// The number of the call of a writer, from 1.
        var call: Int
        /// How many microseconds after the call has begun; `nil` when it has ended.
        var microseconds: Int?

        var description: String { "call \(call)\(microseconds.map { ", \($0) µs" } ?? "")" }
    }

    /// The source, which other processes write to.
    static let tables = ["items", "notes"].map { "CREATE TABLE \($0) (id TEXT PRIMARY KEY, owner TEXT, body TEXT)" }

    /// The folder with the files of the source, and of a storage in SQLite.
    private let folder: String
    /// Where a storage in PostgreSQL is.
    private let database: String?
    private let config: String
    private let death: Death

    /// Describes a process.
    ///
    /// - Parameters:
    ///   - home: Where its storage is; the source is in its folder.
    ///   - config: What it has to serve.
    ///   - death: When it is killed; at the latest when it serves the config.
    init(_ home: any StorageHome, serving config: String, until death: Death) {
        folder = home.folder.url.path
        database = home.kind == .postgres ? home.postgres.settings.connection.text : nil
        self.config = config
        self.death = death
    }

    /// The source in a folder.
    static func source(in folder: String) throws -> EmbeddedSource {
        try EmbeddedSource(path: "\(folder)/source.db", schema: tables, logger: PostgresStorageHome.logger)
    }

    /// Replicates until the end of the process.
    func run() async throws {
        let source = try Self.source(in: folder)
        guard let database else {
            return try await replicate(source, SQLiteBucketStorage(path: "\(folder)/buckets.db"))
        }
        var settings = PostgresBucketStorage.Settings(connection: PostgresConnectionString(database))
        settings.defaultTableSchema = "main"
        let storage = try await PostgresBucketStorage.open(settings, logger: PostgresStorageHome.logger)
        try await replicate(source, storage)
    }

    private func replicate<Storage: BucketStorage>(_ source: EmbeddedSource, _ storage: Storage) async throws {
        let life = DyingStorage<Storage>.Life(calls: death.call) { [death] in
            guard let microseconds = death.microseconds else { return }
            DispatchQueue(label: "death").asyncAfter(deadline: .now() + .microseconds(microseconds)) { Self.die() }
        } die: {
            Self.die()
        }
        let replicator = Replicator(
            storage: DyingStorage(storage: storage, life: life),
            source: source,
            streamsChanged: ChangeSignal(),
            logger: PostgresStorageHome.logger
        )
        try await replicator.whileRunning {
            _ = try await storage.served(config, from: LSN(""))
            Self.die()
        }
    }

    private static func die() -> Never {
        kill(getpid(), SIGKILL)
        // The signal may come to another thread first.
        while true { pause() }
    }
}
