import Logging
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncServiceCore

/// How much of its log the server keeps for a slot (`max_slot_wal_keep_size`).
extension PostgresSource {
    /// The error for a slot of which the server has thrown away something.
    func thrownAway(_ slotName: String, _ slot: Slot) -> ReplicationSourceError {
        // What was lost while the service was away may be due to anything; what is lost now would be lost again. Rows of the catalogue
        // that a standby has removed are another matter, and not a question of size.
        let wasKept = slots.withLockedValue { $0[slotName]?.wasKept ?? false }
        let isOfSize = slot.reason == nil || slot.reason == "wal_removed"
        let what = "The server has thrown away what replication slot \(slotName) needs"
        guard wasKept, isOfSize else {
            let why = slot.reason.map { " (\($0))" } ?? ""
            return ReplicationSourceError(
                .historyLost,
                "\(what)\(why). The tables are copied again.",
                catalogueCode: .slotLost
            )
        }
        return ReplicationSourceError(
            .retentionExceeded,
            """
            \(what): raise max_slot_wal_keep_size to what is written while the tables are copied, then start the service again.
            """,
            catalogueCode: .slotLost
        )
    }

    package func checkRetention(for slotName: String) async throws {
        let now = stopwatch.elapsed
        let isDue = slots.withLockedValue { slots in
            if let last = slots[slotName]?.checkedAt, now - last < settings.heartbeatInterval { return false }
            slots[slotName, default: SlotState()].checkedAt = now
            return true
        }
        guard isDue, let slot = try await currentSlot(slotName) else { return }
        if slot.isLost { throw thrownAway(slotName, slot) }
        guard let budget = slot.budget, let limit = try await retention(), budget < limit / 2 else { return }
        logger.warning(
            """
            Half of the log that the server keeps for the service has been written since the copy began: if the rest is \
            written before its end, the copy is in vain
            """,
            metadata: [
                LogKey.slot: "\(slotName)", LogKey.remainingBytes: .stringConvertible(budget),
                LogKey.limitBytes: .stringConvertible(limit), LogKey.remedy: "raise max_slot_wal_keep_size",
            ]
        )
    }

    /// The setting in bytes; `nil` without a limit.
    private func retention() async throws -> Int64? {
        let rows = try await pool.withConnection { connection in
            try await connection.query(
                "SELECT setting::int8 << 20 FROM pg_settings WHERE name = 'max_slot_wal_keep_size' AND setting <> '-1'",
                activity: "reading max_slot_wal_keep_size"
            )
        }
        return rows.first?.first.flatMap { $0.flatMap { Int64($0) } }
    }
}
