import GRDBSQLite
import PowerSyncSQLite

/// Counts the rows that one execution of a statement of the app changes.
///
/// SQLite counts 0 for a view, whose triggers do the work, and keeps the number of an earlier statement when the latest one is no
/// `INSERT`, `UPDATE` or `DELETE`.
///
/// `@safe`: it is made and used inside one access to the connection.
@safe package struct RowChanges {
    private let table: String?
    private let connection: OpaquePointer

    /// Begins to count; create it before each execution.
    ///
    /// - Parameters:
    ///   - table: `SQLText.changedTable` of the statement.
    ///   - connection: The `sqlite3 *`.
    package init(of table: String?, on connection: OpaquePointer) {
        self.table = table
        unsafe self.connection = connection
        unsafe ConnectionState.find(connection)?.viewChanges.reset()
    }

    /// The number of rows, when the execution has ended; 0 for a statement that is no `INSERT`, `UPDATE` or `DELETE`.
    package var count: Int64 {
        guard let table else { return 0 }
        return unsafe ConnectionState.find(connection)?.viewChanges[table] ?? Int64(sqlite3_changes64(connection))
    }
}

/// How many rows of views a statement has changed, which SQLite does not count: triggers tell.
///
/// Run for every row that is written: the rows of one view after the other are counted without a `String` of its name.
struct ViewChanges {
    /// The view whose rows were counted last; its name is kept for the next statement.
    private var lastView: [UInt8] = []
    private var lastCount: Int64 = 0
    /// The rows of the views before it.
    private var counts: [ExactText: Int64] = [:]

    /// Starts to count a statement.
    mutating func reset() {
        lastCount = 0
        if !counts.isEmpty { counts = [:] }
    }

    /// Counts rows of a view.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - view: The bytes of its name.
    mutating func add(_ count: Int64, of view: UnsafeRawBufferPointer) {
        guard count > 0 else { return }
        if unsafe lastView.equals(view) {
            lastCount += count
        } else {
            if lastCount > 0 { counts[Self.key(lastView), default: 0] += lastCount }
            lastView = unsafe Array(view)
            lastCount = count
        }
    }

    /// The rows of a view that were changed; `nil` when there were none, or there is no such view.
    subscript(view: String) -> Int64? {
        guard lastCount > 0 || !counts.isEmpty else { return nil }
        let key = ExactText(ignoringCaseOf: view)
        let count = (counts[key] ?? 0) + (key == Self.key(lastView) ? lastCount : 0)
        return count > 0 ? count : nil
    }

    private static func key(_ view: [UInt8]) -> ExactText {
        ExactText(ignoringCaseOf: String(decoding: view, as: UTF8.self))
    }
}
