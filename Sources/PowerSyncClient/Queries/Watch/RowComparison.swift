/// Compares each result of a query with the one before.
///
/// A row is known by its key. Of rows with the same key only the last one counts, at its place.
struct RowComparison<Row: Sendable & Equatable, Key: Hashable & Sendable>: Sendable {
    /// The keys of the last result in the order of the query, and the row of each.
    private var previous: (keys: [Key], rows: [Key: Row])?

    /// Whether a result had several rows with one key.
    private(set) var hasSeenDuplicates = false

    /// Takes the next result.
    ///
    /// - Parameters:
    ///   - rows: The result.
    ///   - keyBy: The identity of a row.
    /// - Returns: How it differs from the one before; `nil` when no row was added, removed or updated.
    /// - Complexity: O(rows of both results).
    mutating func compare(_ rows: [Row], keyBy: (Row) -> Key) -> WatchDiff<Row>? {
        let current = Self.byKey(rows, keyBy)
        let isFirst = previous == nil
        let before = previous ?? ([], [:])
        previous = current
        if current.keys.count != rows.count { hasSeenDuplicates = true }

        var added: [Row] = []
        var updated: [(previous: Row, current: Row)] = []
        var unchanged: [Row] = []
        var all: [Row] = []
        all.reserveCapacity(current.keys.count)
        for key in current.keys {
            guard let row = current.rows[key] else { continue }
            all.append(row)
            switch before.rows[key] {
            case nil: added.append(row)
            case let old? where old != row: updated.append((previous: old, current: row))
            case _?: unchanged.append(row)
            }
        }
        let removed = before.keys.compactMap { current.rows[$0] == nil ? before.rows[$0] : nil }
        guard isFirst || !(added.isEmpty && updated.isEmpty && removed.isEmpty) else { return nil }
        return WatchDiff(all: all, added: added, removed: removed, updated: updated, unchanged: unchanged)
    }

    /// - Complexity: O(rows).
    private static func byKey(_ result: [Row], _ key: (Row) -> Key) -> (keys: [Key], rows: [Key: Row]) {
        var keys: [Key] = []
        var rows: [Key: Row] = [:]
        keys.reserveCapacity(result.count)
        rows.reserveCapacity(result.count)
        for row in result.reversed() {
            let key = key(row)
            guard rows[key] == nil else { continue }
            rows[key] = row
            keys.append(key)
        }
        return (keys.reversed(), rows)
    }
}
