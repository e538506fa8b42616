import GRDB
import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncProtocol
import PowerSyncSQLite

/// Writes the rows that a database in memory begins with, through the views, as an app would.
package typealias InitialRows = @Sendable (any Transaction) throws -> Void

/// Connections to a database file, opened at first use and observed.
///
/// ```
///            open(), under `openLock`            close()
///  unopened ──────────────────────────► open ────────────► closed
///     │  ▲ an error leaves it unopened                       ▲
///     │  └─ the next call tries again                        │
///     └──────────────────────────────────────────────────────┘
/// ```
///
/// Opening prepares the connections, brings the internal tables to the current version, and applies the schema. Handles of one file
/// share the connections that the SDK opens, and the last one closes them.
final class FileConnections: Sendable {
    /// Where the connections come from.
    let source: ConnectionSource
    /// Measures the throttle of watches and delays between attempts to open.
    let clock: any Clock<Duration>
    /// The listeners to commits.
    let changes = ChangeTracker()
    /// Tells commits of others from those of an app's pool; `nil` for connections of GRDB.
    let poolCommits: PoolCommits?
    /// The table diffs that are being recorded.
    let tableDiffs = TableDiffRegistry()

    /// Receives messages: that of the handle that has made the connections.
    private let logger: any LoggerProtocol
    /// Writes the rows that a database in memory begins with.
    private let initialRows: InitialRows?

    private enum Connections {
        case unopened
        case open(Opened)
        case closed
    }

    private struct Opened {
        let writer: any DatabaseWriter
        /// The file at the path of the source; `nil` for connections of the app and for a database in memory.
        let file: FileIdentity?
        /// Notices commits of other connections to the file, where that is possible.
        let externalCommits: ExternalCommits?
        /// Listens to the writes that run on connections of the app.
        let foreignWrites: Task<Void, Never>?
        /// Shows what other processes sync, and hears of transactions that remove what the database knows of earlier syncs.
        let statusFollower: StatusFollower
    }

    /// Whether the file that was opened is not at its path any more: it was deleted, or another one took its place.
    var hasLostItsFile: Bool {
        let connections = state.withLockedValue { $0.connections }
        guard case .open(let opened) = connections, let file = opened.file else { return false }
        return source.path.flatMap(FileIdentity.init) != file
    }

    private struct State {
        var connections = Connections.unopened
        /// How many attempts to open have failed, and how the last one did.
        var attempts = 0
        var lastFailure: (any Error)?
        /// Closes the connections; `nil` before that is asked for, and when it is done.
        var closing: Task<Void, any Error>?
        /// Whether the app's own pool is being closed, whose `close` may come back to this database.
        var isClosingPool = false
    }

    private let state = NIOLockedValueBox(State())

    /// Creates connections that will be opened at first use.
    ///
    /// - Parameters:
    ///   - source: Where they come from.
    ///   - logger: Receives messages.
    ///   - clock: Measures throttles and delays.
    ///   - initialRows: Writes the rows that a database in memory begins with.
    init(source: ConnectionSource, logger: any LoggerProtocol, clock: any Clock<Duration>, initialRows: InitialRows?) {
        self.source = source
        self.logger = logger
        self.clock = clock
        self.initialRows = initialRows
        poolCommits = if case .pool(let pool, _) = source { PoolCommits(pool) } else { nil }
    }

    /// The connections; `nil` when they are not open yet.
    ///
    /// - Throws: ``PowerSyncError`` after their end.
    func openWriter() throws -> (any DatabaseWriter)? {
        switch state.withLockedValue({ $0.connections }) {
        case .unopened: return nil
        case .open(let opened): return opened.writer
        case .closed: throw PowerSyncError.databaseIsClosed
        }
    }

    /// How many attempts to open have failed.
    var failedAttempts: Int { state.withLockedValue { $0.attempts } }

