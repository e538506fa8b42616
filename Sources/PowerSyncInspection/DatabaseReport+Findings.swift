import Foundation
import PowerSyncCore
import PowerSyncProtocol
import PowerSyncTerminal

// What the facts of a report mean. Each sentence says what is wrong, or waits, and what to do.

extension DatabaseReport {
    /// Works out the findings: damage first.
    mutating func addFindings() {
        findings = damages + waits + oddities
    }

    // MARK: - Damage

    private var damages: [Finding] {
        var found = Collector(level: .damage)
        for problem in sqliteProblems ?? [] {
            found.add(
                "sqlite",
                """
                SQLite's check of the file fails: \(problem). Save what is in the upload queue, then delete the file and \
                sync again
                """
            )
        }
        for object in missingObjects {
            found.add(
                "missing",
                "The \(object) of version \(schemaVersion) is missing: another program has changed the file. Sync into a new one"
            )
        }
        for problem in unreadable {
            found.add("unreadable", "What no client writes: \(problem). Sync into a new file")
        }
        if schemaVersion >= 3, missingObjects.isEmpty, clientID == nil, seedState == nil {
            found.add(
                "client-id",
                """
                The file has no client id, so it cannot be connected; that is how files are prepared for copying. Insert a \
                new UUID into ps_kv with the key client_id
                """
            )
        }
        findBrokenBuckets(&found)
        findBrokenRows(&found)
        if let write = uploadQueue.firstDamaged {
            found.add(
                "queue-entry",
                """
                \(uploadQueue.damaged) of \(uploadQueue.writes.counted("write")) in the upload queue cannot be read as a whole, \
                first: \(write.damage ?? ""). Such writes are handed to uploadData(database:) with a damage; let it skip or \
                repair them
                """
            )
        }
        return found.findings
    }

    private func findBrokenBuckets(_ found: inout Collector) {
        for bucket in buckets {
            if let stored = bucket.opChecksum, bucket.isIntact == false {
                found.add(
                    "bucket-checksum",
                    """
                    The operations of bucket \(bucket.name) add up to the checksum \(bucket.computedChecksum), and \(stored) is \
                    stored: rows of ps_oplog were lost or changed. Upload local writes, then call disconnectAndClear() and \
                    sync again
                    """
                )
            }
            if bucket.lastAppliedOp > bucket.lastOp {
                found.add(
                    "bucket-position",
                    """
                    Bucket \(bucket.name) is published up to operation \(bucket.lastAppliedOp), and known up to \
                    \(bucket.lastOp) only, so newer operations will not be published. Call disconnectAndClear(soft: true) \
                    and sync again
                    """
                )
            }
        }
        if strayOperations > 0 {
            found.add(
                "stray-operations",
                """
                \(strayOperations.counted("operation belongs", "operations belong")) to no bucket, so nothing will ever remove \
                \(strayOperations.words("its row", "their rows")). Call disconnectAndClear() and sync again
                """
            )
        }
        if repeatedKeys > 0 {
            found.add(
                "repeated-keys",
                """
                \(repeatedKeys.counted("key has", "keys have")) several operations in one bucket, where a newer one replaces the older. Call \
                disconnectAndClear() and sync again
                """
            )
        }
    }

    private func findBrokenRows(_ found: inout Collector) {
        for table in tables {
            if table.unreadableRows > 0 {
                found.add(
                    "row-json",
                    """
                    \(table.unreadableRows.counted("row")) of table \(table.name) \
                    \(table.unreadableRows.words("is", "are")) not JSON, so queries of its view fail. \
                    \(table.isLocalOnly ? "Delete \(table.unreadableRows.words("it", "them")) from ps_data_local__\(table.name)" : Self.publishAgain)
                    """
                )
            }
            if let missing = table.missingRows, missing > 0 {
                found.add(
                    "missing-rows",
                    "\(missing.counted("synced row is", "synced rows are")) missing in table \(table.name). \(Self.publishAgain)"
                )
            }
        }
    }

    private static let publishAgain =
        "Run SELECT powersync_trigger_resync(0) in a transaction while disconnected; the next sync writes all rows again"

    // MARK: - What is waited for

