import PowerSyncSyncConfig
import PowerSyncServiceCore

/// How far a table has been copied, and what the copy has seen when it began.
///
/// As ``SnapshotKey``: the snapshot's text, and the text of the last key if the table is copied in the order of its key.
struct CopyPosition: Hashable, Sendable {
    /// `pg_current_snapshot()` before the first row was read.
    var snapshot: String
    /// The last key that was copied.
    var lastKey: String?

    /// Creates a position.
    init(snapshot: String, lastKey: String? = nil) {
        self.snapshot = snapshot
        self.lastKey = lastKey
    }

    /// Reads a position; `nil` for the key of another source.
    init?(_ key: SnapshotKey) {
        guard let values = try? key.values(), case .text(let snapshot)? = values.first else { return nil }
        self.snapshot = snapshot
        if values.count > 1, case .text(let lastKey) = values[1] { self.lastKey = lastKey }
    }

    /// The position as the storage keeps it.
    var key: SnapshotKey {
        SnapshotKey([.text(snapshot)] + (lastKey.map { [.text($0)] } ?? []))
    }
}
