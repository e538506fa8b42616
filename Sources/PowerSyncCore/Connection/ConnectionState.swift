import GRDB
import GRDBSQLite
import NIOConcurrencyHelpers

/// What our SQL functions and virtual tables remember about one connection (docs/database.md "Connections").
///
/// SQLite owns the instance: every registered function and module holds a reference that it gives up when the
/// connection is closed. Swift code finds it through a registry keyed by the connection's handle. The last reference
/// goes away *before* SQLite frees the handle, and takes the registry's entry with it, so a handle that is reused by a
/// later connection never leads to old state.
///
/// `@unchecked Sendable`: SQLite calls us, and GRDB lends us `Database`, on one thread at a time per connection. That
/// is what guards every property; only the registry is shared, behind its mutex.
///
/// `@safe`: SQLite keeps the connection until the last reference to the instance is gone.
@safe final class ConnectionState: @unchecked Sendable {
    /// The connection's handle.
    ///
    /// Valid as long as this instance lives.
    let handle: OpaquePointer
    /// GRDB's view of the connection, for functions that do more than compute.
    ///
    /// `nil` on a connection that another library opened through the C API.
    private(set) weak var database: Database?
    /// Whether synced rows are being published, in which case the upload queue ignores writes.
    var isPublishing = false
    /// Whether a sync iteration runs, during which data may not be cleared or published anew.
    var isSyncing = false
    /// The raw tables of the schema that was applied last.
    private(set) var rawTables: [ClientRawTable] = []
    /// Those of the last schema whose transaction was committed.
    private var committedRawTables: [ClientRawTable] = []
    /// How many rows of views the running statement of the app has changed.
    var viewChanges = ViewChanges()
    /// Whether the open transaction has removed what the database knew of earlier syncs; see ``SyncStateReset``.
    var didResetSyncState = false
    /// How many committed transactions have changed `ps_buckets` behind the back of a sync iteration.
    ///
    /// What an iteration knows of the table is out of date when the number is another one. Other connections are noticed by
    /// `PRAGMA data_version`, which does not see what its own connection does.
    private(set) var bucketsVersion = 0
    /// The working memory of `powersync_diff`.
    let difference = JSONDifference()
    /// The working memory of the functions that write rows.
    var rowObject = RowObjectWriter()
    /// The text of doubles in rows.
    let doubleText: DoubleText
    /// What the upload queue knows about the open transaction, and its statements.
    let recorder: LocalWriteRecorder
    /// The statements of the app that are kept prepared.
    let appStatements = AppStatements()
    /// When the write-ahead log is to be emptied.
    var writeAheadLog = WriteAheadLog()
    /// The listeners of tables that were written to where GRDB cannot see it.
    let announcements = Announcements()

    /// How long a connection waits for another process, in seconds.
    static let busyTimeout: Double = 30

    init(handle: OpaquePointer) {
        unsafe self.handle = handle
        doubleText = unsafe DoubleText(handle: handle)
        recorder = unsafe LocalWriteRecorder(handle: handle)
        let key = UInt(bitPattern: handle)
        Self.registry.withLockedValue { $0[key] = WeakReference(state: self) }
    }

    /// Makes GRDB's view of the connection known.
    func attach(_ database: Database) {
        self.database = database
        doubleText.database = database
    }

    /// GRDB's view of the connection.
    func requireDatabase() throws -> Database {
        guard let database else {
            throw LocalDatabaseError.invalidState(
                "this function needs a connection that PowerSync or GRDB has opened"
            )
        }
        return database
    }

    /// A schema was applied in the open transaction.
    func didApply(_ db: Database, rawTables: [ClientRawTable]) {
        self.rawTables = rawTables
        db.afterNextTransaction { [weak self] _ in
            guard let self else { return }
            committedRawTables = self.rawTables
        } onRollback: { [weak self] _ in
            guard let self else { return }
            self.rawTables = committedRawTables
        }
    }

    /// ``LocalData`` has changed `ps_buckets` in the open transaction.
    func didChangeBuckets(_ db: Database) {
        db.afterNextTransaction { [weak self] _ in self?.bucketsVersion += 1 }
    }

    deinit {
        let key = unsafe UInt(bitPattern: handle)
        Self.registry.withLockedValue { $0[key] = nil }
    }

    private struct WeakReference: Sendable {
        weak var state: ConnectionState?
    }

    /// By the addresses of the connections' handles.
    private static let registry = NIOLockedValueBox<[UInt: WeakReference]>([:])

    /// The state of a connection, `nil` when ``SQLFunctions/install(on:)`` was not called on it.
    static func find(_ handle: OpaquePointer) -> ConnectionState? {
        let key = UInt(bitPattern: handle)
        return registry.withLockedValue { $0[key]?.state }
    }

    /// The state of a connection.
    ///
    /// - Throws: ``LocalDatabaseError`` when ``SQLFunctions/install(on:)`` was not called on it.
    static func of(_ db: Database) throws -> ConnectionState {
        guard let handle = unsafe db.sqliteConnection, let state = unsafe find(handle) else {
            throw LocalDatabaseError.invalidState(
                "PowerSync's SQL functions are not installed on this connection; see ConnectionSetUp.prepare(_:)"
            )
        }
        return state
    }
}