    /// The connections, opened if need be.
    ///
    /// Calls during an attempt wait for it and share its failure. When the task of the attempt is cancelled, the next
    /// one in line starts over.
    ///
    /// - Parameters:
    ///   - file: The file of the connections.
    ///   - schema: What to apply, unless the file is open through other connections.
    ///   - attempts: ``failedAttempts`` when the caller began to wait.
    /// - Returns: The connections.
    /// - Throws: ``PowerSyncError``, or `CancellationError` when the task is cancelled before the database is open.
    func writer(
        of file: DatabaseFile,
        applying schema: ClientSchema,
        unlessFailedSince attempts: Int
    ) async throws -> any DatabaseWriter {
        if let writer = try openWriter() { return writer }
        return try await file.openLock.withLock {
            if let writer = try openWriter() { return writer }
            if let failure = state.withLockedValue({ $0.attempts > attempts ? $0.lastFailure : nil }) {
                throw failure
            }
            do {
                return try await open(file, schema)
            } catch let error as CancellationError {
                throw error
            } catch {
                let error = PowerSyncError.wrapping(error)
                state.withLockedValue { state in
                    state.attempts += 1
                    state.lastFailure = error
                }
                throw error
            }
        }
    }

    private func open(_ file: DatabaseFile, _ schema: ClientSchema) async throws -> any DatabaseWriter {
        let writer = try await source.open(clock: clock, logger: logger)
        do {
            try await prepare(writer, file, schema)
            return writer
        } catch {
            source.letGo(of: writer) { [changes] db in
                changes.stopObserving(db)
            }
            // The file must not stay open until the last reference to the connections happens to go.
            try? await source.closeOwn(writer)
            throw error
        }
    }

    /// Makes connections those of the file.
    private func prepare(
        _ writer: any DatabaseWriter,
        _ file: DatabaseFile,
        _ schema: ClientSchema
    ) async throws {
        let externalCommits = ExternalCommits(
            location: source.location(of: writer),
            pool: poolCommits,
            changes: changes,
            logger: logger,
            clock: clock
        )
        let schema = file.schema ?? schema
        let statusFollower = StatusFollower(writer: writer, changes: changes, status: file.status, logger: logger)
        let versions = try await write(to: writer) { db in
            try schema.withoutForeignKeys(db) {
                try db.inTransaction(.immediate) {
                    try SystemTables.migrate(db)
                    try Seed.open(db)
                    try schema.apply(to: db)
                    file.status.fileWasOpened(try DownloadStatus.offline(db))
                    // With the status, which other processes may change as soon as the transaction has ended.
                    try externalCommits?.synchronize(db)
                    return .commit
                }
            }
            // Before there is a listener that takes it for a change.
            try self.writeInitialRows(db, kinds: ColumnKinds(schema))
            self.changes.observe(db)
            // Not longer than the follower lives, which keeps the writer.
            db.add(transactionObserver: statusFollower, extent: .observerLifetime)
            let versions = "SELECT sqlite_version() || ', PowerSync core version ' || powersync_rs_version()"
            return try String.fetchOne(db, sql: versions) ?? "unknown"
        }
        try await source.refreshReaders()
        try state.withLockedValue { state in
            if case .closed = state.connections { throw PowerSyncError.databaseIsClosed }
            state.connections = .open(
                Opened(
                    writer: writer,
                    file: source.path.flatMap(FileIdentity.init),
                    externalCommits: externalCommits,
                    foreignWrites: foreignWrites(),
                    statusFollower: statusFollower
                )
            )
            // Under the lock, so that the end of the connections comes after it.
            externalCommits?.start(writer)
            statusFollower.start(clock)
        }
        file.schema = schema
        logger.debug("Opened connection. SQLite version \(versions)", tag: LogTag.database)
    }

    /// Writes the rows that the database begins with, and takes them out of the upload queue.
    ///
    /// - Throws: What the app throws; then nothing is written.
    private func writeInitialRows(_ db: Database, kinds: ColumnKinds) throws {
        guard let initialRows else { return }
        try LocalConnection.use(db, logger: logger, kinds: kinds) { connection in
            try TransactionContext.write(on: connection) { transaction in
                try initialRows(transaction)
                // They are what the service would have sent, and nothing to wait for.
                guard let last = try UploadQueue.sequence(db) else { return }
                try UploadQueue.complete(db, through: last, writeCheckpoint: nil)
                try LocalWriteGate.setTarget(db, WriteCheckpoint(0))
            }
        }
    }

    /// Runs `body` alone on the writing connection, whether the connections are open already or not.
    func write<T>(
        to writer: any DatabaseWriter,
        _ body: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        guard let poolCommits else {
            return try await writer.uncancelledWriteWithoutTransaction { db in Transfer(try body(db)) }.value
        }
        return try await poolCommits.write(to: writer, body)
    }

