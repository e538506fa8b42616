import Foundation
import PowerSyncCore
import PowerSyncSQLite

// Local writes: those that wait for their upload, and those that were rejected.

extension Inspection {
    mutating func readQueue() throws {
        guard has("ps_crud") else { return }
        var queue = DatabaseReport.Queue()
        try connection.forEachRow(
            "SELECT id, \(column("tx_id", of: "ps_crud")), data FROM ps_crud ORDER BY id"
        ) { row in
            let write = write(at: row)
            queue.writes += 1
            queue.bytes += Int64(row.byteCount(at: 2))
            if queue.first.count < Self.shownWrites { queue.first.append(write) }
            queue.newest = write
            if write.damage != nil {
                queue.damaged += 1
                queue.firstDamaged = queue.firstDamaged ?? write
            }
        }
        report.uploadQueue = queue
    }

    mutating func readRejectedWrites() throws {
        let (table, parkedTable) = (RejectedWrites.table, "powersync_swift_parked_writes")
        guard has(table) else { return }
        var waits: [Int64: Bool] = [:]
        if has(parkedTable) {
            try connection.forEachRow("SELECT id, waits FROM \(parkedTable)") { row in
                waits[row.integer(at: 0)] = row.integer(at: 1) != 0
            }
        }
        try connection.forEachRow("SELECT id, tx_id, data, reason, rejected_at FROM \(table) ORDER BY id") { row in
            let write = write(at: row)
            report.rejectedWrites.append(
                DatabaseReport.RejectedWrite(
                    write: write,
                    kind: waits[write.id].map { $0 ? .waiting : .parked } ?? .skipped,
                    reason: row.string(at: 3) ?? "",
                    at: time(row, 4, per: 1_000_000, "\(table).rejected_at", of: "write \(write.id)")
                )
            )
        }
    }

    /// The write of a row with id, transaction and entry, without its values unless they are wanted.
    private func write(at row: PreparedStatement) -> DatabaseReport.Write {
        let write = QueuedWrite(currentRowOf: row)
        return DatabaseReport.Write(
            id: write.id,
            transaction: write.transactionID,
            operation: write.kind.rawValue,
            table: write.table,
            row: write.rowID,
            damage: write.damage?.reason,
            entry: showsRows ? row.string(at: 2) ?? "" : nil
        )
    }
}
