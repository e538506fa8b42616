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
    private let oldestRunning: UInt64
    /// This one and all after it had not begun.
    private let firstUnassigned: UInt64
    /// Those in between that were running.
    private let running: Set<UInt64>

    /// Creates a snapshot from PostgreSQL's text, `100:105:101,103`; `nil` for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let oldest = UInt64(parts[0]), let first = UInt64(parts[1]), oldest <= first else {
            return nil
        }
        let running = parts[2].split(separator: ",").map { UInt64($0) }
        guard !running.contains(nil) else { return nil }
        oldestRunning = oldest
        firstUnassigned = first
        self.running = Set(running.compactMap { $0 })
    }

    /// Whether a transaction was seen.
    ///
    /// - Parameter id: Its number as the change stream has it, without the upper half.
    /// - Returns: Whether everything that it did was visible.
    func sees(_ id: UInt32) -> Bool {
        // The number that is nearest to those of the snapshot: transactions more than 2³¹ apart do not exist at one time.
        let distance = Int32(bitPattern: id &- UInt32(truncatingIfNeeded: firstUnassigned))
        guard distance < 0 else { return false }
        let (number, isBefore) = firstUnassigned.subtractingReportingOverflow(UInt64(distance.magnitude))
        guard !isBefore, number >= oldestRunning else { return true }
        return !running.contains(number)
    }
}
