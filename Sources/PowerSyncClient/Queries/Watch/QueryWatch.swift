import GRDB
import PowerSyncSQLite

/// Runs a query again and again, whenever what it reads has changed.
struct QueryWatch<RowType>: Sendable {
    let options: WatchOptions<RowType>
    let database: LocalDatabase
    let listener: ChangeListener

    /// Emits results until the task is cancelled.
    ///
    /// Each commit to what the query reads gives a result, unless an earlier one contains it already. Where only possible
    /// changes are known, the query runs, and its result is emitted if the rows are others than before.
    ///
    /// - Parameter emit: Called with each result.
    /// - Throws: `CancellationError`, or the error of the query or the mapper.
    func run(_ emit: (sending [RowType]) -> Void) async throws {
        // Opening writes to the file, which is no news.
        _ = try await database.writer()
        database.addListener(listener)
        defer { database.changes.remove(listener) }
        try await checkQuery()
        var signals = listener.signals.makeAsyncIterator()
        var shown: (commits: SeenCommits, digest: Int)?
        var look = SeenCommits.Look.hasChanged
        repeat {
            if look != .isCurrent {
                let (rows, commits, digest) = try await fetch()
                if look == .hasChanged || digest != shown?.digest { emit(rows) }
                shown = (commits, digest)
                try await database.clock.sleep(for: Duration(clampingSeconds: options.throttle))
            }
            guard await signals.next() != nil else { return }
            look = shown?.commits.look(after: listener.takeNews()) ?? .hasChanged
        } while true
    }

    /// Apps expect errors of the query to show it with `EXPLAIN`, which other implementations run to find its tables.
    private func checkQuery() async throws {
        let sql = "EXPLAIN " + options.sql
        try await database.read { [logger = database.logger] db in
            try StatementRunner(db: db, logger: logger).check(sql)
        }
    }

    /// Runs the query.
    ///
    /// - Returns: The rows, the commits that they contain, and the digest of their values.
    private func fetch() async throws -> sending (rows: [RowType], commits: SeenCommits, digest: Int) {
        try await database.observingReadLock { [self] context in
            let contained = database.changes.seenCommits.contained
            return try TransactionContext.read(on: context) { transaction in
                // The state is fixed here: what begins to commit now is not in it.
                let commits = SeenCommits(contained: contained, possible: database.changes.seenCommits.possible)
                let db = try LocalConnection.database(of: transaction)
                let runner = StatementRunner(db: db, logger: database.logger)
                // Prepared anew each time: after a schema change the same query may read other tables.
                let statement = try runner.prepareUncached(options.sql, options.parameters)
                database.changes.track(try interest(of: statement, db), for: listener)
                var digest = ResultDigest(statement)
                let rows = try runner.rows(of: statement, sql: options.sql) { cursor in
                    digest.addRow()
                    return try options.mapper(cursor)
                }
                return (rows, commits, digest.finish())
            }
        }
    }

    private func interest(of statement: Statement, _ db: Database) throws -> ChangeListener.Interest {
        let virtualTables = try VirtualTables(db)
        guard let views = options.triggerOnTables else {
            var region = statement.databaseRegion
            let names = try virtualTables?.dependencies(of: &region, db) ?? []
            return .region(region, virtualTables: names)
        }
        let names = views.reduce(into: Set()) { $0.formUnion(database.tableNames(of: $1)) }
        return .tables(names, virtualTables: virtualTables?.names(among: names) ?? [])
    }
}

extension LocalDatabase {
    /// Watches a query.
    ///
    /// The stream holds the newest result only, and does not keep the database open.
    func watch<RowType>(_ options: WatchOptions<RowType>) -> AsyncThrowingStream<[RowType], any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: [RowType].self,
            throwing: (any Error).self,
            bufferingPolicy: .bufferingNewest(1)
        )
        // Closing the database ends the stream, and that ends the task.
        let listener = ChangeListener(onFinish: { continuation.finish() })
        let watch = QueryWatch(options: options, database: self, listener: listener)
        let task = Task {
            do {
                try await watch.run { continuation.yield($0) }
            } catch is CancellationError {
                continuation.finish()
            } catch {
                continuation.finish(throwing: watch.database.isClosed ? nil : error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}

/// A short form of a query's result: the names of its columns, and the type and the bytes of each value.
///
/// Equal results have the same digest within a process; others have another one, but for one in 2⁶⁴.
struct ResultDigest {
    private let statement: Statement
    private var hasher = Hasher()
    private var rowCount = 0

    /// Creates the digest of a result without rows.
    ///
    /// - Parameter statement: The query, about to be stepped.
    init(_ statement: Statement) {
        self.statement = statement
    }

    /// Adds the row that the query has stepped to.
    ///
    /// Call it before the row is read: SQLite converts a value where it is.
    mutating func addRow() {
        rowCount += 1
        let row = unsafe PreparedStatement(borrowing: statement.sqliteStatement)
        for column in 0..<row.columnCount {
            switch row.storageClass(at: column) {
            case .null: hasher.combine(0 as UInt8)
            case .integer:
                hasher.combine(1 as UInt8)
                hasher.combine(row.integer(at: column))
            case .real:
                hasher.combine(2 as UInt8)
                hasher.combine(row.double(at: column).bitPattern)
            case .text: unsafe add(row.text(at: column), type: 3)
            case .blob: unsafe add(row.blob(at: column), type: 4)
            }
        }
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer?, type: UInt8) {
        hasher.combine(type)
        unsafe hasher.combine(bytes?.count ?? 0)
        if let bytes = unsafe bytes { unsafe hasher.combine(bytes: bytes) }
    }

    /// The digest.
    func finish() -> Int {
        var hasher = hasher
        hasher.combine(rowCount)
        let row = unsafe PreparedStatement(borrowing: statement.sqliteStatement)
        for column in 0..<row.columnCount { hasher.combine(row.name(of: column)) }
        return hasher.finalize()
    }
}
