package import GRDB
import NIOConcurrencyHelpers
import PowerSyncCore

/// The database of the SDK: local data, and a client that syncs it.
///
/// Dropping the last reference ends it like ``close()``, except that it is not waited for. A running sync keeps a reference.
package final class SyncedDatabase: PowerSyncDatabaseProtocol {
    package let logger: any LoggerProtocol
    let local: LocalDatabase
    let sync: SyncHandle

    /// Creates a database in a file of its own, or in memory, that is opened at first use.
    ///
    /// - Parameters:
    ///   - schema: The tables of the app.
    ///   - dbFilename: `:memory:`, an absolute path, or a name inside the default directory.
    ///   - logger: Receives messages.
    ///   - initialStatements: What runs first on every connection.
    ///   - key: Gives the key of the file.
    ///   - seedFile: The seed that the file begins with, if there is none.
    ///   - seedUser: The user whom it has to belong to; `nil` for any.
    ///   - seeding: Called after each step of that.
    ///   - environment: The outside world of the sync client.
    ///   - initialRows: Writes the rows that a database in memory begins with.
    package convenience init(
        schema: any SchemaProtocol,
        dbFilename: String,
        logger: any LoggerProtocol,
        initialStatements: [String] = [],
        key: DatabaseKey.Source? = nil,
        seedFile: String? = nil,
        seedUser: String? = nil,
        seeding: @escaping @Sendable (SeedingStep) -> Void = { _ in },
        environment: SyncEnvironment,
        initialRows: InitialRows? = nil
    ) {
        let location = Result { try DatabaseLocation.resolve(dbFilename) }
        self.init(
            schema: schema,
            source: .location(
                location,
                initialStatements: initialStatements,
                key: key,
                seed: seedFile.map { SeedFile(path: $0, user: seedUser, reached: seeding) }
            ),
            identity: try? location.get().identity,
            name: dbFilename,
            logger: logger,
            environment: environment,
            initialRows: initialRows
        )
    }

    /// Creates a database over a GRDB pool of the app.
    ///
    /// - Parameters:
    ///   - schema: The tables of the app.
    ///   - writer: The pool, which is used for everything and closed with the database.
    ///   - identifier: How messages name the database; for a pool without a file, equal for databases that belong together.
    ///   - logger: Receives messages.
    ///   - environment: The outside world of the sync client.
    package convenience init(
        schema: any SchemaProtocol,
        writer: any DatabaseWriter,
        identifier: String,
        logger: any LoggerProtocol,
        environment: SyncEnvironment = .live
    ) {
        let source = ConnectionSource.writer(writer)
        self.init(
            schema: schema,
            source: source,
            identity: source.location(of: writer).identity ?? DatabaseLocation.identity(of: identifier),
            name: identifier,
            logger: logger,
            environment: environment
        )
    }

    /// Creates a database that is opened at first use.
    ///
    /// - Parameters:
    ///   - schema: The tables of the app.
    ///   - source: Where its connections come from.
    ///   - identity: Equal for databases of one file; `nil` for a database that cannot be shared.
    ///   - name: How messages name it.
    ///   - logger: Receives messages.
    ///   - environment: The outside world of the sync client.
    ///   - initialRows: Writes the rows that a database in memory begins with.
    init(
        schema: any SchemaProtocol,
        source: ConnectionSource,
        identity: String?,
        name: String,
        logger: any LoggerProtocol,
        environment: SyncEnvironment,
        initialRows: InitialRows? = nil
    ) {
        self.logger = logger
        local = LocalDatabase(
            source: source,
            schema: Result {
                SyncedDatabase.validate(schema, logger: logger)
                return try ClientSchema(schema)
            },
            logger: logger,
            initialRows: initialRows,
            identity: identity
        )
        sync = SyncHandle(database: local, logger: logger, environment: environment)
        register()
        // Without the handle, which keeps `local`.
        local.whileDisconnected { [file = sync.file, id = sync.id] body in
            try await file.alone(.changeSchema, by: id, body)
        }
        if !local.isFirst { warnOfOthers(name) }
    }

    /// Says that the file has another handle, and what follows from it.
    private func warnOfOthers(_ name: String) {
        var message =
            "Multiple PowerSync instances for the same database have been detected. "
            + "This is allowed, but most apps create one instance and share it: \(name)."
        if local.hasOtherSchema {
            message +=
                " The schema of this one differs: when this instance is used first, its schema replaces that of all of them, "
                + "unless the database is connected."
        }
        if local.hasOtherInitialStatements {
            message += " The initialStatements of this one differ: it cannot be used."
        }
        logger.warning(message, tag: LogTag.database)
    }

    deinit {
        unregister()
        local.end()
        // Handles on streams keep the status; what waits with one waits for nothing.
        sync.end()
    }

    /// Problems of a schema are told and not refused, unless the database cannot be made to follow it.
    static func validate(_ schema: any SchemaProtocol, logger: any LoggerProtocol) {
        do {
            try schema.validate()
        } catch {
            logger.warning("The schema has a problem: \(error.lineOfText)", tag: LogTag.schema)
        }
    }

    package var currentStatus: any SyncStatus { sync.status }

    package func close() async throws {
        try await close(deleteDatabase: false)
    }

    package func close(deleteDatabase: Bool) async throws {
        if deleteDatabase { try checkMayDelete() }
        await sync.close()
        try await local.close()
        if deleteDatabase {
            // Another instance may have come meanwhile.
            try checkMayDelete()
            try local.connections.source.location?.get().deleteFiles()
        }
    }

    /// Checks that no other instance has the file that is to be deleted: it would go on with one that cannot be opened any more.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)``
    private func checkMayDelete() throws {
        guard case .success(.file(let path))? = local.connections.source.location, local.hasOthers else { return }
        throw PowerSyncError.cannotDelete(openFile: path)
    }
}

