import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// Whatever stands in an internal table, the engine works or throws an error of ours or SQLite's.
///
/// It never traps, which would end the tests.
@Suite struct ForeignValuesTests {
    /// A column of an internal table, with the rest of a row that is as it should be.
    struct Place: Sendable, CustomTestStringConvertible {
        var table: String
        var column: String
        var row: [String: String]

        var testDescription: String { "\(table).\(column)" }
    }

    private static let rows: [String: [String: String]] = [
        "ps_migration": ["id": "14", "down_migrations": "'[]'"],
        "ps_untyped": ["type": "'items'", "id": "'u'", "data": "'{}'"],
        "ps_crud": [
            "id": "1", "tx_id": "1", "data": #"'{"op":"PUT","id":"q","type":"items","data":{"col":"x"}}'"#,
        ],
        "ps_tx": ["id": "1", "current_tx": "NULL", "next_tx": "2"],
        "ps_kv": ["key": "'target_checkpoint_request_id'", "value": "5"],
        "ps_buckets": [
            "id": "1", "name": "'a'", "last_applied_op": "1", "last_op": "1", "add_checksum": "0", "op_checksum": "0",
            "pending_delete": "0", "count_at_last": "1", "count_since_last": "0", "downloaded_size": "10",
        ],
        "ps_oplog": [
            "bucket": "1", "op_id": "1", "row_type": "'items'", "row_id": "'r'", "key": "'items/r/null'",
            "data": "'{}'", "hash": "0",
        ],
        "ps_updated_rows": ["row_type": "'items'", "row_id": "'r'"],
        "ps_sync_state": ["priority": "3", "last_synced_at": "1"],
        "ps_stream_subscriptions": [
            "id": "1", "stream_name": "'s'", "active": "1", "is_default": "0", "local_priority": "1",
            "local_params": "'null'", "ttl": "9", "expires_at": "2700000000000000", "last_synced_at": "1",
        ],
        "powersync_swift_rejected_writes": [
            "id": "7", "tx_id": "1", "data": #"'{"op":"PUT","id":"r","type":"items","data":{}}'"#, "reason": "'no'",
            "rejected_at": "1",
        ],
        "powersync_swift_parked_writes": ["id": "7", "type": "'items'", "row_id": "'r'", "waits": "0"],
    ]

    static let places = rows.keys.sorted().flatMap { table in
        (rows[table] ?? [:]).keys.sorted().map { Place(table: table, column: $0, row: rows[table] ?? [:]) }
    }

    /// Of every type; the greatest and the least integer, numbers that no integer is, and bytes that no text is.
    private static let values = [
        "NULL", "7", "-1", "9223372036854775807", "-9223372036854775808", "1.5", "9e999", "''", "'x'", "'[1'",
        "x''", "x'00ff'", "CAST(x'ff00ff' AS TEXT)",
    ]

    private static let cases = places.flatMap { place in values.map { (place, $0) } }

    /// A table or a column that is added to the format belongs to the list above.
    @Test func everyColumnIsAPlace() throws {
        let database = try LocalTestDatabase()
        try database.queue.write { db in
            try RejectedWrites.createTable(db)
            _ = try ParkedWrites.park(db, [])
        }
        let columns = try database.texts(
            """
            SELECT t.name || '.' || c.name FROM sqlite_master t, pragma_table_info(t.name) c
            WHERE t.type = 'table' AND (t.name GLOB 'ps_*' OR t.name GLOB 'powersync*')
              AND t.name NOT GLOB 'ps_data_*'
            """
        )
        #expect(Set(columns.compactMap(\.self)) == Set(Self.places.map(\.testDescription)))
    }

    @Test(arguments: cases.one(in: 2))
    func noValueTraps(_ place: Place, _ value: String) throws {
        guard let database = try makeDatabase(place, value) else { return }
        let step = "\(place.testDescription) = \(value)"
        attempt("opening with \(step)") { try database.apply(.items()) }
        attempt("status with \(step)") {
            _ = try database.queue.read { try DownloadStatus.offline($0) }
            _ = try database.texts("SELECT powersync_offline_sync_status()")
        }
        sync(SyncScenario(database: database), step)
        queue(database, step)
        for options in [.soft, []] as [ClearOptions] {
            attempt("clearing with \(step)") { try database.queue.write { try LocalData.clear($0, options) } }
        }
    }

