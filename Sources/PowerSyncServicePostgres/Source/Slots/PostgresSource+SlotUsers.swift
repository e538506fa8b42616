import Logging
import PowerSyncServiceCore

/// Finds what keeps a replication slot from being made, or used.
extension PostgresSource {
    /// The interval of looks at the making of a slot.
    private static let makingInterval = Duration.seconds(2)

    /// Logs the blockers of the making of a slot, until the task is cancelled.
    ///
    /// It waits for all transactions of the server that have written something, in other databases, too, and for prepared ones.
    func watchMaking(of slotName: String, by process: String) async throws -> Never {
        var known: [PostgresBlocker] = []
        while true {
            try await clock.sleep(for: Self.makingInterval)
            let blockers: [PostgresBlocker]
            do {
                blockers = try await pool.withConnection { try await $0.blockers(ofProcess: process) }
            } catch {
                // The call that makes the slot fails, too.
                try Task.checkCancellation()
                continue
            }
            func names(_ blockers: [PostgresBlocker]) -> [String?] { blockers.map { $0.preparedName ?? $0.process } }
            if !blockers.isEmpty, names(blockers) != names(known) {
                logger.warning(
                    "A replication slot cannot be made before a transaction ends that began earlier",
                    metadata: [LogKey.slot: "\(slotName)", LogKey.error: "It is \(blockers.sentence)"]
                )
            }
            known = blockers
        }
    }

    /// Ends a process of the server that makes the slot for a process of the service that has ended.
    ///
    /// The owner of the storage's lease of a stream is the only process that needs its slot, and makes it only once.
    func endMaking(of slotName: String, by process: String) async throws {
        let ended = try await pool.withConnection { connection in
            try await connection.query(
                """
                SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
                WHERE a.pid = $1::int4 AND a.usename = current_user
                    AND a.query LIKE '%pg_create_logical_replication_slot(%'
                """,
                [process],
                activity: "ending a process that makes a replication slot"
            )
        }
        guard !ended.isEmpty else { return }
        logger.notice(
            "The server made a replication slot for a process of the service that has ended; that is over, and it is made again",
            metadata: [LogKey.slot: "\(slotName)"]
        )
    }

    /// Whether a process of the server reads for a slot.
    func isInUse(_ slotName: String, by process: Int32) async throws -> Bool {
        try await pool.withConnection { connection in
            try await !connection.query(
                "SELECT 1 FROM pg_replication_slots WHERE slot_name = $1 AND active_pid = $2",
                [slotName, "\(process)"],
                activity: "looking who uses replication slot \(slotName)"
            ).isEmpty
        }
    }

    /// The error for a slot that another connection has had for a while.
    func inUse(_ slotName: String) async throws -> ReplicationSourceError {
        let rows = try await pool.withConnection { connection in
            try await connection.query(
                """
                SELECT s.active_pid, a.application_name, host(a.client_addr),
                    extract(epoch FROM clock_timestamp() - a.backend_start)::int8
                FROM pg_replication_slots s LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid WHERE s.slot_name = $1
                """,
                [slotName],
                activity: "looking who uses replication slot \(slotName)"
            )
        }
        let row = rows.first ?? []
        func fact(_ position: Int, _ text: (String) -> String) -> String? {
            row.indices.contains(position) ? row[position].flatMap { $0.isEmpty ? nil : text($0) } : nil
        }
        let process = fact(0) { $0 } ?? "?"
        let facts = [
            fact(1) { "application \($0)" }, fact(2) { "from \($0)" }, fact(3) { "connected for \($0) s" },
        ].compactMap(\.self)
        return ReplicationSourceError(
            .configuration,
            """
            Replication slot \(slotName) is in use by the server's process \(process)\
            \(facts.isEmpty ? "" : " (\(facts.joined(separator: ", ")))"). If that is a process of this service whose machine or \
            network was cut, the server notices within \(Self.senderTimeout). If it stays, another service has a copy of this \
            storage: stop it, or give it a storage of its own. SELECT pg_terminate_backend(\(process)); ends the connection.
            """
        )
    }
}

extension PostgresConnection {
    /// Makes the server look now and then whether this side is still there while a statement runs, if it can.
    ///
    /// - Returns: The process of the server.
    /// - Throws: ``PostgresError``, or `CancellationError`.
    func noticingDeparture() async throws -> String {
        do {
            try await execute("SET client_connection_check_interval TO '5s'", activity: "preparing a connection")
        } catch let error as PostgresError where error.code == .server {
            // Not on every platform.
        }
        let rows = try await query("SELECT pg_backend_pid()", activity: "preparing a connection")
        guard let process = rows.first?.first ?? nil else {
            throw PostgresCatalogError(query: "process", row: 0, column: "pg_backend_pid")
        }
        return process
    }
}
