import Dispatch
import GRDB
import PowerSyncCore
import Synchronization

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
    /// Where the database is, or why that is unknown.
    let location: Result<DatabaseLocation, any Error>
    /// Receives messages.
    let logger: any LoggerProtocol
    /// Measures the throttle of watches and delays between attempts to open.
    let clock: any Clock<Duration>
    /// Who hears of commits.
    let changes = ChangeHub()
    /// Hears of transactions that remove what the database knows of earlier syncs.
    let syncState: SyncStateObserver

    /// What to apply when the database is opened, or why there is nothing.
    private let schema: Result<ClientSchema, any Error>
    private let initialStatements: [String]

    private enum Connections {
        case unopened
        case open(any DatabaseWriter)
        case closed
    }

    private struct State {
        var connections = Connections.unopened
        /// How many attempts to open have ended, and how the last one did.
        var attempts = 0
        var lastFailure: (any Error)?
        var onOpen: (@Sendable (DownloadStatus) -> Void)?
    }

    private let state = Mutex(State())
    /// Held while the database is opened.
    private let openLock = AsyncLock()

    /// Creates a database that will be opened at first use.
    ///
    /// - Parameters:
    ///   - location: Where it is.
    ///   - schema: What to apply when it is opened.
    ///   - initialStatements: What runs first on every connection.
    ///   - logger: Receives messages.
    ///   - clock: Measures throttles and delays.
    init(
        location: Result<DatabaseLocation, any Error>,
        schema: Result<ClientSchema, any Error>,
        initialStatements: [String] = [],
        logger: any LoggerProtocol,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.location = location
        self.initialStatements = initialStatements
        self.logger = logger
        self.clock = clock
        self.schema = schema
        syncState = SyncStateObserver(logger: logger)
    }

    /// Registers what is called by each opening with what the database knows of earlier connections.
    ///
    /// The file is locked meanwhile: nobody can clear it between reading and calling.
    func onOpen(_ action: @escaping @Sendable (DownloadStatus) -> Void) {
        state.withLock { $0.onOpen = action }
    }

    /// Whether ``close()`` was called.
    var isClosed: Bool {
        state.withLock { state in
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
        let attemptsBefore = state.withLock { $0.attempts }
        return try await openLock.withLock {
            if let writer = try openWriter() { return writer }
            if let failure = state.withLock({ $0.attempts > attemptsBefore ? $0.lastFailure : nil }) { throw failure }
            do {
                return try await open()
            } catch let error as CancellationError {
                throw error
            } catch {
                let error = PowerSyncError.wrapping(error)
                state.withLock { state in
                    state.attempts += 1
                    state.lastFailure = error
                }
                throw error
            }
        }
    }

    private func openWriter() throws -> (any DatabaseWriter)? {
        switch state.withLock({ $0.connections }) {
        case .unopened: return nil
        case .open(let writer): return writer
        case .closed: throw PowerSyncError.databaseIsClosed
        }
    }

    private func open() async throws -> any DatabaseWriter {
        let opener = ConnectionOpener(
            location: try location.get(),
            initialStatements: initialStatements,
            clock: clock
        )
        let schema = try schema.get()
        let writer = try await opener.open()
        let versions = try await DatabaseAccess.write(to: writer) { db in
            db.add(transactionObserver: self.changes.commitObserver, extent: .databaseLifetime)
            db.add(transactionObserver: self.syncState, extent: .databaseLifetime)
            try db.inTransaction(.immediate) {
                try SystemTables.migrate(db)
                try schema.apply(to: db)
                // Before anybody can connect, since a connection's status must not be overwritten.
                self.state.withLock { $0.onOpen }?(try DownloadStatus.offline(db))
                return .commit
            }
            let versions = "SELECT sqlite_version() || ', PowerSync core version ' || powersync_rs_version()"
            return try String.fetchOne(db, sql: versions) ?? "unknown"
        }
        let isClosed = state.withLock { state in
            if case .closed = state.connections { return true }
            state.connections = .open(writer)
            return false
        }
        guard !isClosed else {
            try? await LocalDatabase.close(writer)
            throw PowerSyncError.databaseIsClosed
        }
        logger.debug("Opened connection. SQLite version \(versions)", tag: LogTag.database)
        return writer
    }

    /// Replaces the schema.
    ///
    /// Every observer of the database fetches again: what views read may have changed.
    func apply(_ schema: ClientSchema) async throws {
        try await write { db in
            try schema.apply(to: db)
            try db.notifyChanges(in: .fullDatabase)
        }
        changes.announceAll()
    }

    /// Ends observation, waits for running callbacks and closes the connections.
    ///
    /// Idempotent. Callbacks that still wait for a connection throw.
    func close() async throws {
        let writer = end()
        // An attempt to open that has begun finds the database closed and gives its connections up.
        await openLock.withLockIgnoringCancellation {}
        if let writer { try await LocalDatabase.close(writer) }
    }

    /// Ends observation and refuses further calls.
    ///
    /// Connections close when their last callback has returned.
    ///
    /// - Returns: The connections, if they are open.
    @discardableResult
    func end() -> (any DatabaseWriter)? {
        let writer: (any DatabaseWriter)? = state.withLock { state in
            defer { state.connections = .closed }
            guard case .open(let writer) = state.connections else { return nil }
            return writer
        }
        changes.finish()
        return writer
    }

    /// GRDB waits for running accesses, on a thread of its own here.
    private static func close(_ writer: any DatabaseWriter) async throws {
        do {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                DispatchQueue.global().async {
                    continuation.resume(with: Result { try writer.close() })
                }
            }
        } catch {
            throw PowerSyncError.wrapping(error)
        }
    }
}
