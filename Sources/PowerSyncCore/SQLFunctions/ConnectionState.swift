import GRDB
import GRDBSQLite
import Synchronization

/// What our SQL functions and virtual tables remember about one connection (`database.md` 6.2).
///
/// SQLite owns the instance: every registered function and module holds a reference that it gives up when the
/// connection is closed. Swift code finds it through a registry keyed by the connection's handle. The last reference
/// goes away *before* SQLite frees the handle, and takes the registry's entry with it, so a handle that is reused by a
/// later connection never leads to old state.
///
/// `@unchecked Sendable`: SQLite calls us, and GRDB lends us `Database`, on one thread at a time per connection. That
/// is what guards every property; only the registry is shared, behind its mutex.
final class ConnectionState: @unchecked Sendable {
    /// The connection's handle.
    ///
    /// Valid as long as this instance lives.
    let handle: OpaquePointer
    /// GRDB's view of the connection, for functions that do more than compute.
    private(set) weak var database: Database?
    /// Whether synced rows are being published, in which case the upload queue ignores writes.
    var isPublishing = false
    /// Whether a sync iteration runs, during which data may not be cleared or published anew.
    var isSyncing = false
    /// What the recorder writes, as GRDB tells it, without and with a closed gate.
    private var queueRegions: (entries: DatabaseRegion, entriesAndGate: DatabaseRegion)?
    /// The working memory of `powersync_diff`.
    let difference = JSONDifference()
    /// What the upload queue knows about the open transaction, and its statements.
    let recorder: LocalWriteRecorder

    init(database: Database, handle: OpaquePointer) {
        self.database = database
        self.handle = handle
        recorder = LocalWriteRecorder(handle: handle)
        let key = UInt(bitPattern: handle)
        Self.registry.withLock { $0[key] = WeakReference(state: self) }
    }

    /// GRDB's view of the connection.
    func requireDatabase() throws -> Database {
        guard let database else { throw LocalDatabaseError.invalidState("the connection is being closed") }
        return database
    }

    /// Tells GRDB's observers about rows that the recorder wrote, which GRDB cannot see in the statement that fired a
    /// trigger.
    ///
    /// Called when the transaction is about to be committed.
    func announceQueueChanges() throws {
        guard recorder.didAddEntries, let database else { return }
        let regions = try queueRegions ?? Self.queueRegions(database)
        queueRegions = regions
        let region = recorder.didCloseGate ? regions.entriesAndGate : regions.entries
        recorder.didAnnounceChanges()
        try database.notifyChanges(in: region)
    }

    /// One column a table is enough for rows that are inserted, and takes GRDB less time than all columns.
    private static func queueRegions(
        _ db: Database
    ) throws -> (entries: DatabaseRegion, entriesAndGate: DatabaseRegion) {
        func region(_ table: String, _ column: String) throws -> DatabaseRegion {
            try Table(table).select(Column(column)).databaseRegion(db)
        }
        let entries = try region("ps_crud", "id").union(region("ps_tx", "next_tx"))
        return (entries, entries.union(try region("ps_kv", "value")))
    }

    deinit {
        let key = UInt(bitPattern: handle)
        Self.registry.withLock { $0[key] = nil }
    }

    private struct WeakReference: Sendable {
        weak var state: ConnectionState?
    }

    /// By the addresses of the connections' handles.
    private static let registry = Mutex<[UInt: WeakReference]>([:])

    /// The state of a connection, `nil` when ``SQLFunctions/install(on:)`` was not called on it.
    static func find(_ handle: OpaquePointer) -> ConnectionState? {
        let key = UInt(bitPattern: handle)
        return registry.withLock { $0[key]?.state }
    }

    /// The state of a connection.
    ///
    /// - Throws: ``LocalDatabaseError`` when ``SQLFunctions/install(on:)`` was not called on it.
    static func of(_ db: Database) throws -> ConnectionState {
        guard let handle = db.sqliteConnection, let state = find(handle) else {
            throw LocalDatabaseError.invalidState(
                "PowerSync's SQL functions are not installed on this connection; see ConnectionSetUp.prepare(_:)"
            )
        }
        return state
    }
}
