import Foundation
import PowerSyncProtocol
import PowerSyncTerminal

extension DatabaseReport {
    /// How many lines of a kind are printed; JSON has all.
    private static let shownLines = 50

    /// The report for people, as lines; the findings are last.
    var lines: [String] {
        let lines =
            headLines + section("buckets", bucketLines) + section("upload queue", queueLines)
            + section("rejected writes", rejectedLines) + section("stream subscriptions", subscriptionLines)
            + section("tables", tableLines) + section("findings", findingLines)
        return lines.map { TerminalText.line($0) }
    }

    private func section(_ title: String, _ lines: [String]) -> [String] {
        lines.isEmpty ? [] : ["", title] + lines
    }

    private var headLines: [String] {
        let log = file.logBytes > 0 ? ", and \(Int(file.logBytes).grouped) in the write-ahead log" : ""
        let times = lastSynced.map { time in
            (time.priority.map { "priority \($0)" } ?? "everything") + " at \(time.at.inReports)"
        }
        return [
            "file            \(file.path), \(file.bytes.groupedBytes)\(log)",
            "schema version  \(schemaVersion)",
            "client id       \(clientID ?? "none")",
            "last synced     \(times.isEmpty ? "never" : times.joined(separator: ", "))",
            "checkpoints     \(gateText)",
            "SQLite's check  \(checkText)",
        ]
    }

    private var checkText: String {
        guard let sqliteProblems else { return "could not be run" }
        guard sqliteProblems.isEmpty else { return sqliteProblems.count.counted("problem") }
        guard !uncheckedTables.isEmpty else { return "ok" }
        return "ok, except for \(uncheckedTables.count.counted("table that was", "tables that were")) left out"
    }

    private var gateText: String {
        switch gate.state {
        case .open: "published when they are complete"
        case .uploads: "held back: local writes wait for their upload"
        case .writeCheckpoint: "held back: a write checkpoint has to be asked for"
        case .acknowledgement:
            "held back: write checkpoint \(gate.target ?? 0) is awaited, \(gate.seen.map(String.init) ?? "none") was seen"
        }
    }

    private var bucketLines: [String] {
        var table = TextTable(header: ["name", "operations", "last", "published", "checksum", "log"])
        for bucket in buckets.prefix(Self.shownLines) {
            let state =
                switch bucket.isIntact {
                case true?: "intact"
                case false?: "DAMAGED"
                case nil: "unchecked"
                }
            table.rows.append([
                bucket.name, bucket.operations.grouped, "\(bucket.lastOp)", "\(bucket.lastAppliedOp)",
                "\(bucket.addChecksum &+ (bucket.opChecksum ?? bucket.computedChecksum))",
                state + (bucket.isPendingDelete ? ", pending delete" : ""),
            ])
        }
        return buckets.isEmpty ? [] : table.lines + more(buckets.count)
    }

    private var queueLines: [String] {
        guard uploadQueue.writes > 0, let oldest = uploadQueue.first.first else { return ["  empty"] }
        var lines = [
            "  \(uploadQueue.writes.grouped) \(uploadQueue.writes.words("write")), \(uploadQueue.bytes.groupedBytes)",
            "  oldest  \(oldest.line)",
        ]
        if let newest = uploadQueue.newest { lines.append("  newest  \(newest.line)") }
        var transaction: Int64?
        for (index, write) in uploadQueue.first.enumerated() {
            if index == 0 || write.transaction == nil || write.transaction != transaction {
                lines.append("  transaction \(write.transaction.map(String.init) ?? "unknown")")
            }
            transaction = write.transaction
            lines.append("    \(write.line)")
            if let entry = write.entry { lines.append("      \(entry)") }
        }
        let hidden = uploadQueue.writes - uploadQueue.first.count
        return lines + (hidden > 0 ? ["  and \(hidden.grouped) more"] : [])
    }

    private var rejectedLines: [String] {
        rejectedWrites.prefix(Self.shownLines).flatMap { rejected in
            [
                "  \(rejected.kind.rawValue)  \(rejected.write.line)  \(rejected.at?.inReports ?? "")  \(rejected.reason)"
            ] + (rejected.write.entry.map { ["    \($0)"] } ?? [])
        } + more(rejectedWrites.count)
    }

    private var subscriptionLines: [String] {
        subscriptions.prefix(Self.shownLines).map { subscription in
            var parts = [
                [subscription.stream, subscription.parameters].compactMap(\.self).joined(separator: " ")
            ]
            parts.append(subscription.isActive ? "active" : "not offered by the service")
            if subscription.isDefault { parts.append("default") }
            if let priority = subscription.priority { parts.append("priority \(priority)") }
            if let seconds = subscription.secondsToLive { parts.append("kept for \(seconds) s") }
            if let end = subscription.expiresAt { parts.append("until \(end.inReports)") }
            parts.append(subscription.lastSyncedAt.map { "synced at \($0.inReports)" } ?? "never synced")
            return "  " + parts.joined(separator: ", ")
        } + more(subscriptions.count)
    }

    private var tableLines: [String] {
        var text = TextTable(header: ["name", "rows", "kind"])
        for table in tables {
            text.rows.append([table.name, table.rows.grouped, table.isLocalOnly ? "local only" : "synced"])
        }
        for rows in untypedRows {
            text.rows.append([rows.table, rows.rows.grouped, "not in the client schema"])
        }
        return text.rows.isEmpty ? [] : text.lines
    }

    private var findingLines: [String] {
        findings.isEmpty ? ["  none"] : findings.map { "  \($0.level.rawValue): \($0.message) [\($0.code)]" }
    }

    private func more(_ count: Int) -> [String] {
        count > Self.shownLines ? ["  and \((count - Self.shownLines).grouped) more"] : []
    }
}

extension Int64 {
    /// A number of bytes: `1,234 bytes`.
    fileprivate var groupedBytes: String { "\(Int(self).grouped) \(words("byte"))" }
}

extension DatabaseReport.Write {
    /// What and where, without values: `12 PATCH todos/t1`.
    fileprivate var line: String {
        "\(id) \(operation) \(table)/\(row)\(damage == nil ? "" : " (damaged)")"
    }
}
