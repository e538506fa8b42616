/// Which transactions a reader of the database sees (`pg_current_snapshot()`).
///
/// A transaction that was seen when a table began to be copied is in the copy as a whole, so its changes of that table need
/// no replaying, and must not be replayed when the table was altered since. One that was not seen has touched the table
/// after its last alteration: altering waits for all who have touched a table, and who copies a table locks it and looks
/// at its columns before.
///
/// Positions in the log cannot say that: a commit may be in the log and not be visible yet.
struct TransactionSnapshot: Hashable, Sendable {
    /// All transactions before this one had ended.
    private let oldestRunning: TransactionID
    /// This one and all after it had not begun.
    private let firstUnassigned: TransactionID
    /// Those in between that were running.
    private let running: Set<TransactionID>

    /// Creates a snapshot from PostgreSQL's text, `100:105:101,103`; `nil` for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let oldest = UInt64(parts[0]), let first = UInt64(parts[1]), oldest <= first else {
            return nil
        }
        let running = parts[2].split(separator: ",").map { UInt64($0) }
        guard !running.contains(nil) else { return nil }
        oldestRunning = TransactionID(rawValue: oldest)
        firstUnassigned = TransactionID(rawValue: first)
        self.running = Set(running.compactMap { $0.map(TransactionID.init) })
    }

    /// Whether everything that a transaction did was visible.
    ///
    /// A snapshot may be years old, and its numbers far from those that the change stream has by now.
    func sees(_ id: TransactionID) -> Bool {
        id < oldestRunning || id < firstUnassigned && !running.contains(id)
    }
}
