/// A replication slot on the server: as long as it exists, the server keeps its log for it.
package struct PostgresSlot: Sendable, Hashable {
    /// The name.
    package let name: String
    /// Whether a process reads it at this moment.
    package let isActive: Bool
    /// `reserved`, `extended`, `unreserved` or `lost`, as the server says.
    package let walStatus: String?
    /// The bytes of log that the server keeps for it; `nil` when it keeps nothing any more.
    package let retainedBytes: Int64?
    /// The bytes of log behind the position that was acknowledged last; `nil` when the slot has none.
    package let unacknowledgedBytes: Int64?
    /// The bytes of log that may still be written before the server throws away what the slot needs; `nil` when it never does.
    package var safeBytes: Int64?
    /// The most bytes of log that the server keeps for a slot; `nil` without a limit.
    package var maximumBytes: Int64?
}

extension PostgresConnection {
    /// The replication slots of the database whose names begin with a prefix, in the order of their names.
    ///
    /// - Throws: ``PostgresError``, or `CancellationError`.
    package func slots(withPrefix prefix: String) async throws -> [PostgresSlot] {
        let rows = try await query(
            """
            SELECT s.slot_name, s.active, pg_catalog.to_jsonb(s) ->> 'wal_status',
              pg_catalog.pg_wal_lsn_diff(head, s.restart_lsn)::int8,
              greatest(pg_catalog.pg_wal_lsn_diff(head, s.confirmed_flush_lsn)::int8, 0),
              pg_catalog.to_jsonb(s) ->> 'safe_wal_size',
              (SELECT nullif(m.setting::int8, -1) * 1048576 FROM pg_catalog.pg_settings m
                WHERE m.name = 'max_slot_wal_keep_size')
            FROM pg_catalog.pg_replication_slots s,
              (SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()
                ELSE pg_catalog.pg_current_wal_lsn() END AS head) wal
            WHERE starts_with(s.slot_name::text, $1) AND s.database = pg_catalog.current_database()
            ORDER BY s.slot_name
            """,
            [prefix],
            activity: "reading the replication slots"
        )
        return rows.compactMap { row in
            guard row.count == 7, let name = row[0] else { return nil }
            return PostgresSlot(
                name: name,
                isActive: row[1] == "t",
                walStatus: row[2],
                retainedBytes: row[3].flatMap { Int64($0) },
                unacknowledgedBytes: row[4].flatMap { Int64($0) },
                safeBytes: row[5].flatMap { Int64($0) },
                maximumBytes: row[6].flatMap { Int64($0) }
            )
        }
    }
}
