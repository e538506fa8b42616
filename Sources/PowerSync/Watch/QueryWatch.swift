import GRDB

/// Runs a query again and again, whenever what it reads has changed.
struct QueryWatch<RowType>: Sendable {
    let options: WatchOptions<RowType>
    let database: LocalDatabase
    let listener: ChangeListener

    /// Emits results until the task is cancelled.
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
        repeat {
            emit(try await fetch())
            try await database.clock.sleep(for: ConnectOptions.duration(seconds: options.throttle))
        } while await signals.next() != nil
    }

    /// Apps expect errors of the query to show it with `EXPLAIN`, which other implementations run to find its tables.
    private func checkQuery() async throws {
        let sql = "EXPLAIN " + options.sql
        try await database.read { [logger = database.logger] db in
            _ = try StatementRunner(db: db, logger: logger).prepareUncached(sql, nil)
        }
    }

    private func fetch() async throws -> sending [RowType] {
        try await database.observingReadLock { [self] context in
            try TransactionContext.read(on: context) { transaction in
                let runner = StatementRunner(db: try LocalConnection.database(of: transaction), logger: database.logger)
                // Prepared anew each time: after a schema change the same query may read other tables.
                let statement = try runner.prepareUncached(options.sql, options.parameters)
                database.changes.track([interest(of: statement)], for: listener)
                return try runner.rows(of: statement, sql: options.sql, mapper: options.mapper)
            }
        }
    }

    private func interest(of statement: Statement) -> ChangeInterest {
        guard let views = options.triggerOnTables else { return .region(statement.databaseRegion) }
        return .tables(views.reduce(into: []) { $0.formUnion(database.tableNames(of: $1)) })
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
