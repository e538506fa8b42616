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
final class ConnectionState: @unchecked Sendable {
    /// The connection's handle.
    ///
    /// Valid as long as this instance lives.
    let handle: OpaquePointer
    /// GRDB's view of the connection, for functions that do more than compute.
    ///
    /// `nil` on a connection that was opened by somebody else through the C API.
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
    /// The statements that write to raw tables.
    var rawTableStatements = RawTableStatements()
    /// Whether the open transaction has removed what the database knew of earlier syncs; see ``SyncStateReset``.
    var didResetSyncState = false
    /// How many committed transactions have changed `ps_buckets` behind the back of a sync iteration.
    ///
    /// What an iteration knows of the table is out of date when the number is another one. Other connections are noticed by
    /// `PRAGMA data_version`, which does not see what its own connection does.
    private(set) var bucketsVersion = 0
    /// What the recorder writes, as GRDB tells it, without and with a closed gate.
    private var queueRegions: (entries: DatabaseRegion, entriesAndGate: DatabaseRegion)?
    /// The working memory of `powersync_diff`.
    let difference = JSONDifference()
    /// The working memory of the functions that write rows.
    let rowObject = RowObjectWriter()
    /// The text of doubles in rows.
    let doubleText: DoubleText
    /// What the upload queue knows about the open transaction, and its statements.
    let recorder: LocalWriteRecorder
    /// The statements of the app that are kept prepared.
    let appStatements = AppStatements()
    /// When the write-ahead log is to be emptied.
    var writeAheadLog = WriteAheadLog()
    /// The tables that change, once `powersync_update_hooks('install')` was called.
    var tableChanges: TableChanges?
    /// Those who want to know the names of tables that are announced.
    private var announcementObservers: [WeakObserver] = []

    init(handle: OpaquePointer) {
        self.handle = handle
        doubleText = DoubleText(handle: handle)
        recorder = LocalWriteRecorder(handle: handle)
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
    func didApply(rawTables: [ClientRawTable], _ db: Database) {
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

    /// Tells GRDB's observers about rows that the recorder wrote, which GRDB cannot see in the statement that fired a
    /// trigger.
    ///
    /// Called when the transaction is about to be committed.
    func announceQueueChanges() throws {
        guard recorder.didAddEntries else { return }
        let didCloseGate = recorder.didCloseGate
        guard let database else {
            tableChanges?.add(Self.entryTables)
            if didCloseGate { tableChanges?.add(Self.gateTables) }
            return
        }
        let regions = try queueRegions ?? Self.queueRegions(database)
        queueRegions = regions
        recorder.didAnnounceChanges()
        try announce(
            didCloseGate ? Self.entryTables + Self.gateTables : Self.entryTables,
            in: didCloseGate ? regions.entriesAndGate : regions.entries,
            database
        )
    }

    private static let entryTables = ["ps_crud", "ps_tx"]
    private static let gateTables = ["ps_kv"]

    /// Tells all observers of tables that were written to where GRDB cannot see it.
    ///
    /// - Parameters:
    ///   - tables: Their names; `nil` when any table may have been written to.
    ///   - region: The same for GRDB.
    ///   - db: This connection, inside a transaction.
    /// - Throws: GRDB's `DatabaseError`.
    func announce(_ tables: [String]?, in region: DatabaseRegion, _ db: Database) throws {
        try noteChanges(of: tables, db)
        let observers = announcementObservers.compactMap(\.observer)
        observers.forEach { $0.willAnnounce(tables) }
        defer { observers.forEach { $0.didAnnounce() } }
        try db.notifyChanges(in: region)
    }

    /// Has `powersync_update_hooks` report tables that were written to where no hook sees it.
    ///
    /// - Parameters:
    ///   - tables: Their names; `nil` when any table may have been written to: then all of them are reported.
    ///   - db: This connection.
    /// - Throws: GRDB's `DatabaseError`.
    func noteChanges(of tables: [String]?, _ db: Database) throws {
        guard let tableChanges else { return }
        tableChanges.add(try tables ?? String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'"))
    }

    /// Whether an observer was told that a commit begins, and not how it ended.
    var awaitsEndOfCommit: Bool { announcementObservers.contains { $0.observer?.awaitsEndOfCommit == true } }

    /// Adds an observer without keeping it alive.
    func add(_ observer: any AnnouncementObserver) {
        announcementObservers.removeAll { $0.observer == nil }
        announcementObservers.append(WeakObserver(observer: observer))
    }

    /// Removes an observer.
    func remove(_ observer: any AnnouncementObserver) {
        announcementObservers.removeAll { $0.observer == nil || $0.observer === observer }
    }

    private struct WeakObserver {
        weak var observer: (any AnnouncementObserver)?
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
        guard let handle = db.sqliteConnection, let state = find(handle) else {
            throw LocalDatabaseError.invalidState(
                "PowerSync's SQL functions are not installed on this connection; see ConnectionSetUp.prepare(_:)"
            )
        }
        return state
    }
}
