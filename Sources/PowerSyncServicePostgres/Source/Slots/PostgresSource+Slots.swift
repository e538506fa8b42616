import Logging
import NIOConcurrencyHelpers
package import PowerSyncServiceCore

/// Replication slots: what the server keeps its log for.
extension PostgresSource {
    /// A slot as the server describes it.
    struct Slot: Sendable {
        var plugin: String?
        var isOfThisDatabase: Bool
        var activePID: String?
        var confirmed: WALPosition?
        /// Whether the server has thrown away what the slot needs.
        var isLost: Bool
        /// Why, in the server's word; since version 17.
        var reason: String?
        /// How many bytes may be written before the server throws away what the slot needs; `nil` for any number.
        var budget: Int64?
    }

    func slot(_ name: String, _ connection: PostgresConnection) async throws -> Slot? {
        let rows = try await connection.query(
            """
            SELECT s.plugin, s.database IS NOT DISTINCT FROM current_database(), s.active_pid, s.confirmed_flush_lsn,
                coalesce(to_jsonb(s) ->> 'wal_status' = 'lost', false) OR to_jsonb(s) ->> 'invalidation_reason' IS NOT NULL,
                to_jsonb(s) ->> 'invalidation_reason', to_jsonb(s) ->> 'safe_wal_size'
            FROM pg_replication_slots s WHERE s.slot_name = $1
            """,
            [name],
            activity: "reading replication slot \(name)"
        )
        guard let row = rows.first, row.count == 7 else { return nil }
        return Slot(
            plugin: row[0],
            isOfThisDatabase: row[1] == "t",
            activePID: row[2],
            confirmed: row[3].flatMap { WALPosition($0) },
            isLost: row[4] == "t",
            reason: row[5],
            budget: row[6].flatMap { Int64($0) }
        )
    }

    func currentSlot(_ name: String) async throws -> Slot? {
        try await pool.withConnection { connection in try await slot(name, connection) }
    }

    package func prepareStream(
        _ slotName: String,
        resumingAfter resumePosition: SourcePosition?,
        reached: LSN?
    ) async throws -> SourcePosition {
        try await checkPublication()
        // If the log has gone back, a new copy of the tables has another history.
        var head = try await head(having: resumePosition)
        if let reached, resumePosition?.history == head.history {
            head = try await self.head(having: SourcePosition(reached, of: head.history))
        }
        let slot = try await currentSlot(slotName)
        if let slot, slot.plugin != "pgoutput" || !slot.isOfThisDatabase {
            throw ReplicationSourceError(
                .configuration,
                "Replication slot \(slotName) is one of another database or plugin: drop it, or use another prefix."
            )
        }
        let start: SourcePosition
        if let resumePosition {
            start = try check(resumePosition, reached, of: slotName, slot, head)
        } else if let slot, !slot.isLost, let confirmed = slot.confirmed {
            start = SourcePosition(confirmed.lsn, of: head.history)
        } else {
            // A slot that cannot be read would keep the log of the server for nothing.
            try await checkPath()
            if slot != nil { try await dropStream(slotName) }
            start = SourcePosition(try await createSlot(slotName).lsn, of: head.history)
        }
        slots.withLockedValue { $0[slotName, default: SlotState()].wasKept = true }
        return start
    }

    package func require(_ stored: LSN?, in slotName: String) {
        slots.withLockedValue { $0[slotName, default: SlotState()].stored = stored.flatMap { MarkedPosition($0) } }
    }

    /// Checks that changes after a position can be read.
    private func check(
        _ position: SourcePosition,
        _ reached: LSN?,
        of slotName: String,
        _ slot: Slot?,
        _ head: SourcePosition
    ) throws -> SourcePosition {
        func lost(_ why: String) -> ReplicationSourceError {
            ReplicationSourceError(.historyLost, "\(why) The tables are copied again.")
        }
        let end = head.lsn.unmarked
        guard position.history == head.history, position.lsn.unmarked <= end,
            reached.map({ $0.unmarked <= end }) != false
        else {
            throw lost("The database is no longer what was replicated up to \(position): it was restored or replaced.")
        }
        guard let slot else { throw lost("Replication slot \(slotName) is gone.") }
        if slot.isLost { throw thrownAway(slotName, slot) }
        guard let confirmed = slot.confirmed else { throw lost("Replication slot \(slotName) has no position.") }
        guard confirmed.lsn <= position.lsn.unmarked else {
            throw ReplicationSourceError(
                .historyLost,
                """
                Replication slot \(slotName) has been moved beyond \(position.lsn.unmarked): the bucket storage was restored. The tables are \
                copied again.
                """,
                isOfOlderStorage: true
            )
        }
        return position
    }

