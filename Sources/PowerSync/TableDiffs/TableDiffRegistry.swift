import GRDB
import PowerSyncCore
import Synchronization

/// The table diffs of a database.
final class TableDiffRegistry: Sendable {
    private struct WeakReference: Sendable {
        weak var diff: TableDiff?
    }

    private struct State {
        var lastNumber = 0
        var diffs: [WeakReference] = []
    }

    private let state = Mutex(State())

    /// A number that no other diff has.
    func nextNumber() -> Int {
        state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    /// Adds a diff.
    func add(_ diff: TableDiff) {
        state.withLock { state in
            state.diffs.removeAll { $0.diff == nil }
            state.diffs.append(WeakReference(diff: diff))
        }
    }

    /// Drops what records the diffs, because the tables may change.
    ///
    /// - Parameter db: The writer, inside a transaction.
    /// - Returns: The diffs, to be told when the transaction was committed.
    /// - Throws: GRDB's `DatabaseError`.
    func drop(_ db: Database) throws -> [TableDiff] {
        let diffs = state.withLock { $0.diffs.compactMap(\.diff) }
        for diff in diffs {
            try diff.recording.drop(db)
        }
        return diffs
    }
}
