import Foundation
import Logging
import PowerSyncSQLite
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
        case (.embedded(let source, _), .postgres): [source]
        case (.postgres, .postgres): []
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
        let identities = files.map { FileIdentity(path: $0) }
        let isOneFile = identities[0] != nil && identities[0] == identities[1]
        guard isOneFile || resolved(files[0]) == resolved(files[1]) else { return }
        throw ServiceError(
            .invalidConfiguration,
            "\(files[1]) is the file of the source, too; the storage needs a file of its own",
            key: "storage.path"
        )
    }

    /// Checks that source and storage are fit for a process with this role.
    ///
    /// - Throws: ``ServiceError`` with code `invalidConfiguration`.
    func checkRole() throws(ServiceError) {
        guard role != .unified else { return }
        guard case .postgres = storage.kind else {
            throw ServiceError(
                .invalidConfiguration,
                "one process uses a SQLite file; the role \(role) needs a storage of the type postgresql",
                key: "storage.type"
            )
        }
        guard case .postgres = source.kind else {
            throw ServiceError(
                .invalidConfiguration,
                "one process uses an embedded source; the role \(role) needs a source of the type postgresql",
                key: "replication.connections[0].type"
            )
        }
    }

    /// Opens the storage.
    ///
    /// - Parameter logger: For warnings.
    /// - Returns: The storage; the caller closes it.
    /// - Throws: ``ServiceError`` with code `dataFolder` for a file, `storage` or `invalidConfiguration` for a server.
    func openStorage(logger: Logger) async throws -> any BucketStorage {
        switch storage.kind {
        case .sqlite(let path):
            try createFolder(of: path, key: "storage.path")
            do {
                return try SQLiteBucketStorage(
                    path: path,
                    migrates: migratesAutomatically,
                    slotPrefix: slotPrefix,
                    defaultSchema: defaultSchema
                )
            } catch let error as BucketStorageError {
                throw ServiceError(.dataFolder, error.message, key: "storage.path", catalogueCode: error.catalogueCode)
            }
        case .postgres(let settings, let schema):
            return try await openStorage(settings, schema, use: migratesAutomatically ? .service : .maintenance, logger)
        }
    }

    private func openStorage(
        _ settings: PostgresSettings,
        _ schema: String,
        use: PostgresBucketStorage.Use,
        _ logger: Logger
    ) async throws -> any BucketStorage {
        guard PostgresSettings.isSchemaName(schema) else {
            throw ServiceError(.invalidConfiguration, "“\(schema)” is not possible", key: "storage.schema")
        }
        var storage = PostgresBucketStorage.Settings(connection: try settings.connectionString())
        storage.schema = schema
        storage.maximumConnections = settings.maximumPoolSize
        storage.slotPrefix = slotPrefix
        storage.defaultTableSchema = defaultSchema
        do {
            return try await PostgresBucketStorage.open(storage, use: use, logger: logger)
        } catch {
            throw storageError(error)
        }
    }

    /// Finds what would refuse a start after it has made files, so that a refused one leaves none behind.
    ///
    /// Where all files are there, nothing is looked at: the start itself finds out.
    ///
    /// - Parameter logger: For warnings of an embedded source.
    /// - Throws: ``ServiceError``, or an error of the source, as the start would throw it.
    func checkPlaces(logger: Logger) async throws {
        guard files.contains(where: { FileStamp(path: $0) == nil }) else { return }
        if case .sqlite(let path) = storage.kind, FileStamp(path: path) == nil { try await checkStorage() }
        if case .embedded(let path, let statements) = source.kind {
            try await SyncService.checkEmbeddedSource(path, statements, of: self, logger)
        }
        do {
            try PortProbe.take(host, port)
        } catch {
            throw startError(error)
        }
    }

    /// Finds what would keep ``openStorage(logger:)`` from opening the storage, and changes nothing.
    ///
    /// - Throws: ``ServiceError`` with code `dataFolder` for a file, `storage` for a server, in the same words.
    func checkStorage() async throws {
        if case .sqlite(let path) = storage.kind { try checkFolder(of: path, key: "storage.path") }
        do {
            try await storageMaintenance.checkOpening(migrates: migratesAutomatically)
        } catch {
            guard case .sqlite = storage.kind, let error = error as? BucketStorageError else {
                throw storageError(error)
            }
            throw ServiceError(.dataFolder, error.message, key: "storage.path", catalogueCode: error.catalogueCode)
        }
    }

    /// What operators do with the storage while no service has it open.
    var storageMaintenance: any StorageMaintenance {
        switch storage.kind {
        case .sqlite(let path): SQLiteStorageMaintenance(path: path)
        case .postgres(let settings, let schema):
            PostgresStorageMaintenance(schema: schema, place: "\(settings), schema \(schema)") {
                try settings.connectionString()
            }
        }
    }

    /// Makes what the storage lies in.
    ///
    /// - Throws: ``ServiceError`` with code `dataFolder`.
    func prepareStoragePlace() throws {
        if case .sqlite(let path) = storage.kind { try createFolder(of: path, key: "storage.path") }
    }

    /// The schema of tables that the sync config names without one.
    var defaultSchema: String {
        switch source.kind {
        case .embedded: "main"
        case .postgres: PostgresSource.defaultSchema
        }
    }

    /// What the names of streams begin with in the source.
    var slotPrefix: String {
        switch source.kind {
        case .embedded: SQLiteBucketStorage.defaultSlotPrefix
        case .postgres(let settings): settings.slotNamePrefix
        }
    }

    /// Opens the storage to compact it, also while a service uses it.
    ///
    /// - Parameter logger: For warnings.
    /// - Returns: The storage; the caller closes it.
    /// - Throws: ``ServiceError`` with code `storage`.
    func openStorageForMaintenance(logger: Logger) async throws -> any BucketStorage {
        switch storage.kind {
        case .sqlite(let path):
            do {
                return try SQLiteBucketStorage(path: path, use: .maintenance)
            } catch let error as BucketStorageError {
                throw ServiceError(.storage, error.message, key: "storage.path", catalogueCode: error.catalogueCode)
            }
        case .postgres(let settings, let schema):
            return try await openStorage(settings, schema, use: .maintenance, logger)
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
            source.slotNamePrefix = settings.slotNamePrefix
            source.maximumConnections = settings.maximumPoolSize
            source.heartbeatInterval = settings.heartbeatInterval
            return PostgresSource(source, logger: logger)
        }
    }

    private func createFolder(of path: String, key: String) throws {
        let folder = URL(filePath: path).deletingLastPathComponent()
        do {
            try PrivateFiles.createFolder(at: folder.path(percentEncoded: false))
        } catch {
            throw folderError(folder, key, error)
        }
    }

    /// Finds what would keep ``createFolder(of:key:)`` from making a folder, and makes none.
    func checkFolder(of path: String, key: String) throws {
        let folder = URL(filePath: path).deletingLastPathComponent()
        var ancestor = folder.standardizedFileURL
        var isFolder: ObjCBool = false
        // Without a slash at the end: with one, a file is nothing.
        while !FileManager.default.fileExists(atPath: ancestor.path, isDirectory: &isFolder),
            ancestor.pathComponents.count > 1
        {
            ancestor.deleteLastPathComponent()
        }
        // What is there already does not have to be made.
        if isFolder.boolValue, ancestor.pathComponents == folder.standardizedFileURL.pathComponents { return }
        guard isFolder.boolValue, FileManager.default.isWritableFile(atPath: ancestor.path)
        else {
            throw folderError(folder, key, nil)
        }
    }

    private func folderError(_ folder: URL, _ key: String, _ cause: (any Error)?) -> ServiceError {
        ServiceError(
            .dataFolder,
            "the folder \(folder.path(percentEncoded: false)) cannot be created; check that it may be written",
            key: key,
            underlyingError: cause
        )
    }
}
