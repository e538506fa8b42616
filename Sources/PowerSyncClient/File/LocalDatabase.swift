import GRDB
import NIOConcurrencyHelpers
import PowerSyncCore

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
    /// The file and the connections.
    let place: DatabasePlace

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
        place = DatabaseFile.join(identity: identity, source: source, schema: try? schema.get()) {
            FileConnections(source: source, logger: logger, clock: clock, initialRows: initialRows)
        }
    }

    /// The file, whose other handles share it.
    var file: DatabaseFile { place.file }
    /// The connections, which other handles of the file may share.
    var connections: FileConnections { place.connections }
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

    /// What this handle does not have in common with the file; empty for the first handle.
    var differences: Differences {
        var differences: Differences = []
        if !place.isFirst, let schema = try? ownSchema.get(), schema != file.expectedSchema {
            differences.insert(.schema)
        }
        if case .location(_, let own, _, _) = source, case .location(_, let used, _, _) = connections.source,
            own != used
        {
            differences.insert(.initialStatements)
        }
        return differences
    }

    /// What two handles of one file do not have in common.
    struct Differences: OptionSet {
        let rawValue: Int
        static let schema = Differences(rawValue: 1)
        static let initialStatements = Differences(rawValue: 2)
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
        guard !differences.contains(.initialStatements) else { throw PowerSyncError.otherInitialStatements }
        let whileDisconnected = state.withLockedValue { $0.whileDisconnected }
        let writer = try await connections.writer(of: file, applying: schema, unlessFailedSince: attempts)
        if !place.isFirst, file.schema != schema {
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
    var hasOthers: Bool { place.hasOthers }

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
        let isLast = place.leave()
        if !isLast, wasInUse, let writer = try? connections.openWriter() {
            // What the writes of other handles would go on recording.
            writer.asyncWriteWithoutTransaction { [tableDiffs, number = place.number] db in
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
