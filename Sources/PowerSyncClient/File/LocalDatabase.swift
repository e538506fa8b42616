import GRDB
import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncSQLite

/// The database on disk: its connections, opened at first use, and who hears of its changes.
///
/// ```
///            open(), under `openLock`            close()
///  unopened ──────────────────────────► open ────────────► closed
///     │  ▲ an error leaves it unopened                       ▲
///     │  └─ the next call tries again                        │
///     └──────────────────────────────────────────────────────┘
/// ```
///
/// Opening prepares the connections, brings the internal tables to the current version, and applies the schema.
final class LocalDatabase: Sendable {
    /// Where the connections come from.
    let source: ConnectionSource
    /// Receives messages.
    let logger: any LoggerProtocol
    /// Measures the throttle of watches and delays between attempts to open.
    let clock: any Clock<Duration>
    /// Tells listeners of commits.
    let changes = ChangeTracker()
    /// Hears of transactions that remove what the database knows of earlier syncs.
    let syncState: SyncStateObserver

    /// Tells commits of others from those of an app's pool; `nil` for connections of GRDB.
    let poolCommits: PoolCommits?
    /// The table diffs that are being recorded.
    let tableDiffs = TableDiffRegistry()

    /// What to apply when the database is opened, or why there is nothing.
    private let schema: Result<ClientSchema, any Error>
    /// Writes the rows that a database in memory begins with.
    private let seed: DatabaseSeed?

    private enum Connections {
        case unopened
        case open(Opened)
        case closed
    }

    private struct Opened {
        let writer: any DatabaseWriter
        /// Notices commits of other connections to the file, where that is possible.
        let externalCommits: ExternalCommits?
        /// Listens to the writes that run on connections of the app.
        let foreignWrites: Task<Void, Never>?
    }

    private struct State {
        var connections = Connections.unopened
        /// How many attempts to open have ended, and how the last one did.
        var attempts = 0
        var lastFailure: (any Error)?
        var onOpen: (@Sendable (DownloadStatus) -> Void)?
        /// What has replaced the schema that the database was opened with.
        var newSchema: ClientSchema?
        /// Closes the connections; `nil` when nobody has asked for that, and when it is done.
        var closing: Task<Void, any Error>?
        /// Whether the app's own pool is being closed, whose `close` may come back to this database.
        var isClosingPool = false
    }

    private let state = NIOLockedValueBox(State())
    /// Held while the database is opened.
    private let openLock = AsyncLock()

    /// Creates a database that will be opened at first use.
    ///
    /// - Parameters:
    ///   - source: Where its connections come from.
    ///   - schema: What to apply when it is opened.
    ///   - logger: Receives messages.
    ///   - clock: Measures throttles and delays.
    ///   - seed: Writes the rows that a database in memory begins with.
    init(
        source: ConnectionSource,
        schema: Result<ClientSchema, any Error>,
        logger: any LoggerProtocol,
        clock: any Clock<Duration> = ContinuousClock(),
        seed: DatabaseSeed? = nil
    ) {
        self.source = source
        self.logger = logger
        self.clock = clock
        self.schema = schema
        self.seed = seed
        syncState = SyncStateObserver(logger: logger)
        poolCommits = if case .pool(let pool) = source { PoolCommits(pool) } else { nil }
    }

    /// Registers what is called by each opening with what the database knows of earlier connections.
    ///
    /// The file is locked meanwhile: nobody can clear it between reading and calling.
    func onOpen(_ action: @escaping @Sendable (DownloadStatus) -> Void) {
        state.withLockedValue { $0.onOpen = action }
    }

    /// The schema in use; `nil` when it has an error that keeps the database from being opened.
    var currentSchema: ClientSchema? {
        state.withLockedValue { $0.newSchema } ?? (try? schema.get())
    }

    /// Whether ``close()`` was called.
    var isClosed: Bool {
        state.withLockedValue { state in
            if case .closed = state.connections { true } else { false }
        }
    }