// Reading and writing.
extension SyncedDatabase {
    package func writeLock<R>(
        callback: @Sendable @escaping (any ConnectionContext) throws -> R
    ) async throws -> R {
        try await local.writeLock(callback)
    }

    package func readLock<R>(
        callback: @Sendable @escaping (any ConnectionContext) throws -> R
    ) async throws -> R {
        try await local.readLock(callback)
    }

    package func watch<RowType>(
        options: WatchOptions<RowType>
    ) throws -> AsyncThrowingStream<[RowType], any Error> {
        try Argument.check(seconds: options.throttle, "throttle")
        return local.watch(options)
    }

    package func getPowerSyncVersion() async throws -> String {
        try await get("SELECT powersync_rs_version()") { cursor in
            let text = try cursor.getString(index: 0)
            // "0.4.9/1a2b3c" names a revision as well.
            return text.split(separator: "/").first.map(String.init) ?? text
        }
    }

    package func updateSchema(schema: any SchemaProtocol) async throws {
        SyncedDatabase.validate(schema, logger: logger)
        let schema = try ClientSchema(schema)
        // First: a first use may have to wait for its turn to change the schema, too.
        _ = try await local.writer()
        try await sync.whileDisconnected { [local] in
            try await local.apply(schema)
        }
    }
}

// Syncing.
extension SyncedDatabase {
    package func connect(
        connector: any PowerSyncBackendConnectorProtocol,
        options: ConnectOptions?
    ) async throws {
        let options = options ?? ConnectOptions()
        try options.validate()
        try await sync.connect(connector: connector, options: options, database: self)
    }

    package func disconnect() async throws {
        await sync.disconnect()
    }

    package func disconnectAndClear(clearLocal: Bool, soft: Bool) async throws {
        var options: ClearOptions = []
        if clearLocal { options.insert(.localTables) }
        if soft { options.insert(.soft) }
        // First: a first use may have to wait for its turn to change the schema. Also for a cancelled task, as the clearing itself.
        try await Task.ignoringCancellation { [local] in _ = try await local.writer() }
        try await sync.disconnectAndClear { [options] db in
            try LocalData.clear(db, options)
        }
    }

    package func waitForFirstSync() async throws {
        try await sync.waitForFirstSync(priority: nil)
    }

    package func waitForFirstSync(priority: Int32) async throws {
        guard priority >= 0 else {
            throw PowerSyncError.negativePriority(priority)
        }
        try await sync.waitForFirstSync(priority: BucketPriority(priority))
    }

    package func syncStream(name: String, params: JsonParam?) -> any SyncStream {
        sync.syncStream(name: name, params: params)
    }
}

extension SyncedDatabase {
    /// The databases that are in use, by the status that they give out.
    private static let byStatus = NIOLockedValueBox<[ObjectIdentifier: WeakReference<SyncedDatabase>]>([:])

    /// Makes this the database behind each one that forwards its status.
    func register() {
        Self.byStatus.withLockedValue { $0[ObjectIdentifier(sync.status)] = WeakReference(self) }
    }

    /// Ends ``register()``.
    func unregister() {
        _ = Self.byStatus.withLockedValue { $0.removeValue(forKey: ObjectIdentifier(sync.status)) }
    }

    /// The database of ours behind a database of the app.
    ///
    /// It is the database itself, or the one whose status a wrapper forwards: a wrapper that was written for the established
    /// SDK knows nothing of our further calls, but it forwards the status.
    ///
    /// - Returns: `nil` for a database that has another status.
    static func behind(_ database: any PowerSyncDatabaseProtocol) -> SyncedDatabase? {
        if let own = database as? SyncedDatabase { return own }
        guard let status = database.currentStatus as? LiveSyncStatus else { return nil }
        return byStatus.withLockedValue { $0[ObjectIdentifier(status)]?.object }
    }
}

extension PowerSyncDatabaseProtocol {
    /// The database of ours behind this one.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` when there is none.
    func requireOwn(for operation: String) throws -> SyncedDatabase {
        guard let own = SyncedDatabase.behind(self) else {
            throw PowerSyncError.notSupported(operation, by: self)
        }
        return own
    }

    /// The object that all databases of this one's file in this process share.
    package var fileOwner: any Sendable { SyncedDatabase.behind(self)?.local.file ?? self }

    /// Gives a function that tells whether the database of ours behind this one is closed, without keeping it.
    ///
    /// For another database it is always `false`.
    package func closedCheck() -> @Sendable () -> Bool {
        { [weak local = SyncedDatabase.behind(self)?.local] in local?.isClosed ?? false }
    }
}
