import GRDB
import NIOCore
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// How lines reach the engine in a test, which must not matter.
enum Delivery: CaseIterable {
    /// Each line in a transaction of its own.
    case oneByOne
    /// Lines that are sent together share a transaction.
    case batched
    /// Each line in a transaction of its own, after it was encoded and decoded as JSON.
    case json
    /// Lines share a transaction, after they were encoded and decoded as BSON.
    case bson

    /// Whether lines that are sent together share a transaction.
    var isBatching: Bool { self == .batched || self == .bson }

    /// The line as it arrives; its length stays what the test says.
    func transmit(_ line: SyncLine) throws -> SyncLine {
        var buffer = ByteBuffer()
        switch self {
        case .oneByOne, .batched:
            return line
        case .json:
            line.encode(as: .ndjson, into: &buffer)
            return try SyncLine(json: buffer)
        case .bson:
            line.encode(as: .bson, into: &buffer)
            return try SyncLine(bson: buffer)
        }
    }
}

/// A client in a test: a database and an engine, driven by hand.
final class SyncScenario {
    let database: LocalTestDatabase
    let delivery: Delivery
    private(set) var engine: SyncEngine
    /// The time that the next events are handled at.
    var now = SyncInstant(microseconds: 1_700_000_000_000_000)
    /// The streams for which the application holds a handle.
    var live: [StreamKey] = []

    init(
        _ tables: ClientTable...,
        rawTables: [ClientRawTable] = [],
        delivery: Delivery = .oneByOne,
        bulkLoadThreshold: Int64? = nil
    ) throws {
        engine = bulkLoadThreshold.map { SyncEngine(bulkLoadThreshold: $0) } ?? SyncEngine()
        database = try LocalTestDatabase(
            schema: ClientSchema(tables: tables.isEmpty ? [.items()] : tables, rawTables: rawTables)
        )
        self.delivery = delivery
    }

    /// A client that opens a database that exists.
    init(database: LocalTestDatabase, bulkLoadThreshold: Int64? = nil) {
        self.database = database
        delivery = .oneByOne
        engine = bulkLoadThreshold.map { SyncEngine(bulkLoadThreshold: $0) } ?? SyncEngine()
    }

    /// A client of one table, or of the usual one, whose stream is open.
    static func started(_ delivery: Delivery = .oneByOne, _ tables: ClientTable...) throws -> SyncScenario {
        let scenario =
            switch tables.first {
            case let table?: try SyncScenario(table, delivery: delivery)
            case nil: try SyncScenario(delivery: delivery)
            }
        try scenario.start()
        return scenario
    }

    /// Handles events as the driver would: a copy of the engine in a transaction, installed after the commit.
    ///
    /// - Returns: All actions.
    @discardableResult
    func send(_ events: [SyncEvent]) throws -> [SyncAction] {
        var waiting = try events.map { event in
            guard case .line(let received) = event else { return event }
            let line = try delivery.transmit(received.line)
            return .line(ReceivedLine(line: line, byteCount: received.byteCount))
        }[...]
        var actions: [SyncAction] = []
        while let first = waiting.first {
            let batch = delivery.isBatching ? waiting : [first]
            let step = try submit(batch)
            actions += step.actions
            waiting = waiting.dropFirst(step.handledEvents)
            if case .closeStream = step.actions.last { break }
        }
        return actions
    }

    /// Handles events; with `live`, the application holds handles of these streams from now on.
    @discardableResult
    func send(_ events: SyncEvent..., live: [StreamKey]? = nil) throws -> [SyncAction] {
        if let live { self.live = live }
        return try send(events)
    }

    /// Handles events in one transaction, as they are.
    func submit(_ events: some Sequence<SyncEvent>) throws -> SyncStep {
        var next = engine
        let step = try database.queue.write { db in
            try next.handle(events, in: db, now: now, live: { live })
        }
        engine = next
        return step
    }

    /// Starts an iteration and opens its stream.
    ///
    /// - Returns: The request.
    @discardableResult
    func start(live: [StreamKey] = [], includeDefaultStreams: Bool = true) throws -> StreamingSyncRequest {
        self.live = live
        let start = SyncStart(includeDefaultStreams: includeDefaultStreams)
        let actions = try send(.start(start))
        try send(.streamOpened)
        return try #require(actions.compactMap(\.establishedRequest).first)
    }

    /// Handles lines.
    @discardableResult
    func receive(_ lines: SyncLine...) throws -> [SyncAction] {
        try send(lines.map { .line($0) })
    }

    /// What the driver does after an error.
    func failIteration() {
        engine.fail()
    }

    /// What the driver does when the service refuses the request because of its subscriptions.
    ///
    /// - Returns: What the log says; `nil` when nothing can be left out.
    func refuseSubscriptions() -> String? {
        let message = engine.subscriptionsRefused(at: now)
        engine.fail()
        return message
    }

    /// Continues with a new engine, as after a restart of the process.
    func restart(bulkLoadThreshold: Int64? = nil) {
        engine = SyncEngine(bulkLoadThreshold: bulkLoadThreshold ?? engine.bulkLoadThreshold)
    }

    func write<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try database.queue.write(body)
    }

    var status: DownloadStatus { engine.status }
}

// MARK: - What the tables hold

extension SyncScenario {
    /// `id|data` of the published rows.
    var items: [String] {
        get throws { try database.rows("SELECT id, data FROM ps_data__items ORDER BY id") }
    }

