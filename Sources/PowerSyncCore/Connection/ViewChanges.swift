import PowerSyncSQLite

/// How many rows of views a statement has changed, which SQLite does not count: triggers tell.
struct ViewChanges {
    private var counts: [ExactText: Int64] = [:]

    /// Starts to count a statement.
    mutating func reset() {
        if !counts.isEmpty { counts = [:] }
    }

    /// Counts rows of a view.
    mutating func add(_ count: Int64, of view: String) {
        guard count > 0 else { return }
        counts[ExactText(ignoringCaseOf: view), default: 0] += count
    }

    /// The rows of a view that were changed; `nil` when there were none, or there is no such view.
    subscript(view: String) -> Int64? {
        counts.isEmpty ? nil : counts[ExactText(ignoringCaseOf: view)]
    }
}
