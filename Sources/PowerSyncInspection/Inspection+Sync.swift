import Foundation
import PowerSyncCore
import PowerSyncProtocol
import PowerSyncSQLite

// What was downloaded, and what keeps it from being published.

/// The bucket of version 13 and older that holds the local write gate.
private let localBucket = "$local"

extension Inspection {
    mutating func readClientID() throws {
        guard has("ps_kv") else { return }
        report.clientID = try connection.text(
            "SELECT CAST(value AS TEXT) FROM ps_kv WHERE key = ?1",
            KeyValueStore.Key.clientID.rawValue
        )
        report.seedState = try seedState()
    }

    private func seedState() throws -> DatabaseReport.SeedState? {
        let sql = "SELECT count(*) FROM ps_kv WHERE key = ?1"
        guard try connection.integer(sql, KeyValueStore.Key.seed.rawValue) == 1 else { return nil }
        return report.clientID == nil ? .unopened : .unclaimed
    }

    mutating func readSyncTimes() throws {
        if version < 7 {
            guard has("ps_kv") else { return }
            let text = try connection.text("SELECT CAST(value AS TEXT) FROM ps_kv WHERE key = 'last_synced_at'")
            if let at = time(text: text, "ps_kv.value", of: "key last_synced_at") {
                report.lastSynced = [DatabaseReport.SyncTime(at: at)]
            }
            return
        }
        guard has("ps_sync_state") else { return }
        try connection.forEachRow("SELECT priority, last_synced_at FROM ps_sync_state ORDER BY priority") { row in
            let priority = required(row, 0, "ps_sync_state.priority", of: "a row")
            let (column, key) = ("ps_sync_state.last_synced_at", "priority \(priority)")
            let at =
                version >= 13
                ? time(row, 1, per: 1_000_000, column, of: key) : time(text: row.string(at: 1), column, of: key)
            guard let at else { return }
            report.lastSynced.append(
                DatabaseReport.SyncTime(priority: priority == Int64(Int32.max) ? nil : priority, at: at)
            )
        }
    }

    mutating func readBuckets() throws {
        guard has("ps_buckets") else { return }
        let optional = ["op_checksum", "downloaded_size"].map { column($0, of: "ps_buckets") }
        try connection.forEachRow(
            """
            SELECT name, last_op, last_applied_op, add_checksum, pending_delete, \(optional.joined(separator: ", "))
            FROM ps_buckets WHERE name IS NOT '\(localBucket)' ORDER BY rowid
            """
        ) { row in
            let name = row.string(at: 0) ?? ""
            let key = "bucket \(name)"
            if row.storageClass(at: 0) != .text { note("ps_buckets.name", of: "a bucket", holds: "no text") }
            report.buckets.append(
                DatabaseReport.Bucket(
                    name: name,
                    lastOp: required(row, 1, "ps_buckets.last_op", of: key),
                    lastAppliedOp: required(row, 2, "ps_buckets.last_applied_op", of: key),
                    addChecksum: checksum(row, 3, "ps_buckets.add_checksum", of: key),
                    opChecksum: version >= 4 ? checksum(row, 5, "ps_buckets.op_checksum", of: key) : nil,
                    downloadedBytes: integer(row, 6, "ps_buckets.downloaded_size", of: key),
                    isPendingDelete: required(row, 4, "ps_buckets.pending_delete", of: key) != 0
                )
            )
        }
    }

