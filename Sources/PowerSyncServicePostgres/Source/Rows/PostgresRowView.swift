import PowerSyncSyncConfig
import PowerSyncServiceCore

/// Rows by their keys, as one snapshot of the database shows them.
///
/// It is a transaction on a connection of its own, and serves the updates of all transactions that its snapshot has seen: with a
/// newer state for each of them, no checkpoint could be made for as long as such updates go on.
struct PostgresRowView: RowView {
    /// For how long one state is shown at most, and a connection kept without one.
    ///
    /// Until then the tables cannot be altered, and the server cleans nothing up. A stream that needs longer to pass a state is far
    /// behind, and its clients are shown nothing before it has caught up.
    private static let lifetime = Duration.seconds(10)
    /// How long a server may need to show a transaction whose commit is in its log: it may wait for a standby.
    private static let patience = Duration.seconds(30)
    private static let activity = "reading rows by their keys"

    /// What the connection shows.
    private struct State: Sendable {
        var snapshot: TransactionSnapshot
        /// Where everything that it shows is in the log.
        var position: SourcePosition
        var age: Stopwatch
        /// The tables that are locked, with what makes their rows.
        var tables: [SourceTableDescriptor: (table: PostgresTable, decoder: RowDecoder)] = [:]
    }

    /// It keeps the view, and is kept by whoever uses it.
    private unowned let source: PostgresSource
    private let connection: PostgresConnection
    private var state: State?
    /// Since it was opened, or shows nothing.
    private var idle: Stopwatch

    /// Opens a connection.
    init(of source: PostgresSource) async throws {
        self.source = source
        idle = Stopwatch(source.clock)
        connection = try await PostgresConnection.open(
            source.settings.connection,
            settings: [("lock_timeout", PostgresSource.lockTimeout)]
        )
    }

    /// Whether it is to be closed when it is idle.
    var isOld: Bool { (state?.age ?? idle).elapsed >= Self.lifetime }

    /// Closes the connection.
    func close() {
        connection.close()
    }

    /// Ends the state, and keeps the connection.
    ///
    /// - Throws: ``PostgresError``, or `CancellationError`.
    mutating func release() async throws {
        guard state != nil else { return }
        state = nil
        idle.restart()
        try await connection.execute("COMMIT", activity: Self.activity)
    }

    /// Reads rows.
    ///
    /// - Parameters:
    ///   - table: Their table.
    ///   - keys: Their keys.
    ///   - transactions: What must be shown; none for everything that is visible now.
    /// - Returns: The rows.
    /// - Throws: ``ReplicationSourceError`` when the table is another one, ``PostgresError``, or `CancellationError`.
    mutating func rows(
        of table: SourceTableDescriptor,
        keys: [[SQLValue]],
        showing transactions: [TransactionID]
    ) async throws -> PresentRows {
        var state = try await stateShowing(transactions)
        let found: (table: PostgresTable, decoder: RowDecoder)
        if let known = state.tables[table] {
            found = known
        } else {
            let described = try await source.lock(table, connection, Self.activity)
            found = (described, try await source.decoder(described, table, connection))
            state.tables[table] = found
            self.state = state
        }
        do {
            let (rows, isComplete) = try await source.find(
                keys,
                of: found.table,
                found.decoder,
                connection,
                Self.activity
            )
            return PresentRows(rows, isComplete: isComplete, at: state.position)
        } catch let error as PostgresError where error.sqlState == PostgresError.SQLState.undefinedColumn {
            // It was altered between the snapshot, which the catalogue is read in, and the lock.
            throw source.outdated(table)
        }
    }

    /// Whether rows for some transactions are read of the state that there is.
    func shows(_ transactions: [TransactionID]) -> Bool {
        guard let state, !isOld else { return false }
        return state.snapshot.seesAll(transactions)
    }

    private mutating func stateShowing(_ transactions: [TransactionID]) async throws -> State {
        if let state, !transactions.isEmpty, shows(transactions) { return state }
        let waiting = Stopwatch(source.clock)
        while true {
            let state = try await begin()
            if state.snapshot.seesAll(transactions) { return state }
            guard waiting.elapsed < Self.patience else {
                throw PostgresError(
                    .timeout,
                    "A transaction that is in the log is not visible after \(Self.patience): does a standby not answer?",
                    activity: Self.activity
                )
            }
            try await source.clock.sleep(for: .milliseconds(10))
        }
    }

    /// Ends the state, and begins with what is visible now.
    private mutating func begin() async throws -> State {
        try await release()
        try await connection.beginReading(Self.activity)
        let rows = try await connection.query("SELECT pg_current_snapshot()", activity: Self.activity)
        guard let snapshot = rows.first?.first.flatMap({ $0.flatMap { TransactionSnapshot($0) } }) else {
            throw PostgresCatalogError(query: "snapshot", row: 0, column: "pg_current_snapshot")
        }
        // After the snapshot: everything that it shows was in the log before.
        let begun = State(
            snapshot: snapshot,
            position: try await source.position(connection),
            age: Stopwatch(source.clock)
        )
        state = begun
        return begun
    }
}

extension TransactionSnapshot {
    /// Whether everything of some transactions is visible.
    fileprivate func seesAll(_ transactions: [TransactionID]) -> Bool { transactions.allSatisfy { sees($0) } }
}
