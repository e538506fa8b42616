import GRDB
import NIOConcurrencyHelpers
import PowerSyncCore

/// The table diffs that are recorded by connections to a file, for any of its handles.
///
/// A recording is kept until it was dropped, also when its diff has no owner any more: its triggers are objects of a
/// connection that may outlive the database.
final class TableDiffRegistry: Sendable {
    /// The number of the last diff, and the recordings of all by number, with the number of the handle that records.
    private let state = NIOLockedValueBox<
        (
            lastNumber: Int,
            entries: [Int: (recording: TableDiffRecording, handle: Int, diff: WeakReference<TableDiff>)]
        )
    >((0, [:]))

    /// A number that no other diff has.
    func nextNumber() -> Int {
        state.withLockedValue { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    /// Adds a diff of a handle.
    func add(_ diff: TableDiff, of handle: Int) {
        state.withLockedValue {
            $0.entries[diff.number] = (diff.recording, handle, WeakReference(diff))
        }
    }

    /// Removes a diff whose recording was dropped.
    func remove(_ number: Int) {
        state.withLockedValue { _ = $0.entries.removeValue(forKey: number) }
    }

    /// Drops what records the diffs, because the tables may change, or no diff records any more.
    ///
    /// - Parameters:
    ///   - db: The writer.
    ///   - handle: The handle whose diffs end; `nil` for all.
    /// - Returns: The diffs, to be told when the transaction was committed.
    /// - Throws: GRDB's `DatabaseError`.
    @discardableResult
    func drop(_ db: Database, of handle: Int? = nil) throws -> [TableDiff] {
        let entries = state.withLockedValue { state in
            state.entries.values.filter { handle == nil || $0.handle == handle }
        }
        for entry in entries {
            try entry.recording.drop(db)
        }
        return entries.compactMap { $0.diff.object }
    }
}
