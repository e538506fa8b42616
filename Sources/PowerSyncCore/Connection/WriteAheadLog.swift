package import GRDB
import GRDBSQLite
import PowerSyncSQLite

/// Keeps the write-ahead log of a file small while much is written and others read.
///
/// SQLite copies the log into the file after every commit that leaves 1,000 pages or more (a *passive* checkpoint), and
/// begins to write at the start of the log again when no reader needs any of it. Two things make the log grow all the same:
///
/// - a large transaction, such as the apply of a first sync. `journal_size_limit` shrinks the log when the *next*
///   transaction is written, which may be tomorrow;
/// - readers that overlap, so that one of them always needs an old page. The log then grows as long as they go on.
///
/// So from ``limit`` on the log is *truncated*: the writer waits a moment for the readers, who are not held up themselves.
/// If one of them needs longer, the next attempt is due when the log has grown by another quarter.
///
/// A waiter for a large transaction would wait for its copy, too, which is the disk's business and may take as long. So
/// the copy of a transaction can be *postponed* to a turn of its own: those who waited write first; see
/// ``postponeCopy(_:isDue:)``.
package struct WriteAheadLog {
    /// The size from which the log is truncated, in pages: 64 MiB in files with the usual 4 KiB a page.
    static let limit: CInt = 16_384
    /// The size from which the log is copied, in pages: SQLite's default.
    private static let checkpointInterval: CInt = 1_000
    /// How long a commit waits for readers, in milliseconds.
    private static let patience: CInt = 100

    private let limit: CInt
    /// The size at which truncating is tried.
    private var nextAttempt: CInt
    /// What copies the log instead of commits.
    private var postponement = Postponement.none

    private enum Postponement {
        case none
        /// The open transaction leaves it to ``WriteAheadLog/copy(_:)``.
        case requested
        /// So many pages wait for it.
        case due(pages: CInt)
    }

    /// A log with a limit in pages.
    init(limit: CInt = WriteAheadLog.limit) {
        self.limit = limit
        nextAttempt = limit
    }

    /// Takes over checkpoints from SQLite.
    ///
    /// Does nothing when the application has chosen an interval of its own with `PRAGMA wal_autocheckpoint`, or waits for
    /// others with a callback of its own: that could wait longer than a commit may.
    static func keepSmall(_ db: Database) throws {
        if case .callback = db.configuration.busyMode { return }
        guard try CInt.fetchOne(db, sql: "PRAGMA wal_autocheckpoint") == checkpointInterval else { return }
        let state = try ConnectionState.of(db)
        // The state lives as long as the connection, whose functions refer to it.
        unsafe sqlite3_wal_hook(
            state.handle,
            { context, handle, schema, pages in
                guard let context = unsafe context, let handle = unsafe handle else { return SQLITE_OK }
                let state = unsafe Unmanaged<ConnectionState>.fromOpaque(context).takeUnretainedValue()
                unsafe state.writeAheadLog.didCommit(handle, schema, pages: pages)
                // The commit has succeeded, whatever became of the checkpoint.
                return SQLITE_OK
            },
            unsafe Unmanaged.passUnretained(state).toOpaque()
        )
    }

    /// Leaves the copy of what the open transaction writes to a turn of its own.
    ///
    /// Until then other commits copy nothing either, because they would copy all of it.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - isDue: Called on the writer after the commit, if there is enough to copy: ``copy(_:)`` has to be called soon.
    /// - Throws: When the connection is none of ours.
    package static func postponeCopy(_ db: Database, isDue: @escaping @Sendable () -> Void) throws {
        let state = try ConnectionState.of(db)
        guard case .none = state.writeAheadLog.postponement else { return }
        state.writeAheadLog.postponement = .requested
        db.afterNextTransaction { _ in
            if case .due = state.writeAheadLog.postponement { return isDue() }
            state.writeAheadLog.postponement = .none
        } onRollback: { _ in
            state.writeAheadLog.postponement = .none
        }
    }

    /// Copies what commits have left in the log.
    ///
    /// - Parameter db: The writer, outside of a transaction.
    package static func copy(_ db: Database) {
        guard let state = try? ConnectionState.of(db), case .due(let pages) = state.writeAheadLog.postponement else {
            return
        }
        state.writeAheadLog.postponement = .none
        unsafe "main".withCString { unsafe state.writeAheadLog.didCommit(state.handle, $0, pages: pages) }
    }

    private mutating func didCommit(_ handle: OpaquePointer, _ schema: UnsafePointer<CChar>?, pages: CInt) {
        if pages < limit { nextAttempt = limit }
        guard pages >= Self.checkpointInterval || pages >= limit else { return }
        switch postponement {
        case .none:
            break
        case .requested, .due:
            postponement = .due(pages: pages)
            return
        }
        guard pages >= nextAttempt else {
            unsafe sqlite3_wal_checkpoint_v2(handle, schema, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
            return
        }
        let timeout = unsafe Self.busyTimeout(handle)
        unsafe sqlite3_busy_timeout(handle, Self.patience)
        defer { unsafe sqlite3_busy_timeout(handle, timeout) }
        let code = unsafe sqlite3_wal_checkpoint_v2(handle, schema, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        nextAttempt = code == SQLITE_OK ? limit : pages + limit / 4
    }

    /// How long the connection waits for others, in milliseconds; the application may have changed it.
    private static func busyTimeout(_ handle: OpaquePointer) -> CInt {
        let text = try? unsafe PreparedStatement.firstText("PRAGMA busy_timeout", on: handle)
        return text.flatMap { CInt($0) } ?? CInt(ConnectionState.busyTimeout * 1_000)
    }
}
