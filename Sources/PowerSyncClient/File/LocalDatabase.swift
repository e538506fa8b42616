import GRDB
import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncSQLite

/// A handle of a database file: its own logger, schema and end, over connections that it shares with other handles of the file.
///
/// ```
///            first use, under `useLock`        end()
///  unused ──────────────────────────► in use ─────────► ended
///     │  ▲ an error leaves it unused                      ▲
///     │  └─ the next call tries again                     │
///     └───────────────────────────────────────────────────┘
/// ```
///
/// The first use opens the connections if they are not open. When they are open and the file has another schema than the handle, the
/// schema of the handle replaces it, unless the handle is the file's first one.
final class LocalDatabase: Sendable {
    /// Receives messages.
    let logger: any LoggerProtocol
    /// The file, whose other handles share it.
    let file: DatabaseFile
    /// The connections, which other handles of the file may share.
    let connections: FileConnections
    /// Tells the handle apart from others of the file.
    let number: Int
    /// Whether the file had no handle before.
    let isFirst: Bool

    private let source: ConnectionSource
    /// The schema of this handle, or why there is none.
    private let ownSchema: Result<ClientSchema, any Error>

    /// Does something while the file is not connected; see ``whileDisconnected(_:)``.
    typealias Disconnected = @Sendable (_ body: @Sendable () async throws -> Void) async throws -> Void

    private enum Use {
        case unused
        case inUse(any DatabaseWriter)
        case ended
    }

    private struct State {
        var use = Use.unused
        /// How many callbacks of this handle have a connection.
        var running = 0
        /// Wait until no callback of this handle has a connection.
        var idle: [CheckedContinuation<Void, Never>] = []
        var listeners: [WeakReference<ChangeListener>] = []
        var whileDisconnected: Disconnected?
    }

    private let state = NIOLockedValueBox(State())
    /// Held during the first use.
    private let useLock = AsyncLock()

    /// Creates a handle that will open its file at first use.
    ///
    /// - Parameters:
    ///   - source: Where its connections come from.
    ///   - schema: The tables of the app.
    ///   - logger: Receives messages.
    ///   - clock: Measures throttles and delays.
    ///   - initialRows: Writes the rows that a database in memory begins with.
    ///   - identity: Equal for handles of one file; `nil` for a database that cannot be shared.
    init(
        source: ConnectionSource,
        schema: Result<ClientSchema, any Error>,
        logger: any LoggerProtocol,
        clock: any Clock<Duration> = ContinuousClock(),
        initialRows: InitialRows? = nil,
        identity: String? = nil
    ) {
        self.source = source
        self.logger = logger
        ownSchema = schema
        (file, connections, number, isFirst) = DatabaseFile.join(
            identity: identity,
            source: source,
            schema: try? schema.get()
        ) {
            FileConnections(source: source, logger: logger, clock: clock, initialRows: initialRows)
        }
    }

    /// Measures the throttle of watches and delays between attempts to open.
    var clock: any Clock<Duration> { connections.clock }
    /// The listeners to commits.
    var changes: ChangeTracker { connections.changes }
    /// The table diffs that are being recorded.
    var tableDiffs: TableDiffRegistry { connections.tableDiffs }

    /// Registers what a first use calls to replace the schema of the file, which is possible only while the file is not connected.
    func whileDisconnected(_ perform: @escaping Disconnected) {
        state.withLockedValue { $0.whileDisconnected = perform }
    }

    /// The schema in use; `nil` when it has an error that keeps the database from being opened.
    var currentSchema: ClientSchema? {
        file.schema ?? (try? ownSchema.get())
    }

    /// The kinds of the columns of the schema in use.
    var kinds: ColumnKinds {
        file.kinds ?? ColumnKinds(try? ownSchema.get())
    }

    /// Whether the schema of this handle is not that of the file; never for the first handle.
    var hasOtherSchema: Bool {
        guard !isFirst, let schema = try? ownSchema.get() else { return false }
        return schema != file.expectedSchema
    }

    /// Whether the initial statements of this handle are not those of the connections.
    var hasOtherInitialStatements: Bool {
        guard case .location(_, let own, _, _) = source, case .location(_, let used, _, _) = connections.source else {
            return false
        }
        return own != used
    }

    /// Whether the handle has ended.
    var isClosed: Bool {
        state.withLockedValue { state in
            if case .ended = state.use { true } else { false }
        }
    }

    // MARK: - First use

    /// The connections, opened if need be.
    ///
    /// Calls during a first use wait for it; those that have waited for connections which could not be opened share the error.
    ///
    /// - Throws: ``PowerSyncError``, or `CancellationError` when the task is cancelled before the database is open.
    func writer() async throws -> any DatabaseWriter {
        if let writer = try openWriter() { return writer }
        let attempts = connections.failedAttempts
        return try await useLock.withLock {
            if let writer = try openWriter() { return writer }
            return try await begin(unlessFailedSince: attempts)
        }
    }

