public import PowerSyncServiceCore

/// The storage in a SQLite file: ``SQLiteBucketStorage``.
package struct SQLiteStorageModule: StorageModule {
    /// The file.
    package let path: String

    /// Creates a module of a file, which need not be there.
    package init(path: String) {
        self.path = path
    }

    package static let type = "sqlite"
    package static let example = "{type: sqlite, path: data/buckets.db}"
    package static let starter: [String]? = ["type: \(type)", "path: data/buckets.db"]
    package static let schemaKeys: [SchemaObject.Key] = [
        .init("path", "The file; it is made if there is none.", .text)
    ]
    package static let sharing = ModuleSharing.oneProcess("one process uses a SQLite file")

    package var description: String { path }
    package var files: [DatabaseFile] { [DatabaseFile(sqlite: path)] }
    package var secrets: [String] { [] }
    package var maintenance: any StorageMaintenance { SQLiteStorageMaintenance(path: path) }

    /// Where the path is in the configuration.
    private static let key = "storage.path"

    package init?(_ section: inout YAMLSection) {
        let path = section.requiredPath("path")
        section.finish()
        guard let path else { return nil }
        self.init(path: path)
    }

    // MARK: Opening

    package func open(_ use: StorageUse, _ context: ModuleContext) async throws -> any BucketStorage {
        switch use {
        case .service(let migrates):
            try preparePlace()
            do {
                return try await BlockingWork.run { [path] in
                    try SQLiteBucketStorage(
                        path: path,
                        migrates: migrates,
                        handlePrefix: context.handlePrefix,
                        defaultSchema: context.defaultSchema
                    )
                }
            } catch {
                throw self.error(error, while: .starting)
            }
        case .maintenance:
            do {
                return try await BlockingWork.run { [path] in try SQLiteBucketStorage(path: path, use: .maintenance) }
            } catch let error as BucketStorageError {
                throw ServiceError(.storage, error.message, key: Self.key, catalogueCode: error.catalogueCode)
            }
        }
    }

    package func checkPlace() throws { try DataFolder(of: path, key: Self.key).check() }

    package func preparePlace() throws { try DataFolder(of: path, key: Self.key).create() }

    package func error(_ error: any Error, while activity: StorageActivity) -> any Error {
        guard let error = error as? BucketStorageError else { return error }
        return switch activity {
        case .starting:
            ServiceError(.dataFolder, error.message, key: Self.key, catalogueCode: error.catalogueCode)
        case .maintaining:
            ServiceError(.storage, error.message, key: "storage", catalogueCode: error.catalogueCode)
        }
    }
}

extension StorageConfiguration {
    /// A SQLite file of the service.
    ///
    /// - Parameter path: The file. It and its folder are created when missing.
    /// - Returns: The storage.
    public static func sqlite(path: String) -> StorageConfiguration {
        StorageConfiguration(SQLiteStorageModule(path: path))
    }
}

extension DatabaseFile {
    /// A SQLite database in WAL mode.
    init(sqlite path: String) {
        self.init(path: path, log: path + "-wal", others: [path + "-shm"])
    }
}
