import GRDB

@testable import PowerSyncCore

/// What a client looks like from outside, without row ids and ids of buckets.
struct ClientState {
    /// Lines of text by table.
    private(set) var tables: [String: String] = [:]
    /// The download part of the status.
    private(set) var status: DownloadStatus

    /// What two clients have to agree on.
    enum Comparison {
        /// They got the same events: everything.
        case everything
        /// One of them was a new process now and then: what does not depend on when an iteration began.
        case acrossProcesses
        /// As ``acrossProcesses``, after a complete checkpoint.
        case acrossProcessesWhenSynced

        fileprivate func includes(_ table: String, countsOperations: Bool) -> Bool {
            switch table {
            // A new process gets a checkpoint that was not completed once more.
            case "last seen": self != .acrossProcesses
            case "expiry of subscriptions": self == .everything
            // A checkpoint line may begin to count anew. Without counts, a complete checkpoint does not.
            case "counts of buckets": self == .everything || self == .acrossProcessesWhenSynced && countsOperations
            default: true
            }
        }
    }

    /// Reads the state.
    ///
    /// - Parameters:
    ///   - client: The client.
    ///   - db: Its database.
    /// - Throws: `DatabaseError` of SQLite.
    init(_ client: TranscriptClient, _ db: Database) throws {
        status = client.engine.status
        let statement = try db.cachedStatement(sql: Self.query(client.schema))
        let rows = try Row.fetchCursor(statement)
        while let row = try rows.next() {
            tables[row[0]] = row[1] ?? ""
        }
    }

    /// What differs, in words; empty if nothing does.
    func differences(from other: ClientState, _ comparison: Comparison, countsOperations: Bool) -> [String] {
        var differences: [String] = []
        for (table, lines) in tables.sorted(by: { $0.key < $1.key })
        where comparison.includes(table, countsOperations: countsOperations) && other.tables[table] != lines {
            differences.append("\(table):\n\(lines)\ninstead of\n\(other.tables[table] ?? "")")
        }
        let statuses =
            switch comparison {
            case .everything: (status, other.status)
            case .acrossProcesses: (DownloadStatus(), DownloadStatus())
            case .acrossProcessesWhenSynced: (status.withoutExpiry, other.status.withoutExpiry)
            }
        if statuses.0 != statuses.1 { differences.append("status:\n\(statuses.0)\ninstead of\n\(statuses.1)") }
        return differences
    }

    private static func query(_ schema: TranscriptSchema) -> String {
        var tables = [
            ("ps_data__items", "id || ' ' || data", "ps_data__items"),
            ("ps_untyped", "type || '/' || id || ' ' || data", "ps_untyped"),
            (
                "ps_oplog",
                """
                ifnull(b.name, 'no bucket') || ' ' || op_id || ' ' || ifnull(row_type, '-') || '/' || ifnull(row_id, '-')
                || ' ' || ifnull(key, '-') || ' ' || ifnull(data, '-') || ' ' || hash
                """, "ps_oplog AS o LEFT JOIN ps_buckets AS b ON b.id = o.bucket"
            ),
            (
                "ps_buckets",
                """
                name || ' applied ' || last_applied_op || ' last ' || last_op || ' add ' || add_checksum || ' op '
                || op_checksum || ' bytes ' || downloaded_size
                """, "ps_buckets"
            ),
            ("counts of buckets", "name || ' at ' || count_at_last || ' since ' || count_since_last", "ps_buckets"),
            ("ps_updated_rows", "row_type || '/' || row_id", "ps_updated_rows"),
            ("ps_sync_state", "priority || ' ' || last_synced_at", "ps_sync_state"),
            (
                "ps_kv", "key || ' ' || value",
                "ps_kv WHERE key NOT IN ('client_id', 'last_seen_checkpoint_request_id')"
            ),
            ("last seen", "key || ' ' || value", "ps_kv WHERE key = 'last_seen_checkpoint_request_id'"),
            (
                "ps_stream_subscriptions",
                """
                id || ' ' || stream_name || ' ' || local_params || ' active ' || active || ' default ' || is_default
                || ' priority ' || ifnull(local_priority, '-') || ' ttl ' || ifnull(ttl, '-')
                || ' synced ' || ifnull(last_synced_at, '-')
                """, "ps_stream_subscriptions"
            ),
            ("expiry of subscriptions", "id || ' ' || ifnull(expires_at, '-')", "ps_stream_subscriptions"),
            ("ps_crud", "id || ' ' || tx_id || ' ' || data", "ps_crud"),
            ("ps_tx", "id || ' ' || next_tx", "ps_tx"),
            ("rejected writes", "id || ' ' || tx_id || ' ' || data", RejectedWrites.table),
            ("parked writes", "id || ' ' || type || '/' || row_id || ' ' || waits", ParkedWrites.table),
        ]
        switch schema.other {
        case .untyped: break
        case .synced: tables.append(("ps_data__other", "id || ' ' || data", "ps_data__other"))
        case .localOnly: tables.append(("ps_data_local__other", "id || ' ' || data", "ps_data_local__other"))
        }
        tables.append(("local_notes", "id || ' ' || ifnull(col, '-')", "local_notes"))
        return tables.map { name, line, source in
            "SELECT '\(name)', (SELECT group_concat(line, char(10)) FROM (SELECT \(line) AS line FROM \(source) ORDER BY 1))"
        }.joined(separator: " UNION ALL ")
    }
}

extension DownloadStatus {
    /// Without what a new process renews.
    fileprivate var withoutExpiry: DownloadStatus {
        var status = self
        for index in 0..<(streams?.count ?? 0) { status.streams?[index].expiresAt = nil }
        return status
    }
}