    /// A database whose tables take everything; `nil` when SQLite refuses the value all the same.
    private func makeDatabase(_ place: Place, _ value: String) throws -> LocalTestDatabase? {
        let database = try LocalTestDatabase()
        try database.queue.write { db in
            try RejectedWrites.createTable(db)
            try db.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS powersync_swift_parked_writes(
                      id INTEGER PRIMARY KEY, type TEXT NOT NULL, row_id TEXT NOT NULL, waits INTEGER NOT NULL
                    )
                    """
            )
        }
        let sql = try database.texts("SELECT sql FROM sqlite_master WHERE name = ?", [place.table]).first ?? nil
        var lenient = try #require(sql)
        for strictness in [", WITHOUT ROWID", "WITHOUT ROWID", "STRICT", " NOT NULL", " AUTOINCREMENT"] {
            lenient = lenient.replacing(strictness, with: "")
        }
        if place.column == "id" || place.column == "priority" {
            lenient = lenient.replacing("INTEGER PRIMARY KEY", with: "INTEGER")
        }
        // What foreign keys of other tables say about a parked write is read with its rejection.
        let companion =
            place.table == "powersync_swift_parked_writes"
            ? "INSERT INTO powersync_swift_rejected_writes(id, tx_id, data, reason, rejected_at) VALUES (7, 1, '{}', '', 1);"
            : ""
        try database.write("DROP TABLE \(place.table); \(lenient); \(companion)")
        var row = place.row
        row[place.column] = value
        let columns = row.keys.sorted()
        do {
            try database.write(
                """
                INSERT INTO \(place.table)(\(columns.joined(separator: ", ")))
                VALUES (\(columns.map { row[$0] ?? "NULL" }.joined(separator: ", ")))
                """
            )
        } catch is DatabaseError {
            return nil
        }
        return database
    }

    private func sync(_ scenario: SyncScenario, _ step: String) {
        let stream = StreamKey(name: "s")
        attempt("subscribing with \(step)") {
            try scenario.write { try StreamSubscriptions.subscribe($0, stream, now: scenario.now) }
        }
        let events: [SyncEvent] = [
            .start(SyncStart()), .streamOpened,
            .line(
                .checkpoint(
                    3,
                    [.bucket("a", count: 2, priority: 1), .bucket("b", count: 1, .subscription(0))],
                    writeCheckpoint: 9,
                    streams: [StreamDescription(name: "s", isDefault: true)]
                )
            ),
            .line(.ops("a", .put(2, "r"), .remove(3, "r"))), .line(.ops("b", .put(1, "r", data: #"{"col":"x"}"#))),
            .line(.done(1)), .line(.done), .uploadCompleted, .line(.tokenExpires(in: 40)),
            .subscriptionsChanged, .line(.diff(4, [.bucket("b", count: 2)], removed: ["a"])),
            .line(.ops("b", .clear(4))), .line(.done), .stop,
        ]
        scenario.live = [stream]
        for event in events {
            if case .subscriptionsChanged = event { scenario.live = [] }
            let isDone = attempt("syncing with \(step)") { try scenario.send(event) }
            if !isDone { scenario.failIteration() }
        }
    }

    private func queue(_ database: LocalTestDatabase, _ step: String) {
        attempt("writing with \(step)") { try database.write("INSERT INTO items(id, col) VALUES ('new', 'x')") }
        attempt("reading the queue with \(step)") {
            try database.queue.read { db in
                _ = try UploadQueue.position(db)
                _ = try (UploadQueue.count(db), UploadQueue.span(db), UploadQueue.size(db))
                _ = try UploadQueue.batch(db)
                _ = try UploadQueue.nextTransaction(db, after: nil)
                _ = try LocalWriteGate.awaited(db)
                _ = try KeyValueStore.clientID(db)
            }
        }
        attempt("completing with \(step)") {
            try database.queue.write { db in
                let batch = try UploadQueue.batch(db)
                if let last = batch?.writes.last {
                    try UploadQueue.complete(db, through: last.id, writeCheckpoint: WriteCheckpoint(3))
                }
                _ = try CheckpointCounter.initial(db)
                _ = try CheckpointCounter.next(db)
            }
        }
        attempt("rejected writes with \(step)") {
            try database.queue.write { db in
                let ids = try RejectedWrites.all(db).map(\.write.id)
                try RejectedWrites.restore(db, ids)
                try RejectedWrites.restoreParked(db)
                try RejectedWrites.remove(db, ids)
            }
        }
    }

    /// Does something that may fail with an error of ours or SQLite's.
    ///
    /// - Returns: Whether it did not.
    @discardableResult
    private func attempt(_ what: String, _ body: () throws -> Void) -> Bool {
        do {
            try body()
            return true
        } catch is LocalDatabaseError, is SyncEngineError, is DatabaseError {
            return false
        } catch {
            Issue.record("\(what): unexpected error \(error)")
            return false
        }
    }

    /// The greatest id was given to an entry: there is no next one.
    @Test func aQueueAtTheEndOfItsIdsHasAPosition() throws {
        let database = try LocalTestDatabase()
        try database.write(
            "DELETE FROM sqlite_sequence; INSERT INTO sqlite_sequence(name, seq) VALUES ('ps_crud', 9223372036854775807)"
        )
        #expect(try database.queue.read { try UploadQueue.position($0) } == .max)
    }

    @Test func aParkedRowWithoutTypeIsAnErrorThatNamesTheColumn() throws {
        let place = try #require(Self.places.first { $0.testDescription == "powersync_swift_parked_writes.type" })
        let database = try #require(try makeDatabase(place, "NULL"))
        let error = #expect(throws: LocalDatabaseError.self) {
            try database.queue.write { db in
                var schema = KnownSchema()
                _ = try KeptRows.fetch(db, schema: &schema, isQueueEmpty: false)
            }
        }
        #expect(error?.message.contains("parked write: type") == true)
    }
}
