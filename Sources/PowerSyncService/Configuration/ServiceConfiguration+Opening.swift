import Foundation
import Logging
import PowerSyncServiceCore
import PowerSyncServiceSQLite

/// Opens what a configuration names.
///
/// The only place that knows which sources and storages exist.
extension ServiceConfiguration {
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
                return try SQLiteBucketStorage(path: path)
            } catch let error as BucketStorageError {
                throw ServiceError(.dataFolder, error.message, key: "storage.path", underlyingError: nil)
            }
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
