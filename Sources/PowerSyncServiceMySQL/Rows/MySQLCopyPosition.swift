import PowerSyncServiceCore
import PowerSyncSyncConfig

/// How far a table has been copied, and what the copy has seen when it began.
///
/// As ``SnapshotKey``: the text of a position of the log, and the values of the last key if the table is copied in the order of its key.
struct MySQLCopyPosition: Hashable, Sendable {
    /// The position before which the copy has seen everything, between two transactions.
    var seen: LogPosition
    /// The last key that was copied (``MySQLValueForm/keyValue(of:)``); `nil` before the first one.
    var lastKey: [SQLValue]?

    /// Creates a position.
    init(seen: LogPosition, lastKey: [SQLValue]? = nil) {
        self.seen = seen
        self.lastKey = lastKey
    }

    /// Reads a position; `nil` for the key of another source.
    init?(_ key: SnapshotKey) {
        guard let values = try? key.values(), case .text(let lsn)? = values.first, let seen = LogPosition(LSN(lsn))
        else { return nil }
        self.init(seen: seen, lastKey: values.count > 1 ? Array(values.dropFirst()) : nil)
    }

    /// The position as the storage keeps it.
    var key: SnapshotKey { SnapshotKey([.text(seen.lsn.rawValue)] + (lastKey ?? [])) }
}
