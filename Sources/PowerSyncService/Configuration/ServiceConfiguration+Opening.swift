import Foundation
package import Logging
package import PowerSyncServiceCore
package import PowerSyncSyncConfig

/// Opens what a configuration names.
extension ServiceConfiguration {
    /// The database files.
    package var files: [DatabaseFile] { source.module.files + storage.module.files }

    /// What modules need to open their databases.
    ///
    /// - Parameter logger: For warnings.
    /// - Returns: The context.
    package func moduleContext(logger: Logger) -> ModuleContext {
        ModuleContext(defaultSchema: defaultSchema, handlePrefix: handlePrefix, logger: logger)
    }

    /// Checks that source and storage are two files: each write to the storage would be a change of the source.
    ///
    /// - Throws: ``ServiceError`` with code `invalidConfiguration`.
    package func checkFiles() throws(ServiceError) {
        func resolved(_ path: String) -> String {
            let url = URL(filePath: path).standardizedFileURL
            return url.deletingLastPathComponent().resolvingSymlinksInPath().appending(path: url.lastPathComponent).path
        }
        func isOneFile(_ path: String, _ other: String) -> Bool {
            let identity = FileStamp.Identity(path: path)
            return identity != nil && identity == FileStamp.Identity(path: other) || resolved(path) == resolved(other)
        }
        for path in storage.module.files.map(\.path)
        where source.module.files.contains(where: { isOneFile($0.path, path) }) {
            throw ServiceError(
                .invalidConfiguration,
                "\(path) is the file of the source, too; the storage needs a file of its own",
                key: "storage.path"
            )
        }
    }

    /// Checks that source and storage are fit for a process with this role.
    ///
    /// - Throws: ``ServiceError`` with code `invalidConfiguration`.
    package func checkRole() throws(ServiceError) {
        guard role != .unified else { return }
        if case .oneProcess(let reason) = type(of: storage.module).sharing {
            throw ServiceError(
                .invalidConfiguration,
                "\(reason); the role \(role) needs a storage of the type \(modules.sharedStorages)",
                key: "storage.type"
            )
        }
        if case .oneProcess(let reason) = type(of: source.module).sharing {
            throw ServiceError(
                .invalidConfiguration,
                "\(reason); the role \(role) needs a source of the type \(modules.sharedSources)",
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
        try await storage.module.open(.service(migrates: migratesAutomatically), moduleContext(logger: logger))
    }

    /// Finds what would refuse a start after it has made files, so that a refused one leaves none behind.
    ///
    /// Where all files are there, nothing is looked at: the start itself finds out.
    ///
    /// - Parameter logger: For warnings of the source.
    /// - Throws: ``ServiceError``, or an error of the source, as the start would throw it.
    func checkPlaces(logger: Logger) async throws {
        func isMissing(_ file: DatabaseFile) -> Bool { FileStamp(path: file.path) == nil }
        guard files.contains(where: isMissing) else { return }
        if storage.module.files.contains(where: isMissing) { try await checkStorage() }
        try await source.module.checkOpening(moduleContext(logger: logger))
        do {
            try PortProbe.take(host, port)
        } catch {
            throw startError(error)
        }
    }

    /// Finds what would keep ``openStorage(logger:)`` from opening the storage, and changes nothing.
    ///
    /// - Throws: ``ServiceError`` with code `dataFolder` for a file, `storage` for a server, in the same words.
    package func checkStorage() async throws {
        try storage.module.checkPlace()
        do {
            try await storage.module.maintenance.checkOpening(migrates: migratesAutomatically)
        } catch {
            throw storage.module.error(error, while: .starting)
        }
    }

    /// The schema of tables that the sync config names without one.
    var defaultSchema: String { source.module.defaultSchema }

    /// Why the source cannot do a pattern of tables that a sync config reads.
    package var patternRefusal: SyncConfig.PatternRefusal {
        { [module = source.module] in module.refusal(of: $0) }
    }

    /// What the names of streams begin with in the source.
    var handlePrefix: String { source.module.handlePrefix }

    /// Opens the storage to compact it, also while a service uses it.
    ///
    /// - Parameter logger: For warnings.
    /// - Returns: The storage; the caller closes it.
    /// - Throws: ``ServiceError`` with code `storage`.
    func openStorageForMaintenance(logger: Logger) async throws -> any BucketStorage {
        try await storage.module.open(.maintenance, moduleContext(logger: logger))
    }

    /// Opens the source.
    ///
    /// - Parameter logger: For warnings about tables that cannot be replicated.
    /// - Returns: The source; the caller closes it.
    /// - Throws: ``ServiceError`` with code `dataFolder`, or an error of the source.
    package func openSource(logger: Logger) async throws -> any ReplicationSource {
        let context = moduleContext(logger: logger)
        return try await BlockingWork.run { [module = source.module] in try module.open(context) }
    }
}