    private func createSlot(_ name: String) async throws -> WALPosition {
        logger.notice(
            "A replication slot is made; this waits for transactions that are running",
            metadata: [LogKey.slot: "\(name)"]
        )
        let connection = try await PostgresConnection.open(settings.connection)
        defer { connection.close() }
        let process = try await connection.noticingDeparture()
        return try await firstOf {
            // Since version 17, a standby may have the slot, too, and then the service goes on there.
            let options = connection.serverVersion >= 170_000 ? ", false, false, true" : ""
            let rows = try await connection.query(
                "SELECT lsn FROM pg_create_logical_replication_slot($1, 'pgoutput'\(options))",
                [name],
                timeout: .seconds(24 * 3600),
                activity: "making replication slot \(name)"
            )
            guard let position = rows.first?.first.flatMap({ $0.flatMap { WALPosition($0) } }) else {
                throw PostgresCatalogError(query: "slot", row: 0, column: "lsn")
            }
            return position
        } or: {
            try await self.watchMaking(of: name, by: process)
        }
    }

    package func dropStream(_ slotName: String) async throws {
        try await whileInUse(slotName) {
            do {
                try await pool.withConnection { connection in
                    _ = try await connection.query(
                        """
                        SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
                        WHERE slot_name = $1 AND database = current_database()
                        """,
                        [slotName],
                        activity: "dropping replication slot \(slotName)"
                    )
                }
            } catch let error as PostgresError where error.sqlState == PostgresError.SQLState.undefinedObject {
                // Another process has dropped it in between.
            }
        }
        slots.withLockedValue { _ = $0.removeValue(forKey: slotName) }
    }

    /// There is nothing but slots: publications are made by the administrators of the database.
    package func uninstall() async throws {}

    /// The time for which a slot may be in use by another connection: a server notices a moment later that a connection was closed.
    private static let patience = 20

    /// Repeats an operation while another process has the slot.
    func whileInUse<Result>(_ slotName: String, _ body: () async throws -> Result) async throws -> Result {
        var attempt = 0
        while true {
            do {
                return try await body()
            } catch let error as PostgresError where error.sqlState == PostgresError.SQLState.objectInUse {
                attempt += 1
                if let process = try await currentSlot(slotName)?.activePID {
                    try await endMaking(of: slotName, by: process)
                }
                guard attempt < Self.patience else { throw try await inUse(slotName) }
            } catch let error as PostgresError where error.sqlState == PostgresError.SQLState.undefinedObject {
                // Another process has dropped it in between.
                if try await currentSlot(slotName) == nil {
                    throw ReplicationSourceError(
                        .historyLost,
                        "Replication slot \(slotName) is gone. The tables are copied again."
                    )
                }
                throw error
            }
            try await clock.sleep(for: .milliseconds(min(50 * attempt, 500)))
        }
    }

    // MARK: Losses

    /// The error for a log that has something else where something was read of it, or written to it; from then on, it has another name.
    func contradicts(_ position: MarkedPosition, _ history: SourceHistory) -> ReplicationSourceError {
        rewinds.withLockedValue { $0.learn(contradicting: position.position.lsn, in: history) }
        return ReplicationSourceError(
            .historyLost,
            """
            The database is no longer what was replicated up to \(position.position): its files were put back to an older state, \
            and it has been written to since. The tables are copied again.
            """
        )
    }

    /// What an error of a stream means: a history that is lost, or an error after which it is worth trying again.
    func explain(_ error: any Error, of slotName: String, _ history: SourceHistory) async -> any Error {
        guard let error = error as? PostgresError else { return error }
        do {
            return try await pool.withConnection { connection in
                func lost(_ why: String) -> any Error {
                    ReplicationSourceError(.historyLost, "\(why) The tables are copied again.")
                }
                guard try await position(connection, knowing: history).history == history else {
                    return lost("The database was restored or replaced while its changes were read.")
                }
                guard let slot = try await self.slot(slotName, connection) else {
                    return lost("Replication slot \(slotName) was dropped while changes were read.")
                }
                if slot.isLost { return thrownAway(slotName, slot) }
                // A publication that is younger than the changes does not exist for them, and never will. The slot was found above,
                // so it is the publication that the server does not find; its text is in the server's language.
                if error.sqlState == PostgresError.SQLState.undefinedObject, try await publicationExists(connection) {
                    return lost("The publication was made again.")
                }
                return error
            }
        } catch {
            return error
        }
    }
}
