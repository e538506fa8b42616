import PowerSyncServiceCore
import PowerSyncSyncConfig

/// Which rows a transaction has changed, for one that may be undone, or take effect later: they are read again then.
struct ChangedRows: Sendable {
    /// The most rows that are remembered one by one.
    static let maximumCount = 100_000

    /// The tables, with the keys of their rows before and after; `nil` for a table of which the keys are not known, or are too many.
    private(set) var keys: [SourceTableDescriptor: Set<[SQLValue]>?] = [:]
    /// The folded names of tables that were not followed, and may be when the rows are read.
    var unfollowed: Set<SourceTableName> = []
    /// How often a row was added.
    private(set) var count = 0

    /// Adds a row.
    ///
    /// - Parameters:
    ///   - key: Its key; `nil` when it is not known.
    ///   - table: Its table.
    mutating func add(_ key: [SQLValue]?, of table: SourceTableDescriptor) {
        count += 1
        guard let key, count <= Self.maximumCount else {
            keys[table] = .some(nil)
            return
        }
        keys[table, default: Set()]?.insert(key)
    }

    /// Adds the rows of another part of the transaction.
    mutating func add(_ other: ChangedRows) {
        for (table, keys) in other.keys {
            guard let keys else {
                add(nil, of: table)
                continue
            }
            for key in keys { add(key, of: table) }
        }
    }
}

/// The savepoints of a transaction, with the rows that it has changed after each of them and before the next.
struct Savepoints: Sendable {
    /// The most that are remembered: one that is forgotten is unknown when it is named.
    static let maximumCount = 1000

    private var parts: [(name: String, rows: ChangedRows)] = []
    /// How many rows were added to all parts.
    private var count = 0

    /// Whether there is none.
    var isEmpty: Bool { parts.isEmpty }

    /// Begins the part after a savepoint; it takes the place of an earlier one with its name.
    mutating func begin(_ name: String) {
        if let place = parts.lastIndex(where: { $0.name == name }) {
            let rows = parts.remove(at: place).rows
            // What was changed before the first savepoint cannot be undone.
            if place > 0 { parts[place - 1].rows.add(rows) }
        }
        if parts.count == Self.maximumCount { parts.removeFirst(Self.maximumCount / 2) }
        parts.append((name, ChangedRows()))
    }

    /// Adds a row to the last part; beyond ``ChangedRows/maximumCount`` rows of all parts, keys are not remembered.
    mutating func add(_ key: [SQLValue], of table: SourceTableDescriptor) {
        count += 1
        parts[parts.count - 1].rows.add(count <= ChangedRows.maximumCount ? key : nil, of: table)
    }

    /// Ends the parts after a savepoint, which stays.
    ///
    /// - Returns: The rows of these parts; `nil` for a savepoint that is not known.
    mutating func undo(to name: String) -> ChangedRows? {
        guard let place = parts.lastIndex(where: { $0.name == name }) else { return nil }
        var rows = ChangedRows()
        for part in parts[place...] { rows.add(part.rows) }
        parts.removeSubrange(place...)
        parts.append((name, ChangedRows()))
        return rows
    }
}

/// The transactions that are prepared: their rows are in the log, and show when another group commits them, perhaps days later.
///
/// One that has ended is remembered as well, as the log may be read once more from a place between: up to ``maximumEnded`` of them, and
/// fewer if they have many rows. The end of one that was forgotten is that of one that was prepared before the log was read.
struct PreparedTransactions: Sendable {
    /// The most transactions that are remembered after their end.
    static let maximumEnded = 1000

    private struct Transaction {
        /// Where it was prepared: names are used again.
        var place: LogPosition
        var rows: ChangedRows
        /// Where it has ended.
        var end: LogPosition?
    }

    /// By their names, in the order of their places.
    private var transactions: [TransactionName: [Transaction]] = [:]
    /// Those that have ended, the one that ended first in front.
    private var ended: [(name: TransactionName, place: LogPosition)] = []
    /// How many rows those have.
    private var endedRows = 0

    /// How many are remembered.
    var count: Int { transactions.values.reduce(0) { $0 + $1.count } }

    /// Remembers a transaction.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - rows: What it has changed.
    ///   - place: Where it was prepared.
    mutating func add(_ name: TransactionName, _ rows: ChangedRows, at place: LogPosition) {
        let known = transactions[name, default: []]
        // The log is read once more.
        guard !known.contains(where: { $0.place == place }) else { return }
        let index = known.firstIndex { $0.place > place } ?? known.count
        transactions[name, default: []].insert(Transaction(place: place, rows: rows), at: index)
    }

    /// The rows of a transaction that ends; `nil` for one that was prepared before the log was read, or was forgotten.
    mutating func end(_ name: TransactionName, at end: LogPosition) -> ChangedRows? {
        guard let index = transactions[name]?.lastIndex(where: { $0.place < end }),
            let transaction = transactions[name]?[index]
        else { return nil }
        guard transaction.end == nil else { return transaction.end == end ? transaction.rows : nil }
        transactions[name]?[index].end = end
        ended.append((name, transaction.place))
        endedRows += transaction.rows.count
        while ended.count > 1, ended.count > Self.maximumEnded || endedRows > ChangedRows.maximumCount {
            let oldest = ended.removeFirst()
            remove(oldest.name, at: oldest.place)
        }
        return transaction.rows
    }

    /// Forgets transactions that have ended.
    mutating func forget(before position: LogPosition) {
        let forgotten = ended.filter { one in
            transactions[one.name]?.contains { $0.place == one.place && $0.end.map { $0 <= position } ?? false }
                ?? false
        }
        for one in forgotten { remove(one.name, at: one.place) }
        ended.removeAll { one in forgotten.contains { $0 == one } }
    }

    private mutating func remove(_ name: TransactionName, at place: LogPosition) {
        guard let index = transactions[name]?.firstIndex(where: { $0.place == place }) else { return }
        if let rows = transactions[name]?.remove(at: index).rows { endedRows -= rows.count }
        if transactions[name]?.isEmpty == true { transactions[name] = nil }
    }
}