    /// The connections; `nil` before the first use.
    func openWriter() throws -> (any DatabaseWriter)? {
        switch state.withLockedValue({ $0.use }) {
        case .unused: return nil
        case .inUse(let writer): return writer
        case .ended: throw PowerSyncError.databaseIsClosed
        }
    }

    private func begin(unlessFailedSince attempts: Int) async throws -> any DatabaseWriter {
        let schema: ClientSchema
        do {
            schema = try ownSchema.get()
        } catch {
            throw PowerSyncError.wrapping(error)
        }
        guard !hasOtherInitialStatements else { throw PowerSyncError.otherInitialStatements }
        let whileDisconnected = state.withLockedValue { $0.whileDisconnected }
        let writer = try await connections.writer(of: file, applying: schema, unlessFailedSince: attempts)
        if !isFirst, file.schema != schema {
            let replace: @Sendable () async throws -> Void = { [connections, file] in
                try await connections.apply(schema, to: writer, of: file)
            }
            try await wrappingErrors {
                if let whileDisconnected { try await whileDisconnected(replace) } else { try await replace() }
            }
        }
        try state.withLockedValue { state in
            if case .ended = state.use { throw PowerSyncError.databaseIsClosed }
            state.use = .inUse(writer)
        }
        changes.announceOpening()
        return writer
    }

    /// Replaces the schema, for all handles of the file.
    func apply(_ schema: ClientSchema) async throws {
        let writer = try await writer()
        try await wrappingErrors { try await connections.apply(schema, to: writer, of: file) }
    }

    // MARK: - Callbacks

    /// Runs a callback that has got a connection, unless the handle has ended while it waited.
    func using<T>(_ body: () throws -> T) throws -> T {
        try state.withLockedValue { state in
            if case .ended = state.use { throw PowerSyncError.databaseIsClosed }
            state.running += 1
        }
        defer {
            let waiters = state.withLockedValue { state -> [CheckedContinuation<Void, Never>] in
                state.running -= 1
                guard state.running == 0, !state.idle.isEmpty else { return [] }
                defer { state.idle = [] }
                return state.idle
            }
            waiters.forEach { $0.resume() }
        }
        return try body()
    }

    // MARK: - Listeners

    /// Adds a listener, which is told of every interesting commit from now on.
    ///
    /// It is finished when the handle ends. Remove it from ``changes``.
    func addListener(_ listener: ChangeListener, interest: ChangeListener.Interest? = nil) {
        let isEnded = state.withLockedValue { state in
            if case .ended = state.use { return true }
            // Those that are gone are looked for when the array would grow: once for each doubling.
            if state.listeners.count == state.listeners.capacity {
                state.listeners.removeAll { $0.object == nil }
                state.listeners.reserveCapacity(2 * state.listeners.count + 8)
            }
            state.listeners.append(WeakReference(listener))
            return false
        }
        if isEnded { return listener.finish() }
        changes.add(listener, interest: interest)
        // Connections that are not open have no prepared statements.
        guard let writer = try? connections.openWriter() else { return }
        writer.asyncWriteWithoutTransaction { [changes] db in
            changes.confirmListeners(db)
        }
    }

    // MARK: - End

    /// Whether the file has other handles now.
    var hasOthers: Bool { file.hasHandles(besides: number) }

    /// Ends the handle and waits for its callbacks.
    ///
    /// The last handle of the connections closes them, the app's included.
    ///
    /// Idempotent: a later call waits for the same end, and both go on when their tasks are cancelled. Callbacks that still wait
    /// for a connection throw. While a pool of the app that is not GRDB's is being closed, a call returns at once: it may come from
    /// that pool.
    ///
    /// - Throws: ``PowerSyncError``, or what the app's pool throws.
    func close() async throws {
        guard endHandle() else { return await waitUntilIdle() }
        try await connections.close(file)
    }

    /// Ends the handle without waiting.
    ///
    /// Connections of ours close when the last callback of their last handle has returned.
    func end() {
        if endHandle() { connections.end() }
    }

    /// - Returns: Whether the connections have no handle any more.
    private func endHandle() -> Bool {
        let (wasInUse, listeners) = state.withLockedValue { state -> (Bool, [ChangeListener]) in
            let wasInUse = if case .inUse = state.use { true } else { false }
            let listeners = state.listeners.compactMap(\.object)
            state.use = .ended
            (state.listeners, state.whileDisconnected) = ([], nil)
            return (wasInUse, listeners)
        }
        for listener in listeners {
            changes.remove(listener)
            listener.finish()
        }
        let isLast = file.remove(number, connections)
        if !isLast, wasInUse, let writer = try? connections.openWriter() {
            // What the writes of other handles would go on recording.
            writer.asyncWriteWithoutTransaction { [tableDiffs, number] db in
                _ = try? tableDiffs.drop(db, of: number)
            }
        }
        return isLast
    }

    private func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLockedValue { state in
                if state.running > 0 { state.idle.append(continuation) }
                return state.running == 0
            }
            if isIdle { continuation.resume() }
        }
    }
}