    private var waits: [Finding] {
        var found = Collector(level: .notice)
        if !lastSynced.contains(where: { $0.priority == nil }) {
            found.add(
                "never-synced",
                buckets.isEmpty
                    ? "The client has never synced anything. Check that the app calls connect(), and its log"
                    : "The client has not completed a sync yet. Let it connect until hasSynced is true"
            )
        }
        switch gate.state {
        case .open: break
        case .uploads:
            found.add(
                "uploads",
                """
                \(uploadQueue.writes.counted("local write waits for its", "local writes wait for their")) upload, and \
                nothing but priority 0 is published before that is acknowledged. Check what uploadData(database:) says, and that it completes each transaction
                """
            )
        case .writeCheckpoint:
            found.add(
                "write-checkpoint",
                """
                Local writes are uploaded, and the service was not asked for a write checkpoint since. The client does \
                that as soon as it is connected
                """
            )
        case .acknowledgement:
            found.add(
                "acknowledgement",
                """
                Local writes are uploaded, and the client waits for a checkpoint with write checkpoint \(gate.target ?? 0); \
                it has seen \(gate.seen.map(String.init) ?? "none"). Check that the service's replication is not behind
                """
            )
        }
        let waiting = buckets.filter { $0.lastOp > $0.lastAppliedOp }
        if !waiting.isEmpty {
            found.add(
                "unpublished",
                """
                \(waiting.count.counted("bucket has", "buckets have")) more than is published, for example \
                \(waiting[0].name). \
                \(gate.state == .open ? "It is published when its checkpoint is complete" : Self.gateCloses)
                """
            )
        }
        return found.findings
    }

    private static let gateCloses = "Unless its checkpoint is incomplete, that waits for the local writes"

    // MARK: - Oddities

    private var oddities: [Finding] {
        var found = Collector(level: .notice)
        if let seedState {
            found.add(
                "seed",
                seedState == .unopened
                    ? "The file is a seed: an app begins with a copy of it, by PowerSyncDatabase(schema:seedFile:)"
                    : "The rows are those of a seed, and go when another user connects. Its user has not connected yet"
            )
        }
        let parked = rejectedWrites.filter { $0.kind != .skipped }.count
        if parked > 0 {
            found.add(
                "parked-writes",
                """
                \(parked.counted("write is parked, and its row keeps its", "writes are parked, and their rows keep their")) \
                local state. Restore \(parked.words("it", "them")) with restoreParkedWrites(), or remove \
                \(parked.words("it", "them")) with removeRejectedWrites(_:)
                """
            )
        }
        let rejected = rejectedWrites.count - parked
        if rejected > 0 {
            found.add(
                "rejected-writes",
                """
                \(rejected.counted("write was", "writes were")) rejected by the backend. Look at rejectedWrites() in the app, \
                and restore or remove \(rejected.words("it", "them"))
                """
            )
        }
        let expired = subscriptions.filter { subscription in subscription.expiresAt.map { $0 < inspectedAt } ?? false }
        if !expired.isEmpty {
            found.add(
                "expired-subscriptions",
                """
                \(expired.count.counted("stream subscription has", "stream subscriptions have")) expired, for example of \
                \(expired[0].stream): \(expired.count.words("its", "their")) rows go with the next sync, unless the app \
                subscribes again
                """
            )
        }
        if !untypedRows.isEmpty {
            let rows = untypedRows.reduce(0) { $0 + $1.rows }
            let tables = untypedRows.count
            found.add(
                "untyped-rows",
                """
                \(rows.counted("synced row is", "synced rows are")) of \(tables.words("a table", "tables")) that the client \
                schema does not have: \(untypedRows.map(\.table).joined(separator: ", ")). Add \
                \(tables.words("it", "them")) to the schema, or leave \(tables.words("it", "them")) out of the streams
                """
            )
        }
        for table in tables {
            guard let rows = table.unexplainedRows, rows > 0 else { continue }
            found.add(
                "unexplained-rows",
                """
                \(rows.counted("row")) of table \(table.name) \(rows.words("comes", "come")) from no operation and no local \
                write, so nothing will ever remove \(rows.words("it", "them")). If the app does not write to \(table.nameInSQLite) itself, call disconnectAndClear() and sync again
                """
            )
        }
        if !uncheckedTables.isEmpty {
            found.add(
                "unchecked-tables",
                """
                SQLite's check of the file leaves out \(uncheckedTables.count.counted("table, which needs", "tables, which need")) \
                what only the app's connections have: \(uncheckedTables.joined(separator: ", ")). Run PRAGMA integrity_check in the app
                """
            )
        }
        for bucket in buckets where bucket.isPendingDelete {
            found.add("pending-delete", "Bucket \(bucket.name) is marked for deletion, which the next sync does")
        }
        if schemaVersion < SystemTables.currentVersion {
            found.add(
                "old-version",
                """
                The internal tables have version \(schemaVersion); this SDK upgrades them to \(SystemTables.currentVersion) \
                when it opens the file
                """
            )
        }
        return found.findings
    }
}

/// Findings of one level.
private struct Collector {
    let level: DatabaseReport.Finding.Level
    private(set) var findings: [DatabaseReport.Finding] = []

    init(level: DatabaseReport.Finding.Level) {
        self.level = level
    }

    mutating func add(_ code: String, _ message: String) {
        findings.append(DatabaseReport.Finding(level: level, code: code, message: message + "."))
    }
}