    /// The ids of the published rows.
    var itemIDs: [String] {
        get throws { try database.rows("SELECT id FROM ps_data__items ORDER BY id") }
    }

    /// `bucket|op_id|key|hash`.
    var oplog: [String] {
        get throws {
            try database.rows(
                """
                SELECT b.name, o.op_id, o.key, o.hash FROM ps_oplog AS o JOIN ps_buckets AS b ON b.id = o.bucket
                ORDER BY b.name, o.op_id
                """
            )
        }
    }

    /// The names of the stored buckets.
    var bucketNames: [String] {
        get throws { try database.rows("SELECT name FROM ps_buckets ORDER BY name") }
    }

    /// `row_type|row_id`.
    var updatedRows: [String] {
        get throws { try database.rows("SELECT row_type, row_id FROM ps_updated_rows ORDER BY 1, 2") }
    }

    /// The names of the indexes of `ps_oplog`.
    var oplogIndexes: [String] {
        get throws {
            try database.rows(
                "SELECT name FROM sqlite_master WHERE tbl_name = 'ps_oplog' AND type = 'index' ORDER BY 1"
            )
        }
    }

    /// What ``oplogIndexes`` are when none is missing.
    static let allOplogIndexes = ["ps_oplog_key", "ps_oplog_opid", "ps_oplog_row"]

    /// `priority|last_synced_at`.
    var syncState: [String] {
        get throws { try database.rows("SELECT priority, last_synced_at FROM ps_sync_state ORDER BY 1") }
    }

    /// A column of the row of a bucket.
    func bucket(_ column: String, of name: String = "a") throws -> Int64? {
        try database.queue.read { db in
            try Int64.fetchOne(db, sql: "SELECT \(column) FROM ps_buckets WHERE name = ?", arguments: [name])
        }
    }

    /// `add|op` of a bucket.
    func checksums(of name: String = "a") throws -> String? {
        try database.queue.read { db in
            try String.fetchOne(
                db,
                sql: "SELECT add_checksum || '|' || op_checksum FROM ps_buckets WHERE name = ?",
                arguments: [name]
            )
        }
    }

    /// Everything that syncing writes, for comparing two ways to the same state.
    var snapshot: [String: [String]] {
        get throws {
            try [
                "ps_buckets": database.rows(
                    """
                    SELECT name, last_applied_op, last_op, add_checksum, op_checksum, count_at_last, count_since_last,
                        downloaded_size
                    FROM ps_buckets ORDER BY name
                    """
                ),
                "ps_oplog": database.rows(
                    """
                    SELECT b.name, o.op_id, o.row_type, o.row_id, o.key, o.data, o.hash
                    FROM ps_oplog AS o JOIN ps_buckets AS b ON b.id = o.bucket ORDER BY 1, 2, 5
                    """
                ),
                "ps_updated_rows": updatedRows,
                "ps_untyped": database.rows("SELECT type, id, data FROM ps_untyped ORDER BY 1, 2"),
                "ps_sync_state": syncState,
                "ps_data__items": items,
                "ps_kv": database.rows("SELECT key, value FROM ps_kv WHERE key <> 'client_id' ORDER BY 1"),
                "ps_stream_subscriptions": database.rows("SELECT * FROM ps_stream_subscriptions ORDER BY id"),
                "indexes": database.rows("SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY 1"),
            ]
        }
    }
}

extension SyncEngine {
    /// Whether a validated checkpoint waits for the end of an upload.
    var hasPendingCheckpoint: Bool { machine.heldBackCheckpoint != nil }
}

extension ChangedRows {
    /// How SQLite finds the rows: a line for each step.
    func plan(_ db: Database) throws -> [String] {
        try statements.flatMap { sql, arguments in
            try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + sql, arguments: StatementArguments(arguments))
                .map { $0["detail"] as String }
        }
    }
}

// MARK: - What the engine asks for

extension SyncAction {
    var message: SyncLogMessage? {
        if case .log(let message) = self { message } else { nil }
    }

    var status: DownloadStatus? {
        if case .updateStatus(let status) = self { status } else { nil }
    }
}

extension [SyncAction] {
    /// The log messages of a severity.
    func messages(_ severity: SyncLogMessage.Severity) -> [String] {
        compactMap(\.message).filter { $0.severity == severity }.map(\.text)
    }

    /// The published states.
    var statuses: [DownloadStatus] { compactMap(\.status) }

    /// The actions by name, for comparing sequences; without ``wishes``.
    var kinds: [String] {
        compactMap { action -> String? in
            switch action {
            case .log(let message): "log \(message.severity)"
            case .establishStream: "establish"
            case .fetchCredentials(let didExpire): didExpire ? "fetch expired" : "prefetch"
            case .closeStream(let hideDisconnect): "close(\(hideDisconnect))"
            case .didCompleteSync: "did complete"
            case .updateStatus: "status"
            case .heldBack, .lookAtUploads: nil
            }
        }
    }

    /// What the engine says of the upload queue, and of the checkpoint that waits for it.
    var wishes: [String] {
        compactMap { action -> String? in
            switch action {
            case .heldBack(let checkpoint?): "held back \(checkpoint.rawValue)"
            case .heldBack(nil): "none held back"
            case .lookAtUploads(let reason): "look: \(reason)"
            case .log, .establishStream, .fetchCredentials, .closeStream, .didCompleteSync, .updateStatus: nil
            }
        }
    }
}