    /// Announces what is written on connections of the app, until the task is cancelled.
    private func foreignWrites() -> Task<Void, Never>? {
        guard case .pool(let pool, _) = source else { return nil }
        let updates = pool.tableUpdates
        return Task { [changes, poolCommits] in
            for await tables in updates {
                poolCommits?.poolDidNameTables()
                changes.announce(tables)
            }
        }
    }

    /// Replaces the schema of the file.
    ///
    /// Every observer of the database fetches again: what views read may have changed. Table diffs end.
    ///
    /// - Parameters:
    ///   - schema: The new schema.
    ///   - writer: The connections, open.
    ///   - file: The file of the connections.
    /// - Throws: GRDB's `DatabaseError`, or ``PowerSyncError`` for a schema that cannot be applied.
    func apply(_ schema: ClientSchema, to writer: any DatabaseWriter, of file: DatabaseFile) async throws {
        let diffs = try await write(to: writer) { db in
            let diffs = try schema.withoutForeignKeys(db) {
                try db.transaction(.immediate) { db in
                    let diffs = try self.tableDiffs.drop(db)
                    try schema.apply(to: db)
                    try db.notifyChanges(in: .fullDatabase)
                    return diffs
                }
            }
            // Before the next writer comes.
            file.schema = schema
            return diffs
        }
        try await source.refreshReaders()
        changes.announceAll()
        diffs.forEach { $0.schemaWasReplaced() }
    }

    /// Ends observation, waits for running callbacks and closes the connections, the app's included.
    ///
    /// Idempotent: a later call waits for the same end, and both go on when their tasks are cancelled. Callbacks that still wait
    /// for a connection throw. While a pool of the app that is not GRDB's is being closed, a call returns at once: it may come from
    /// that pool.
    ///
    /// - Parameter file: The file of the connections.
    /// - Throws: ``PowerSyncError``, or what the app's pool throws.
    func close(_ file: DatabaseFile) async throws {
        let closing = state.withLockedValue { state -> Task<Void, any Error>? in
            // An app's pool may close what it belongs to when it is closed, and would wait for itself.
            if state.isClosingPool { return nil }
            if case .closed = state.connections { return state.closing }
            let closing = state.closing ?? Task { try await self.closeConnections(file) }
            state.closing = closing
            return closing
        }
        try await closing?.value
    }

    private func closeConnections(_ file: DatabaseFile) async throws {
        defer { state.withLockedValue { ($0.closing, $0.isClosingPool) = (nil, false) } }
        let connections = endConnections()
        // An attempt to open that has begun finds the connections closed and gives its connections up.
        await file.openLock.withLockIgnoringCancellation {}
        do {
            if case .open(let opened) = connections {
                // It hears of resets until the connections are closed, which hold it weakly.
                defer { withExtendedLifetime(opened.statusFollower) {} }
                await opened.externalCommits?.waitForEnd()
                await opened.statusFollower.waitForEnd()
                try await source.closeOwn(opened.writer)
            }
            if case .pool = source { state.withLockedValue { $0.isClosingPool = true } }
            try await source.closeForeign()
        } catch {
            throw PowerSyncError.wrapping(error)
        }
    }

    /// Ends observation and refuses further calls.
    ///
    /// Connections of ours close when their last callback has returned.
    func end() {
        _ = endConnections()
    }

    /// Does the work of ``end()``.
    ///
    /// - Returns: What the connections were.
    private func endConnections() -> Connections {
        let connections = state.withLockedValue { state in
            defer { state.connections = .closed }
            return state.connections
        }
        changes.finish()
        if case .open(let opened) = connections {
            opened.externalCommits?.cancel()
            opened.foreignWrites?.cancel()
            opened.statusFollower.cancel()
            source.letGo(of: opened.writer) { [changes, tableDiffs, statusFollower = opened.statusFollower] db in
                changes.stopObserving(db)
                // Until then it hears of resets, and no longer: another handle's is next to hear.
                db.remove(transactionObserver: statusFollower)
                // What a write of the app would go on recording.
                _ = try? tableDiffs.drop(db)
            }
        }
        return connections
    }
}
