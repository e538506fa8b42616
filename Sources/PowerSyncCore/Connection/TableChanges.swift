import GRDB
import GRDBSQLite
import PowerSyncSQLite

/// The names of the tables that transactions of one connection change: `powersync_update_hooks`
/// (docs/database.md "SQL functions").
///
/// ```
///  a row changes          COMMIT                take()
///  ─────────────► pending ──────► committed ───────────► reported
///                    │ ROLLBACK
///                    └────────► forgotten
/// ```
///
/// `ROLLBACK TO` forgets nothing: reporting too much is allowed, too little is not. Names are those of tables in the
/// file, without their views. SQLite does not tell of tables without rowid, nor of rows that REPLACE removes.
///
/// A connection has one slot for each hook. On connections of GRDB, which uses them, the names come from GRDB, and from the
/// engine for statements that it steps by hand; on others the hooks are installed here, and refused if another owner has
/// done so.
final class TableChanges {
    private var pending: Set<ExactText> = []
    private var committed: Set<ExactText> = []

    /// The names since the last call, sorted.
    func take() -> [String] {
        defer { committed = [] }
        return committed.map(\.text).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Tables change in the open transaction.
    func add(_ names: [String]) {
        for name in names {
            pending.insert(ExactText(name))
        }
    }

    private func commit() {
        committed.formUnion(pending)
        pending = []
    }

    private func rollBack() {
        pending = []
    }

    /// Begins to collect names; does nothing when that has begun already.
    static func install(on state: ConnectionState) throws {
        guard state.announcements.tableChanges == nil else { return }
        let changes = TableChanges()
        if let database = state.database {
            database.add(transactionObserver: Observer(changes), extent: .databaseLifetime)
        } else {
            try unsafe changes.installHooks(on: state.handle)
        }
        state.announcements.tableChanges = changes
    }

    /// Hears of changes from GRDB.
    private final class Observer: TransactionObserver {
        private let changes: TableChanges

        init(_ changes: TableChanges) {
            self.changes = changes
        }

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }

        func databaseDidChange(with event: DatabaseEvent) {
            changes.add([event.tableName])
        }

        func databaseDidCommit(_ db: Database) {
            changes.commit()
        }

        func databaseDidRollback(_ db: Database) {
            changes.rollBack()
        }
    }

    /// The connection's state keeps this instance as long as the connection can call the hooks.
    private func installHooks(on handle: OpaquePointer) throws {
        let pointer = unsafe Unmanaged.passUnretained(self).toOpaque()
        let earlier = unsafe [
            sqlite3_update_hook(
                handle,
                { pointer, _, _, table, _ in
                    guard let pointer = unsafe pointer, let table = unsafe table else { return }
                    unsafe Unmanaged<TableChanges>.fromOpaque(pointer).takeUnretainedValue().add([
                        String(cString: table)
                    ])
                },
                unsafe pointer
            ),
            unsafe sqlite3_commit_hook(
                handle,
                { pointer in
                    guard let pointer = unsafe pointer else { return 0 }
                    unsafe Unmanaged<TableChanges>.fromOpaque(pointer).takeUnretainedValue().commit()
                    return 0
                },
                unsafe pointer
            ),
            unsafe sqlite3_rollback_hook(
                handle,
                { pointer in
                    guard let pointer = unsafe pointer else { return }
                    unsafe Unmanaged<TableChanges>.fromOpaque(pointer).takeUnretainedValue().rollBack()
                },
                unsafe pointer
            ),
        ]
        guard unsafe earlier.allSatisfy({ unsafe $0 == nil }) else {
            unsafe sqlite3_update_hook(handle, nil, nil)
            unsafe sqlite3_commit_hook(handle, nil, nil)
            unsafe sqlite3_rollback_hook(handle, nil, nil)
            throw LocalDatabaseError.invalidState(
                "the connection has an update, commit or rollback hook already, which was removed by this call"
            )
        }
    }
}