// Accesses of the SDK itself. SQLite errors come out as `PowerSyncError`, everything else as it was thrown.
extension LocalDatabase {
    /// Runs `body` in a transaction on the writing connection.
    ///
    /// The transaction is rolled back when `body` throws.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before `body` begins.
    func write<T>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
        try await writeWithoutTransaction { db in
            try db.transaction(.immediate, body)
        }
    }

    /// As ``write(_:)``, and copies what was written from the log to the file in a turn of its own.
    ///
    /// Writes of the app that have waited for a large transaction do not wait for its copy, too. Returns when it was made, so
    /// that the next transaction is behind the waiters for the copy.
    func writeMuch<T>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
        // A copy beside a pool of the app would compete with its writer.
        guard connections.poolCommits == nil else { return try await write(body) }
        let writer = try await writer()
        let isCopyDue = NIOLockedValueBox(false)
        let result = try await write { db in
            try WriteAheadLog.postponeCopy(db) { isCopyDue.withLockedValue { $0 = true } }
            return try body(db)
        }
        if isCopyDue.withLockedValue({ $0 }) { await Self.copyLog(writer) }
        return result
    }

    /// Also for a task that was cancelled or a database that was closed: until then no commit of the app's pool copies anything.
    private static func copyLog(_ writer: any DatabaseWriter) async {
        await withCheckedContinuation { continuation in
            writer.asyncWriteWithoutTransaction { db in
                WriteAheadLog.copy(db)
                continuation.resume()
            }
        }
    }

    /// Runs `body` alone on the writing connection.
    func writeWithoutTransaction<T>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
        let writer = try await writer()
        return try await wrappingErrors {
            try await connections.write(to: writer) { db in try self.using { try body(db) } }
        }
    }

    /// Runs `body` on a reading connection; each statement sees the newest committed state.
    func read<T>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
        let writer = try await writer()
        return try await wrappingErrors {
            try await writer.uncancelledReadWithoutTransaction { db in Transfer(try self.using { try body(db) }) }.value
        }
    }

    /// Runs `body` on a reading connection, on one state of the database.
    func readTransaction<T>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
        try await read { db in
            try db.transaction(.deferred, body)
        }
    }

    func wrappingErrors<T>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await AppCall.whileWorking(body)
        } catch {
            throw PowerSyncError.wrapping(error)
        }
    }
}

// Accesses of the app. What callbacks throw comes out unchanged.
extension LocalDatabase {
    /// Runs a callback alone on the writing connection, outside a transaction.
    func writeLock<R>(_ callback: @escaping @Sendable (any ConnectionContext) throws -> R) async throws -> R {
        let writer = try await writer()
        return try await AppCall.whileWorking {
            if case .pool(let pool, _) = connections.source {
                return try await pool.writeUnlessCancelled { [logger] lease in
                    Transfer(
                        try self.using {
                            try LeasedConnection.use(lease, logger: logger, kinds: self.kinds, callback)
                        }
                    )
                }.value
            }
            return try await writer.uncancelledWriteWithoutTransaction { [logger] db in
                Transfer(try self.using { try LocalConnection.use(db, logger: logger, kinds: self.kinds, callback) })
            }.value
        }
    }

    /// Runs a callback on a reading connection, outside a transaction.
    func readLock<R>(_ callback: @escaping @Sendable (any ConnectionContext) throws -> R) async throws -> R {
        if case .pool(let pool, _) = connections.source {
            _ = try await writer()
            return try await AppCall.whileWorking {
                try await pool.read { [logger] lease in
                    Transfer(
                        try self.using {
                            try LeasedConnection.use(lease, logger: logger, kinds: self.kinds, callback)
                        }
                    )
                }.value
            }
        }
        return try await observingReadLock(callback)
    }

    /// Runs a callback on a reading connection of GRDB, which knows what statements read.
    func observingReadLock<R>(_ callback: @escaping @Sendable (any ConnectionContext) throws -> R) async throws -> R {
        let writer = try await writer()
        // A connection that cannot be opened is an error of ours, and what the callback throws stays as it is.
        return try await wrappingErrors {
            try await writer.uncancelledReadWithoutTransaction { [logger] db in
                Transfer(
                    Result {
                        try self.using {
                            try LocalConnection.use(db, logger: logger, kinds: self.kinds, callback)
                        }
                    }
                )
            }
        }.value.get()
    }
}

extension LocalDatabase {
    /// The names of the tables in SQLite, in lower case, whose changes are changes of a view.
    ///
    /// A name that the schema does not know may be that of a table of the app.
    func tableNames(of view: String) -> Set<String> {
        let view = view.lowercased()
        let names = Set([true, false].map { DataTable(name: view, isLocalOnly: $0).internalName })
        let tables = (currentSchema?.tables ?? []).filter { $0.viewName.lowercased() == view }
        // A view of ours has no rows of its own.
        return names.union(tables.isEmpty ? [view] : tables.map { $0.internalName.lowercased() })
    }
}
