import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol

@testable import PowerSyncCore

/// A client that plays a transcript: a database and an engine.
final class TranscriptClient {
    /// The schema that it begins with.
    private let firstSchema: TranscriptSchema
    private(set) var queue: DatabaseQueue
    private(set) var engine: SyncEngine
    private(set) var schema: TranscriptSchema
    /// The streams for which the app holds a handle.
    private(set) var live: [StreamKey] = []
    /// From how many operations on a first sync is a bulk load.
    var bulkLoadThreshold: Int64
    /// Where the database is; `nil` for one in memory.
    private let path: String?

    /// Opens a client on a database in memory, or on a file.
    ///
    /// - Parameters:
    ///   - schema: Its tables.
    ///   - path: Where the database is to be; `nil` for memory.
    ///   - bulkLoadThreshold: From how many operations on a first sync is a bulk load.
    /// - Throws: `DatabaseError` of SQLite.
    init(_ schema: TranscriptSchema, at path: String? = nil, bulkLoadThreshold: Int64) throws {
        self.schema = schema
        firstSchema = schema
        self.path = path
        self.bulkLoadThreshold = bulkLoadThreshold
        engine = SyncEngine(bulkLoadThreshold: bulkLoadThreshold)
        let configuration = Configuration().forPowerSync()
        queue =
            try path.map { try DatabaseQueue(path: $0, configuration: configuration) }
            ?? DatabaseQueue(configuration: configuration)
        try queue.write { db in
            try SystemTables.migrate(db)
            try db.execute(sql: "CREATE TABLE local_notes (id TEXT PRIMARY KEY, col TEXT)")
            try schema.clientSchema.apply(to: db)
            // The tables are made when they are needed first.
            _ = try ParkedWrites.park(db, [])
            _ = try ParkedWrites.remove(db, "[]")
            try KeyValueStore.set(db, .clientID, to: "client")
        }
    }

    /// Makes a database in memory what it was in the beginning; much faster than opening another one.
    func reset() throws {
        if schema != firstSchema { try apply(firstSchema) }
        try queue.write { db in
            let tables = [
                "ps_oplog", "ps_buckets", "ps_crud", "ps_untyped", "ps_updated_rows", "ps_sync_state",
                "ps_stream_subscriptions", "ps_data__items", "sqlite_sequence", "local_notes", RejectedWrites.table,
                ParkedWrites.table,
            ]
            for table in tables { try db.cachedStatement(sql: "DELETE FROM \(table)").execute() }
            try db.cachedStatement(sql: "DELETE FROM ps_kv WHERE key <> 'client_id'").execute()
            try db.cachedStatement(sql: "UPDATE ps_tx SET next_tx = 1").execute()
            let trigger = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'ps_crud')"
            if try Bool.fetchOne(db.cachedStatement(sql: trigger)) == true { _ = try ParkedWrites.remove(db, "[]") }
            while try OplogIndexes.createNext(db) {}
            try SyncActivity.setActive(db, false)
        }
        engine = SyncEngine(bulkLoadThreshold: bulkLoadThreshold)
        live = []
    }

    /// Handles as many events as the engine takes, in one transaction.
    func handle(
        _ events: some Sequence<SyncEvent>,
        now: SyncInstant,
        isOutOfTime: () -> Bool = { false }
    ) throws -> SyncStep {
        var next = engine
        let step = try queue.write {
            try next.handle(events, in: $0, now: now, live: { live }, isOutOfTime: isOutOfTime)
        }
        engine = next
        return step
    }

    /// Handles an event, in as many transactions as the engine needs to create indexes before.
    ///
    /// - Returns: All actions.
    func handle(_ event: SyncEvent, now: SyncInstant) throws -> [SyncAction] {
        var actions: [SyncAction] = []
        while true {
            let step = try handle(CollectionOfOne(event), now: now)
            actions += step.actions
            if step.handledEvents > 0 || step.isClosed { return actions }
        }
    }

    /// Handles events in a transaction that is rolled back.
    func handleInVain(_ events: some Sequence<SyncEvent>, now: SyncInstant) throws {
        var next = engine
        try queue.inTransaction { db in
            _ = try next.handle(events, in: db, now: now, live: { live })
            return .rollback
        }
    }

    /// Gives all operations other row ids, and lets the engine find what it finds when another process has written.
    func renumberOperations() throws {
        try queue.write { db in
            let hasBuckets = try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM ps_buckets)")
            guard try Bool.fetchOne(hasBuckets) == true else { return }
            try db.cachedStatement(sql: "UPDATE ps_oplog SET rowid = rowid + 1000000").execute()
            try ConnectionState.of(db).didChangeBuckets(db)
        }
    }

    /// Runs a transaction that is not the engine's.
    func run(_ change: LocalChange, now: SyncInstant) throws {
        try queue.write { try change.run($0, now) }
        guard let (key, isHeld) = change.handle else { return }
        live.removeAll { $0 == key }
        if isHeld { live.append(key) }
    }

    /// Applies another schema.
    func apply(_ schema: TranscriptSchema) throws {
        try queue.write { try schema.clientSchema.apply(to: $0) }
        self.schema = schema
    }

    /// The process ends, and another one opens the database: nothing is left of the engine and of the connection.
    func reopen() throws {
        engine = SyncEngine(bulkLoadThreshold: bulkLoadThreshold)
        let next: DatabaseQueue
        if let path {
            try queue.close()
            next = try DatabaseQueue(path: path, configuration: Configuration().forPowerSync())
        } else {
            next = try DatabaseQueue(configuration: Configuration().forPowerSync())
            try queue.backup(to: next)
        }
        queue = next
        try queue.write { db in
            try SystemTables.migrate(db)
            try schema.clientSchema.apply(to: db)
        }
    }

    /// What the client looks like.
    func state() throws -> ClientState {
        try look { try ClientState(self, $0) }
    }

    /// Reads from the database, without what makes `read` safe and slow.
    func look<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try queue.unsafeRead(body)
    }
}

extension SyncStep {
    /// Whether the iteration has ended.
    var isClosed: Bool {
        if case .closeStream = actions.last { true } else { false }
    }
}