    /// The connections, opened if need be.
    ///
    /// Calls during an attempt wait for it and share its failure. When the task of the attempt is cancelled, the next
    /// one in line starts over.
    ///
    /// - Throws: ``PowerSyncError``, or `CancellationError` when the task is cancelled before the database is open.
    func writer() async throws -> any DatabaseWriter {
        if let writer = try openWriter() { return writer }
        let attemptsBefore = state.withLockedValue { $0.attempts }
        return try await openLock.withLock {
            if let writer = try openWriter() { return writer }
            if let failure = state.withLockedValue({ $0.attempts > attemptsBefore ? $0.lastFailure : nil }) {
                throw failure
            }
            do {
                return try await open()
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

    /// The connections; `nil` when nobody has opened them yet.
    func openWriter() throws -> (any DatabaseWriter)? {
        switch state.withLockedValue({ $0.connections }) {
        case .unopened: return nil
        case .open(let opened): return opened.writer
        case .closed: throw PowerSyncError.databaseIsClosed
        }
    }

    private func open() async throws -> any DatabaseWriter {
        let schema = try schema.get()
        let writer = try await source.open(clock: clock, logger: logger)
        do {
            try await prepare(writer, schema)
            return writer
        } catch {
            // The file must not stay open until somebody happens to let go of the connections.
            try? await source.closeOwn(writer)
            throw error
        }
    }

    /// Makes connections those of the database.
    private func prepare(_ writer: any DatabaseWriter, _ schema: ClientSchema) async throws {
        let externalCommits = ExternalCommits(
            location: source.location(of: writer),
            pool: poolCommits,
            changes: changes,
            logger: logger,
            clock: clock
        )
        let versions = try await writeAlone(to: writer) { db in
            try db.inTransaction(.immediate) {
                try SystemTables.migrate(db)
                try schema.apply(to: db)
                // Before anybody can connect, since a connection's status must not be overwritten.
                self.state.withLockedValue { $0.onOpen }?(try DownloadStatus.offline(db))
                // With the status, which others may change as soon as the transaction has ended.
                try externalCommits?.synchronize(db)
                return .commit
            }
            // Before anybody is there to see it as a change.
            try self.seed?.write(db, logger: self.logger)
            self.changes.observe(db)
            db.add(transactionObserver: self.syncState, extent: .databaseLifetime)
            let versions = "SELECT sqlite_version() || ', PowerSync core version ' || powersync_rs_version()"
            return try String.fetchOne(db, sql: versions) ?? "unknown"
        }
        try await source.refreshReaders()
        try state.withLockedValue { state in
            if case .closed = state.connections { throw PowerSyncError.databaseIsClosed }
            state.connections = .open(
                Opened(writer: writer, externalCommits: externalCommits, foreignWrites: foreignWrites())
            )
            // Under the lock, so that the end of the database comes after it.
            externalCommits?.start(writer)
        }
        changes.announceOpening()
        logger.debug("Opened connection. SQLite version \(versions)", tag: LogTag.database)
    }

    /// Announces what is written on connections of the app, until the task is cancelled.
    private func foreignWrites() -> Task<Void, Never>? {
        guard case .pool(let pool) = source else { return nil }
        let updates = pool.tableUpdates
        return Task { [changes, poolCommits] in
            for await tables in updates {
                poolCommits?.poolDidNameTables()
                changes.announce(tables)
            }
        }
    }

    /// Another instance of this database in this process has committed.
    ///
    /// Whether that is news, SQLite knows: the instances may share their connections, or the commit has been noticed already.
    func otherInstanceDidCommit() {
        let connections = state.withLockedValue { $0.connections }
        if case .open(let opened) = connections, let externalCommits = opened.externalCommits {
            externalCommits.lookSoon()
        } else {
            changes.announceAll()
        }
    }

    /// Replaces the schema.
    ///
    /// Every observer of the database fetches again: what views read may have changed. Table diffs end.
    func apply(_ schema: ClientSchema) async throws {
        let diffs = try await writeWithoutTransaction { db in
            let diffs = try db.transaction(.immediate) { db in
                let diffs = try self.tableDiffs.drop(db)
                try schema.apply(to: db)
                try db.notifyChanges(in: .fullDatabase)
                return diffs
            }
            // Before the next writer comes.
            self.state.withLockedValue { $0.newSchema = schema }
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
    /// - Throws: ``PowerSyncError``, or what the app's pool throws.
    func close() async throws {
        let closing = state.withLockedValue { state -> Task<Void, any Error>? in
            // An app's pool may close what it belongs to when it is closed, and would wait for itself.
            if state.isClosingPool { return nil }
            if case .closed = state.connections { return state.closing }
            let closing = state.closing ?? Task { try await self.closeConnections() }
            state.closing = closing
            return closing
        }
        try await closing?.value
    }

    private func closeConnections() async throws {
        defer { state.withLockedValue { ($0.closing, $0.isClosingPool) = (nil, false) } }
        let connections = endConnections()
        // An attempt to open that has begun finds the database closed and gives its connections up.
        await openLock.withLockIgnoringCancellation {}
        do {
            if case .open(let opened) = connections {
                await opened.externalCommits?.waitForEnd()
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
            source.letGo(of: opened.writer) { [changes, syncState, tableDiffs] db in
                changes.stopObserving(db)
                db.remove(transactionObserver: syncState)
                // What a write of the app would go on recording.
                _ = try? tableDiffs.drop(db)
            }
        }
        return connections
    }
}
