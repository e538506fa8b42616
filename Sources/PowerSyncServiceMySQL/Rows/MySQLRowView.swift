import MySQLBinlog
import NIOCore
import PowerSyncMySQLConnection
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// Rows by their keys, as one snapshot of the database shows them.
///
/// It is a transaction on a connection of its own, and serves the updates of all transactions of the log that its snapshot shows: with a
/// newer state for each of them, no checkpoint could be made for as long as such updates go on.
///
/// ```
///             everything before `lower` is shown    nothing after `upper` is shown
/// MySQL       the visible head before it began      the head after it began
/// MariaDB     the position of the snapshot          the same
/// ```
///
/// Tables without transactions are shown as they are: `upper` is then the head after the rows were read.
struct MySQLRowView: RowView {
    /// For how long one state is shown at most, and a connection kept without one.
    ///
    /// Until then the tables cannot be altered, whoever wants to use a table that is being altered waits, too, and the server cleans
    /// nothing up.
    private static let lifetime = Duration.seconds(10)
    /// How many keys a query has.
    private static let keysPerQuery = 100
    /// How many keys a query has that reads all rows of a table.
    private static let keysPerScan = 500
    /// How long the server may take from one row to the next of a query that reads all rows of a table: 10 minutes.
    private static let scanTimeout = Duration.seconds(600)

    /// What the connection shows.
    private struct State: Sendable {
        var lower: LogPosition
        var upper: SourcePosition
        var age: Stopwatch
        /// The tables that are locked, with what makes their rows.
        var tables: [SourceTableDescriptor: MySQLRowForm] = [:]

        func shows(_ moments: [LogMoment]) -> Bool { moments.allSatisfy { $0.isBefore(lower) } }
    }

    /// It keeps the view, and is kept by whoever uses it.
    private unowned let source: MySQLSource
    private let connection: MySQLConnection
    private var state: State?
    /// Since it was opened, or shows nothing.
    private var idle: Stopwatch

    /// Opens a connection.
    init(of source: MySQLSource) async throws {
        self.source = source
        idle = Stopwatch(source.clock)
        connection = try await source.connector.open()
    }

    /// Whether it is to be closed when it is idle.
    var isOld: Bool { (state?.age ?? idle).elapsed >= Self.lifetime }

    /// Closes the connection.
    func close() {
        connection.close()
    }

    /// Ends the state, and keeps the connection.
    ///
    /// - Throws: ``MySQLConnectionError``, or `CancellationError`.
    mutating func release() async throws {
        guard state != nil else { return }
        state = nil
        idle.restart()
        try await connection.execute("COMMIT")
    }

    /// Reads rows.
    ///
    /// - Parameters:
    ///   - table: Their table.
    ///   - keys: Their keys.
    ///   - moments: The transactions that must be shown; none for everything that is visible now.
    /// - Returns: The rows.
    /// - Throws: ``ReplicationSourceError`` when the table is another one, ``MySQLConnectionError``, or `CancellationError`.
    mutating func rows(
        of table: SourceTableDescriptor,
        keys: [[SQLValue]],
        showing moments: [LogMoment]
    ) async throws -> PresentRows {
        var state = try await stateShowing(moments)
        let form: MySQLRowForm
        if let known = state.tables[table] {
            form = known
        } else {
            // Until the end of the transaction, an ALTER waits.
            try await connection.execute("SELECT 1 FROM \(table.name.mysqlQuoted) LIMIT 0")
            form = try await source.form(of: table, connection)
            state.tables[table] = form
            self.state = state
        }
        let (rows, isComplete) = try await find(keys, form)
        guard form.table.isTransactional else {
            return PresentRows(rows, isComplete: isComplete, at: try await source.log.head(having: state.upper))
        }
        return PresentRows(rows, isComplete: isComplete, at: state.upper)
    }

    // MARK: States

    /// How long a server may need to show a transaction whose commit is in its log.
    private static let patience = Duration.seconds(60)

    /// Whether rows for some transactions are read of the state that there is.
    func shows(_ moments: [LogMoment]) -> Bool {
        guard let state, !isOld else { return false }
        return state.shows(moments)
    }

