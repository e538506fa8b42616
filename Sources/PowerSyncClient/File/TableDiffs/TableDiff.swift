import GRDB
import NIOConcurrencyHelpers
import PowerSyncCore

/// The changes to a view, recorded as they are made, until ``stop()``.
///
/// Made by ``PowerSyncDatabaseProtocol/withTableDiff(of:options:_:)`` or
/// ``PowerSyncDatabaseProtocol/trackTableDiff(of:options:)``. Dropping the last reference ends it like ``stop()``, except
/// that there is no waiter.
public final class TableDiff: Sendable {
    /// ```
    ///          run()                       stop(), updateSchema
    ///  idle ◄─────────► running ──┬──────────────────► stopped, schemaWasReplaced
    ///    └────────────────────────┘
    /// ```
    private enum State {
        case idle
        /// Finishing the listener ends the run.
        case running(ChangeListener)
        case stopped
        case schemaWasReplaced
    }

    /// Tells it apart from other diffs of its database.
    let number: Int
    let recording: TableDiffRecording
    private let database: LocalDatabase
    private let throttle: Duration
    private let state = NIOLockedValueBox(State.idle)

    private init(number: Int, _ recording: TableDiffRecording, on database: LocalDatabase, throttle: Duration) {
        self.number = number
        self.recording = recording
        self.database = database
        self.throttle = throttle
    }

    /// Begins to record.
    ///
    /// - Throws: ``PowerSyncError``, or what the hook of the options throws.
    static func start(
        of view: String,
        _ options: TableDiffOptions,
        on database: LocalDatabase
    ) async throws -> TableDiff {
        try await database.writeLock { context in
            let number = database.tableDiffs.nextNumber()
            let recording = TableDiffRecording(
                try TableDiffDefinition(of: view, options, in: database.currentSchema),
                number: number
            )
            try TransactionContext.write(on: context) { transaction in
                try options.beforeCreate?(transaction)
                let db = try LocalConnection.database(of: transaction)
                do {
                    try recording.create(db)
                } catch let problem as TableDiffDefinition.Problem {
                    throw PowerSyncError(problem, view: view)
                } catch {
                    throw PowerSyncError.wrapping(error)
                }
            }
            let diff = TableDiff(
                number: number,
                recording,
                on: database,
                throttle: Duration(clampingSeconds: options.throttle)
            )
            database.tableDiffs.add(diff, of: database.number)
            return diff
        }
    }

    deinit {
        guard case .idle = state.withLockedValue({ $0 }), let writer = try? database.openWriter() else { return }
        writer.asyncWriteWithoutTransaction { [number, recording, registry = database.tableDiffs] db in
            guard (try? recording.drop(db)) != nil else { return }
            registry.remove(number)
        }
    }

    /// Hands recorded changes over, until ``stop()`` is called or the database is closed.
    ///
    /// The handler runs on the writer's thread, in a transaction of its own: first with what was recorded before this
    /// call, then whenever something was recorded, after the throttle of the options. It never runs without changes. What
    /// it was given is forgotten when its transaction is committed. When it throws, the transaction is rolled back, the
    /// error is logged, and the changes come again with the next one.
    ///
    /// What the handler itself changes in the view is recorded too, and handed over next.
    ///
    /// Only one run is possible at a time. After a run was cancelled there may be another one.
    ///
    /// - Parameter handler: Handles changes.
    /// - Throws: `CancellationError`; ``PowerSyncError/operationFailed(message:underlyingError:)`` when the schema was
    ///   replaced, or while another run is going on.
    public func run(_ handler: @Sendable @escaping (TableDiffTransaction) throws -> Void) async throws {
        let throttle = Throttle(throttle, clock: database.clock)
        let listener = ChangeListener(onFinish: { throttle.end() })
        guard try begin(listener) else { return }
        defer { end(listener) }
        let table = recording.definition.table.internalName.lowercased()
        database.addListener(listener, interest: .tables([table]))
        defer { database.changes.remove(listener) }

        var signals = listener.signals.makeAsyncIterator()
        repeat {
            try await deliver(handler)
            guard await signals.next() != nil else { break }
            try await throttle.wait()
        } while isRunning
        try Task.checkCancellation()
        if case .schemaWasReplaced = state.withLockedValue({ $0 }) {
            throw PowerSyncError.schemaReplaced(diffOf: view)
        }
    }

    /// Ends recording and forgets what was not handed over.
    ///
    /// Waits for a handler at work; a run returns. Idempotent.
    ///
    /// - Throws: ``PowerSyncError`` when SQLite fails.
    public func stop() async throws {
        guard end(.stopped) else { return }
        guard let writer = try? database.openWriter() else { return }
        // Must happen in a cancelled task as well.
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            writer.asyncWriteWithoutTransaction { [number, recording, database] db in
                // The objects are gone, with the connection or without it.
                guard !database.isClosed else { return continuation.resume() }
                continuation.resume(
                    with: Result {
                        try PowerSyncError.wrappingErrors { try recording.drop(db) }
                        database.tableDiffs.remove(number)
                    }
                )
            }
        }
    }

    /// The schema was replaced, and the recording dropped.
    func schemaWasReplaced() {
        database.tableDiffs.remove(number)
        guard end(.schemaWasReplaced) else { return }
        database.logger.warning(
            "A table diff of '\(view)' ended, because the schema was replaced. Track the view again if it is needed.",
            tag: LogTag.database
        )
    }

    // MARK: - State

    private var view: String { recording.definition.table.viewName }

    private var isRunning: Bool {
        if database.isClosed { return false }
        return state.withLockedValue { state in
            if case .running = state { true } else { false }
        }
    }

    /// - Returns: Whether there is something to run.
    private func begin(_ listener: ChangeListener) throws -> Bool {
        try state.withLockedValue { state in
            switch state {
            case .idle:
                state = .running(listener)
                return true
            case .running:
                throw PowerSyncError.alreadyRunning(diffOf: view)
            case .stopped:
                return false
            case .schemaWasReplaced:
                throw PowerSyncError.schemaReplaced(diffOf: view)
            }
        }
    }

    private func end(_ listener: ChangeListener) {
        state.withLockedValue { state in
            if case .running(let current) = state, current === listener { state = .idle }
        }
    }

    /// - Returns: Whether it had not ended before.
    private func end(_ ending: State) -> Bool {
        let (isFirst, listener) = state.withLockedValue { state -> (Bool, ChangeListener?) in
            switch state {
            case .stopped, .schemaWasReplaced: return (false, nil)
            case .idle:
                state = ending
                return (true, nil)
            case .running(let listener):
                state = ending
                return (true, listener)
            }
        }
        listener?.finish()
        return isFirst
    }

    // MARK: - Handing over

    private func deliver(_ handler: @Sendable @escaping (TableDiffTransaction) throws -> Void) async throws {
        do {
            try await database.writeLock { [self] context in
                let db = try LocalConnection.database(of: context)
                guard isRunning, let last = try recording.lastOperationID(db) else { return }
                try TransactionContext.write(on: context) { transaction in
                    let handed = TableDiffTransaction(
                        transaction,
                        stored: recording.storedChanges(through: last),
                        extracted: recording.extractedChanges(through: last)
                    )
                    try handler(handed)
                    try recording.remove(db, through: last)
                }
            }
        } catch {
            try Task.checkCancellation()
            guard isRunning else { return }
            database.logger.error(
                "Handling the table diff of '\(view)' failed. It will be tried again with the next change: \(error.lineOfText)",
                tag: LogTag.database
            )
        }
    }
}
