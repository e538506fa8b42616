package import PowerSyncServiceCore

/// When readers see what is in the log.
extension PostgresSource {
    /// The longest that transactions are waited for which write to a table.
    private static let visibilityLimit = Duration.seconds(30)

    /// Waits for the transactions that hold a lock for writing now.
    ///
    /// A transaction gives up its locks once others see it. Before that the log may have its commit, which a standby has to confirm
    /// (`synchronous_standby_names`). One that is idle does not commit.
    package func waitUntilShown(_ table: SourceTableDescriptor) async throws {
        guard table.oid != nil else { return }
        var writers = try await writers(of: table)
        let deadline = Stopwatch(clock)
        var pause = Duration.milliseconds(5)
        while !writers.isEmpty {
            guard deadline.elapsed < Self.visibilityLimit else {
                throw ReplicationSourceError(
                    .tableUnavailable,
                    "Transactions that began to write to \(relation(table).name) more than \(Self.visibilityLimit) ago have not ended "
                        + "(see pg_locks and pg_stat_activity): end them."
                )
            }
            try await clock.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(250))
            writers.formIntersection(try await self.writers(of: table))
        }
    }

    /// The transactions that have a lock for writing to a table, or to one of its partitions, and may be committing: their virtual ids.
    func writers(of table: SourceTableDescriptor) async throws -> Set<String> {
        guard let oid = table.oid else { return [] }
        return try await pool.withConnection { connection in
            let rows = try await connection.query(
                """
                SELECT l.virtualtransaction FROM pg_catalog.pg_locks l
                LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
                WHERE l.locktype = 'relation' AND l.granted AND l.mode = 'RowExclusiveLock'
                  AND left(coalesce(a.state, ''), 19) <> 'idle in transaction'
                  AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
                  AND (l.relation = $1::oid OR l.relation IN (SELECT relid FROM pg_catalog.pg_partition_tree($1::oid::regclass)))
                """,
                ["\(oid)"],
                activity: "reading who writes to table \(relation(table).name)"
            )
            return Set(rows.compactMap { $0.first.flatMap { $0 } })
        }
    }
}