    private mutating func stateShowing(_ moments: [LogMoment]) async throws -> State {
        if let state, !moments.isEmpty, shows(moments) { return state }
        let waiting = Stopwatch(source.clock)
        var pause = Duration.milliseconds(5)
        while true {
            let state = try await begin()
            // All of a transaction is in the log when its first event comes.
            if state.shows(moments) { return state }
            guard waiting.elapsed < Self.patience else {
                throw ReplicationSourceError(
                    .unavailable,
                    "A transaction that is in the log is not visible after \(Self.patience): does a replica not confirm it?"
                )
            }
            try await source.clock.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(250))
        }
    }

    /// Ends the state, and begins with what is visible now.
    private mutating func begin() async throws -> State {
        try await release()
        let lower: SourcePosition
        let upper: SourcePosition
        if connection.isMariaDB {
            try await connection.execute(MySQLLog.beginSnapshot)
            lower = try await source.log.snapshotPosition(connection)
            upper = lower
        } else {
            lower = try await source.log.visibleHeadOfMySQL(connection)
            try await connection.execute(MySQLLog.beginSnapshot)
            upper = source.log.named(try await source.log.end(connection))
        }
        guard let position = LogPosition(lower.lsn) else {
            throw ReplicationSourceError(.unavailable, "“\(lower)” is not a position in the log of a MySQL server.")
        }
        let begun = State(lower: position, upper: upper, age: Stopwatch(source.clock))
        state = begun
        return begun
    }

    // MARK: Queries

    private func find(_ keys: [[SQLValue]], _ form: MySQLRowForm) async throws -> (rows: [SourceRow], isComplete: Bool)
    {
        let wanted = Set(keys)
        var found: [SourceRow] = []
        var bytes = 0
        // Of a table without a key, each query reads all rows: the fewer, the better, but the server compares each row with each key.
        let isScan = form.table.key == .none
        let count = isScan ? Self.keysPerScan : Self.keysPerQuery
        for start in stride(from: 0, to: keys.count, by: max(count, 1)) {
            let part = keys[start..<min(start + count, keys.count)]
            guard let condition = Self.condition(Array(part), form.table.identity) else { continue }
            let sql = "SELECT \(form.selectList) FROM \(form.table.name.mysqlQuoted) WHERE \(condition)"
            let isComplete = try await connection.withRows(sql, timeout: isScan ? Self.scanTimeout : nil) { rows in
                var isComplete = true
                while let answer = try await rows.next() {
                    let row = try form.row(answer)
                    // The table may take different values for equal.
                    guard wanted.contains(form.key(of: row)) else { continue }
                    // The rest is received all the same: then the connection can be used again.
                    guard bytes < PresentRows.maximumBytes else {
                        isComplete = false
                        continue
                    }
                    bytes += row.estimatedBytes
                    found.append(row)
                }
                return isComplete
            }
            guard isComplete else { return (found, false) }
            guard bytes < PresentRows.maximumBytes || start + count >= keys.count else { return (found, false) }
        }
        return (found, true)
    }

    /// What the rows with these keys fulfil, and perhaps others.
    ///
    /// - Returns: The condition; `nil` when no row can have one of the keys.
    static func condition(_ keys: [[SQLValue]], _ identity: [MySQLTable.Column]) -> String? {
        if identity.count == 1, let column = identity.first, column.type.takesList {
            let literals = keys.compactMap { key in
                key.count == 1 ? MySQLKeyLiteral.literal(key[0], column) : nil
            }
            let hasNull = keys.contains([.null])
            if !hasNull {
                return literals.isEmpty ? nil : "\(column.quotedName) IN (\(literals.joined(separator: ", ")))"
            }
        }
        let rows = keys.compactMap { key -> String? in
            guard key.count == identity.count else { return nil }
            var equations: [String] = []
            for (column, value) in zip(identity, key) {
                guard let equation = MySQLKeyLiteral.equation(column, value) else { return nil }
                equations.append(equation)
            }
            return "(\(equations.joined(separator: " AND ")))"
        }
        return rows.isEmpty ? nil : rows.joined(separator: " OR ")
    }
}

extension MySQLColumnType {
    /// Whether a column of the type can be compared with a list of literals.
    fileprivate var takesList: Bool {
        switch kind {
        case .float, .geometry, .vector, .set, .json: false
        default: true
        }
    }
}