    /// Counts the operations of the buckets and adds up their checksums, in one pass over the table.
    ///
    /// - Complexity: O(operations), and O(operations) of an index for repeated keys.
    mutating func readOperations() throws {
        guard has("ps_oplog"), has("ps_buckets") else { return }
        // Up to version 4 operations have the name of their bucket, and superseded ones are kept and counted.
        let key = version >= 5 ? "id" : "name"
        var positions: [String: Int] = [:]
        try connection.forEachRow(
            "SELECT CAST(\(key) AS TEXT) FROM ps_buckets WHERE name IS NOT '\(localBucket)' ORDER BY rowid"
        ) { row in positions[row.string(at: 0) ?? ""] = positions.count }
        var local = ""
        if version < 5 { local = "WHERE bucket IS NOT '\(localBucket)'" }
        let isLive = version >= 5 ? "1" : "superseded = 0 AND op = 3"

        // Operations of a bucket stand together, mostly.
        var (lastBucket, lastPosition): (String, Int?) = ("", nil)
        try connection.forEachRow("SELECT bucket, hash, \(isLive) FROM ps_oplog NOT INDEXED \(local)") { row in
            let bucket = row.string(at: 0) ?? ""
            if bucket != lastBucket { (lastBucket, lastPosition) = (bucket, positions[bucket]) }
            guard let position = lastPosition, position < report.buckets.count else {
                report.strayOperations += 1
                return
            }
            if row.integer(at: 2) != 0 { report.buckets[position].operations += 1 }
            report.buckets[position].computedChecksum &+= checksum(
                row,
                1,
                "ps_oplog.hash",
                of: "bucket \(report.buckets[position].name)"
            )
        }
        guard version >= 5 else { return }
        report.repeatedKeys = Int(
            try connection.integer(
                """
                SELECT count(*) FROM (
                  SELECT 1 FROM ps_oplog WHERE key IS NOT NULL GROUP BY bucket, key HAVING count(*) > 1
                )
                """
            ) ?? 0
        )
    }

    mutating func readUpdatedRows() throws {
        guard has("ps_updated_rows") else { return }
        report.updatedRows = try connection.integer("SELECT count(*) FROM ps_updated_rows").map { Int($0) }
    }

    mutating func readGate() throws {
        var (target, seen): (Int64?, Int64?)
        if version >= 14 {
            guard has("ps_kv") else { return }
            target = try counter(.targetWriteCheckpoint)
            seen = try counter(.lastSeenWriteCheckpoint)
        } else if has("ps_buckets") {
            try connection.forEachRow(
                "SELECT target_op, last_op FROM ps_buckets WHERE name = '\(localBucket)'"
            ) { row in
                target = integer(row, 0, "ps_buckets.target_op", of: "bucket \(localBucket)")
                seen = integer(row, 1, "ps_buckets.last_op", of: "bucket \(localBucket)")
            }
            // Without local writes there are zeros.
            if target == 0 { target = nil }
        }
        let pending = LocalWriteGate.pendingTarget.rawValue
        report.gate.target = target == pending ? nil : target
        report.gate.seen = target == nil ? nil : seen
        report.gate.state =
            if report.uploadQueue.writes > 0 {
                .uploads
            } else if target == pending {
                .writeCheckpoint
            } else if let target, target > seen ?? 0 {
                .acknowledgement
            } else {
                .open
            }
    }

    private mutating func counter(_ key: KeyValueStore.Key) throws -> Int64? {
        var value: Int64?
        try connection.forEachRow(
            "SELECT CAST(value AS INTEGER), CAST(value AS TEXT) FROM ps_kv WHERE key = ?1",
            key.rawValue
        ) { row in
            // Other implementations may have stored text.
            guard let text = row.string(at: 1), Int64(text) != nil else {
                return note("ps_kv.value", of: "key \(key.rawValue)", holds: "no number")
            }
            value = row.integer(at: 0)
        }
        return value
    }

    mutating func readSubscriptions() throws {
        guard has("ps_stream_subscriptions") else { return }
        // Seconds up to version 12, microseconds since.
        let unit: Double = version >= 13 ? 1_000_000 : 1
        try connection.forEachRow(
            """
            SELECT stream_name, local_params, active, is_default, local_priority, ttl, expires_at, last_synced_at
            FROM ps_stream_subscriptions ORDER BY id
            """
        ) { row in
            let name = row.string(at: 0) ?? ""
            let (table, key) = ("ps_stream_subscriptions", "stream \(name)")
            let parameters = row.string(at: 1)
            report.subscriptions.append(
                DatabaseReport.Subscription(
                    stream: name,
                    parameters: parameters == "null" ? nil : parameters,
                    isActive: required(row, 2, "\(table).active", of: key) != 0,
                    isDefault: required(row, 3, "\(table).is_default", of: key) != 0,
                    priority: integer(row, 4, "\(table).local_priority", of: key),
                    secondsToLive: integer(row, 5, "\(table).ttl", of: key),
                    expiresAt: time(row, 6, per: unit, "\(table).expires_at", of: key),
                    lastSyncedAt: time(row, 7, per: unit, "\(table).last_synced_at", of: key)
                )
            )
        }
    }
}
