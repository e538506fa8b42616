import Foundation
import Logging
import PowerSyncServiceCore
import PowerSyncServicePostgres
import PowerSyncServiceSQLite

/// Opens what a configuration names.
///
/// The only place that knows which sources and storages exist.
extension ServiceConfiguration {
    /// The database files.
    var files: [String] {
        switch (source.kind, storage.kind) {
        case (.embedded(let source, _), .sqlite(let storage)): [source, storage]
        case (.postgres, .sqlite(let storage)): [storage]
        }
    }

    /// The code of an error about how the source is set up.
    var sourceErrorCode: ServiceError.Code {
        switch source.kind {
        case .embedded: .dataFolder
        case .postgres: .invalidConfiguration
        }
    }

    /// Checks that source and storage are two files: each write to the storage would be a change of the source.
    ///
    /// - Throws: ``ServiceError`` with code `invalidConfiguration`.
    func checkFiles() throws(ServiceError) {
        func resolved(_ path: String) -> String {
            let url = URL(filePath: path).standardizedFileURL
            return url.deletingLastPathComponent().resolvingSymlinksInPath().appending(path: url.lastPathComponent).path
        }
        guard files.count > 1 else { return }
        let identities = files.map { DataFileWatch.Identity(path: $0) }
        let isOneFile = identities[0] != nil && identities[0] == identities[1]
        guard isOneFile || resolved(files[0]) == resolved(files[1]) else { return }
        throw ServiceError(
            .invalidConfiguration,
            "\(files[1]) is the file of the source, too; the storage needs a file of its own",
            key: "storage.path"
        )
    }

    /// Opens the storage.
    ///
    /// - Parameter logger: For warnings.
    /// - Returns: The storage; the caller closes it.
    /// - Throws: ``ServiceError`` with code `dataFolder`.
    func openStorage(logger: Logger) throws -> any BucketStorage {
        switch storage.kind {
        case .sqlite(let path):
            try createFolder(of: path, key: "storage.path")
            do {
                return try SQLiteBucketStorage(
                    path: path,
                    slotPrefix: slotPrefix,
                    defaultSchema: defaultSchema
                )
            } catch let error as BucketStorageError {
                throw ServiceError(.dataFolder, error.message, key: "storage.path", underlyingError: nil)
            }
        }
    }

    /// The schema of tables that the sync config names without one.
    var defaultSchema: String {
        switch source.kind {
        case .embedded: "main"
        case .postgres: PostgresSource.defaultSchema
        }
    }

    /// What the names of streams begin with in the source.
    private var slotPrefix: String {
        switch source.kind {
        case .embedded: SQLiteBucketStorage.defaultSlotPrefix
        case .postgres(let settings): settings.slotNamePrefix
        }
    }

    /// Opens the storage to compact it, also while a service uses it.
    ///
    /// - Returns: The storage; the caller closes it.
    /// - Throws: ``ServiceError`` with code `storage`.
    func openStorageForMaintenance() throws -> any BucketStorage {
        switch storage.kind {
        case .sqlite(let path):
            do {
                return try SQLiteBucketStorage(path: path, use: .maintenance)
            } catch let error as BucketStorageError {
                throw ServiceError(.storage, error.message, key: "storage.path", underlyingError: nil)
            }
        }
    }

    /// Opens the source.
    ///
    /// - Parameter logger: For warnings about tables that cannot be replicated.
    /// - Returns: The source; the caller closes it.
    /// - Throws: ``ServiceError`` with code `dataFolder`, or an error of the source.
    func openSource(logger: Logger) throws -> any ReplicationSource {
        switch source.kind {
        case .embedded(let path, let statements):
            try createFolder(of: path, key: "replication.connections[0].path")
            return try EmbeddedSource(path: path, schema: statements, logger: logger)
        case .postgres(let settings):
            var source = PostgresSource.Settings(connection: try settings.connectionString())
            source.publication = settings.publication
            source.maximumConnections = settings.maximumPoolSize
            source.heartbeatInterval = settings.heartbeatInterval
            return PostgresSource(source, logger: logger)
        }
    }

    private func createFolder(of path: String, key: String) throws {
        let folder = URL(filePath: path).deletingLastPathComponent()
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            throw ServiceError(
                .dataFolder,
                "the folder \(folder.path(percentEncoded: false)) cannot be created; check that it may be written",
                key: key,
                underlyingError: error
            )
        }
    }
}
