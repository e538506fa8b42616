import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// The virtual tables that triggers insert into, and transaction ids (docs/database.md "Queue tables").
@Suite struct QueueModuleTests {
    private let database: LocalTestDatabase

    init() throws {
        var insertOnly = ClientTable.items(isInsertOnly: true)
        insertOnly.name = "log"
        database = try LocalTestDatabase(.items(), insertOnly)
    }

    private var isGateClosed: Bool {
        get throws { try database.queue.read { try LocalWriteGate.target($0) } == LocalWriteGate.pendingTarget }
    }

    @Test func entriesHaveTheirMembersInOrder() throws {
        try database.write(
            """
            INSERT INTO powersync_crud(op, id, type, data) VALUES ('PUT', 'foo', 'users', '{"my":"value"}');
            INSERT INTO powersync_crud(op, id, type, data, old_values, metadata)
              VALUES ('PATCH', 'foo', 'users', '{"my":"value"}', '{"previous":"value"}', 'my "metadata"');
            INSERT INTO powersync_crud(op, id, type) VALUES ('DELETE', 'foo', 'users');
            """
        )
        #expect(
            try database.entries() == [
                #"{"op":"PUT","id":"foo","type":"users","data":{"my":"value"}}"#,
                #"{"op":"PATCH","id":"foo","type":"users","data":{"my":"value"},"old":{"previous":"value"},"metadata":"my \"metadata\""}"#,
                #"{"op":"DELETE","id":"foo","type":"users"}"#,
            ]
        )
        #expect(try database.transactionIDs() == [1, 1, 1])
    }

    @Test func writesMarkTheRowAndCloseTheGate() throws {
        try database.write(
            """
            INSERT INTO ps_kv VALUES ('last_seen_checkpoint_request_id', 6), ('last_applied_checkpoint_request_id', 5),
              ('last_requested_checkpoint_request_id', 7), ('target_checkpoint_request_id', 6);
            INSERT INTO powersync_crud(op, id, type, data) VALUES ('PUT', 'foo', 'users', '{}');
            """
        )
        #expect(try database.rows("SELECT * FROM ps_updated_rows") == ["users|foo"])
        #expect(
            try database.rows("SELECT key, value, typeof(value) FROM ps_kv WHERE key != 'client_id' ORDER BY key") == [
                "last_requested_checkpoint_request_id|7|integer",
                "target_checkpoint_request_id|9223372036854775807|integer",
            ]
        )
    }

    @Test func transactionIDsFollowTransactions() throws {
        try database.write("INSERT INTO items(id) VALUES ('a'); INSERT INTO items(id) VALUES ('b')")
        try database.run("INSERT INTO items(id) VALUES ('c'); INSERT INTO items(id) VALUES ('d')")
        try database.run("BEGIN; INSERT INTO items(id) VALUES ('lost'); ROLLBACK")
        try database.run("INSERT INTO items(id) VALUES ('e')")
        try database.run("UPDATE items SET col = 'x' WHERE id = 'missing'")
        try database.run("INSERT INTO items(id) VALUES ('f')")
        #expect(try database.transactionIDs() == [1, 1, 2, 3, 4, 6])
    }

    @Test func bothTablesShareTheTransaction() throws {
        for index in 0..<9 {
            let inserts = ["INSERT INTO items(id) VALUES ('\(index)')", "INSERT INTO log(id) VALUES ('\(index)')"]
            try database.write((index.isMultiple(of: 2) ? inserts : inserts.reversed()).joined(separator: ";"))
        }
        #expect(try database.transactionIDs() == (1...9).flatMap { [$0, $0] })
    }

    /// An explicit savepoint.
    @Test func rolledBackSavepointKeepsTheTransactionID() throws {
        try database.run(
            """
            BEGIN; SAVEPOINT a; INSERT INTO items(id) VALUES ('1'); ROLLBACK TO a; INSERT INTO items(id) VALUES ('2'); COMMIT;
            """
        )
        #expect(try isGateClosed)
        try database.run("INSERT INTO items(id) VALUES ('3')")
        #expect(try database.transactionIDs() == [1, 2])
    }

    /// As when rejected writes are put back in the same transaction.
    @Test func rolledBackSavepointLeavesIDsTakenThatOthersTookMeanwhile() throws {
        try database.run(
            """
            BEGIN; INSERT INTO items(id) VALUES ('1'); UPDATE ps_tx SET next_tx = next_tx + 1;
            SAVEPOINT a; INSERT INTO items(id) VALUES ('2'); ROLLBACK TO a; INSERT INTO items(id) VALUES ('3'); COMMIT;
            """
        )
        try database.run("INSERT INTO items(id) VALUES ('4')")
        #expect(try database.transactionIDs() == [1, 1, 3])
    }

    /// In a savepoint inside the transaction's first statements.
    @Test func savepointAfterTheFirstWriteMayBeRolledBack() throws {
        try database.run(
            """
            BEGIN; INSERT INTO log(id) VALUES ('1'); SAVEPOINT a; INSERT INTO items(id) VALUES ('2'); SAVEPOINT b;
            INSERT INTO items(id) VALUES ('3'); RELEASE b; ROLLBACK TO a; RELEASE a; INSERT INTO log(id) VALUES ('4');
            COMMIT;
            """
        )
        #expect(try !isGateClosed)
        try database.run("INSERT INTO items(id) VALUES ('5')")
        #expect(try database.transactionIDs() == [1, 1, 2])
    }

    /// A statement that fails.
    @Test func failedStatementKeepsTheTransactionID() throws {
        try database.run("INSERT INTO ps_data__items(id, data) VALUES ('x', '{}')")
        try database.queue.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN")
            expectDatabaseError(1555) { try db.execute(sql: "INSERT INTO items(id) VALUES ('x')") }
            try db.execute(sql: "INSERT INTO items(id) VALUES ('y')")
            try db.execute(sql: "COMMIT")
            try db.execute(sql: "INSERT INTO items(id) VALUES ('z')")
        }
        #expect(try database.transactionIDs() == [1, 2])
    }

    /// The gate after a statement that failed in its second row.
    @Test func gateIsClosedAfterAPartlyFailedStatement() throws {
        try database.queue.write { db in
            expectDatabaseError(1555) { try db.execute(sql: "INSERT INTO items(id) VALUES ('a'), ('a')") }
            try db.execute(sql: "INSERT INTO items(id) VALUES ('b')")
        }
        #expect(try database.queue.read { try UploadQueue.batch($0) }?.writes.map(\.rowID) == ["b"])
        #expect(try isGateClosed)
    }

    /// As when an app signs a user out and writes for the next one at once.
    @Test func gateIsClosedByAWriteAfterClearing() throws {
        try database.write(
            "INSERT INTO items(id) VALUES ('a'); SELECT powersync_clear(1); INSERT INTO items(id) VALUES ('b')"
        )
        #expect(try database.queue.read { try UploadQueue.batch($0) }?.writes.map(\.rowID) == ["b"])
        #expect(try isGateClosed)
    }

    @Test(arguments: ["powersync_crud", "powersync_crud_"])
    func tablesOnlyTakeInserts(table: String) {
        for sql in ["SELECT * FROM \(table)", "UPDATE \(table) SET data = ''", "DELETE FROM \(table)"] {
            expectDatabaseError(21) { try database.write(sql) }
        }
        expectDatabaseError(1) { try database.write("CREATE VIRTUAL TABLE v USING \(table)") }
    }

    @Test(arguments: [
        ("NULL, 'users', '{}', NULL", "id is required"), ("1, 'users', '{}', NULL", "id is required"),
        ("'a', NULL, '{}', NULL", "type is required"), ("'a', 'users', '{', NULL", "must be JSON"),
        ("'a', 'users', '{}', 'x'", "must be JSON"),
        (#"'a', 'users', '{"a":[1,[{"b":1e999}]]}', NULL"#, "must be JSON"), ("'a', 'users', '', NULL", "must be JSON"),
    ])
    func poisonousEntriesAreRefused(values: String, words: String) throws {
        expectDatabaseError(3091, words) {
            try database.write("INSERT INTO powersync_crud(op, id, type, data, old_values) VALUES ('PUT', \(values))")
        }
        #expect(try database.entries().isEmpty)
    }

    @Test func nestedValuesAreQueuedAsTheyAre() throws {
        let data = #"{"a":[1,[{"b":[]}],"x"],"c":{"d":[true,null]}}"#
        try database.write("INSERT INTO powersync_crud(op, id, type, data) VALUES ('PUT', 'a', 'users', ?)", [data])
        #expect(try database.entries() == [#"{"op":"PUT","id":"a","type":"users","data":\#(data)}"#])
    }

    @Test func valuesThatAreNotTextAreLeftOut() throws {
        try database.write(
            "INSERT INTO powersync_crud(op, id, type, data, old_values, metadata) VALUES ('PUT', 'a', 't', 1, x'00', x'01')"
        )
        try database.write("INSERT INTO powersync_crud(op, id, type, metadata) VALUES ('PUT', 'a', 't', 1.5)")
        #expect(
            try database.entries() == [
                #"{"op":"PUT","id":"a","type":"t"}"#, #"{"op":"PUT","id":"a","type":"t","metadata":"1.5"}"#,
            ]
        )
    }

    @Test func emptyUpdatesAreLeftOutOnDemand() throws {
        try database.write(
            """
            INSERT INTO powersync_crud(op, id, type, data, options) VALUES ('PATCH', 'a', 't', '{}', 16),
              ('PUT', 'b', 't', '{}', 16), ('PATCH', 'c', 't', '{}', 12), ('PATCH', 'd', 't', '{"x":1}', 31);
            INSERT INTO powersync_crud_(data, options) VALUES ('{"op":"PATCH","id":"e","type":"t","data":{}}', 16),
              ('{"op":"PATCH","id":"f","type":"t","data":{"x":1}}', 16), ('{"op":"PUT","id":"g","type":"t","data":{}}', 16),
              ('{"op":"PATCH","id":"h","type":"t","data":{}}', NULL);
            """
        )
        let writes = try database.queue.read { try UploadQueue.batch($0) }?.writes
        #expect(writes?.map(\.rowID) == ["b", "c", "d", "f", "g", "h"])
    }

    @Test func missingCounterIsReported() throws {
        try database.write("DELETE FROM ps_tx")
        expectDatabaseError(2, "ps_tx") { try database.write("INSERT INTO items(id) VALUES ('a')") }
    }

    /// An entry is longer than the row that it is about.
    @Test func anEntryThatIsTooLongIsRefusedWithItsRow() throws {
        database.limitLength(to: 10_000)
        let text = String(repeating: "x", count: 9_950)
        expectDatabaseError(18, "too big") {
            try database.write("INSERT INTO items(id, col) VALUES ('a', ?)", [text])
        }
        for table in ["ps_data__items", "ps_crud", "ps_updated_rows"] {
            #expect(try database.integer("SELECT count(*) FROM \(table)") == 0, "\(table)")
        }
        try database.write("INSERT INTO items(id, col) VALUES ('a', ?)", [String(text.dropLast(100))])
        #expect(try database.entries().count == 1)
    }

    @Test func userTriggersMayWriteToOtherViews() throws {
        try database.write(
            """
            CREATE TRIGGER copy AFTER INSERT ON ps_data__items BEGIN
              INSERT INTO log(id, col) VALUES (NEW.id, 'copied');
            END;
            INSERT INTO items(id, col) VALUES ('a', '1');
            """
        )
        #expect(try database.queue.read { try UploadQueue.batch($0) }?.writes.map(\.table) == ["log", "items"])
        #expect(try database.transactionIDs() == [1, 1])
    }

    /// A write to a view by a trigger on the queue, which comes while the entry that fired it is being added.
    @Test(
        arguments: [
            ("notes", #"{"op":"PUT","id":"of a","type":"notes","data":{"col":"PUT"}}"#),
            ("log", #"{"op":"PUT","type":"log","id":"of a","data":{"col":"PUT"}}"#),
        ]
    )
    func userTriggersOnTheQueueMayWriteToViews(view: String, entry: String) throws {
        var tables = [ClientTable.items(), .items(), .items(isInsertOnly: true)]
        (tables[1].name, tables[2].name) = ("notes", "log")
        try database.apply(ClientSchema(tables: tables))
        try database.write(
            """
            CREATE TRIGGER audit AFTER INSERT ON ps_crud WHEN NEW.data ->> 'type' = 'items' BEGIN
              INSERT INTO \(view)(id, col) VALUES ('of ' || (NEW.data ->> 'id'), NEW.data ->> 'op');
            END
            """
        )
        let text = String(repeating: "x", count: 1_000)
        for id in ["a", "b"] {
            try database.write("INSERT INTO items(id, col) VALUES (?, ?)", [id, text])
        }
        #expect(
            try database.entries() == [
                #"{"op":"PUT","id":"a","type":"items","data":{"col":"\#(text)"}}"#, entry,
                #"{"op":"PUT","id":"b","type":"items","data":{"col":"\#(text)"}}"#,
                entry.replacing("of a", with: "of b"),
            ]
        )
        #expect(try database.transactionIDs() == [1, 1, 2, 2])
        let marked = ["items|a", "items|b"] + (view == "notes" ? ["notes|of a", "notes|of b"] : [])
        #expect(try database.rows("SELECT * FROM ps_updated_rows ORDER BY row_type, row_id") == marked)
        #expect(try isGateClosed)
    }

    @Test(arguments: [false, true])
    func userTriggersOnTheQueueThatFireThemselvesAreAnError(isInsertOnly: Bool) throws {
        var log = ClientTable.items(isInsertOnly: isInsertOnly)
        log.name = "log"
        try database.apply(ClientSchema(tables: [.items(), log]))
        try database.write(
            """
            CREATE TRIGGER audit AFTER INSERT ON ps_crud BEGIN
              INSERT INTO log(id, col) VALUES (CAST(NEW.id AS TEXT), NEW.data ->> 'op');
            END
            """
        )
        for _ in 0..<2 {
            let error = #expect(throws: DatabaseError.self) {
                try database.write("INSERT INTO items(id, col) VALUES ('a', 'x')")
            }
            #expect(error?.message?.contains("restrict them with WHEN") == true)
            for table in ["ps_crud", "ps_data__items", "ps_updated_rows"] {
                #expect(try database.integer("SELECT count(*) FROM \(table)") == 0, "\(table)")
            }
        }
        try database.write("DROP TRIGGER audit; INSERT INTO items(id, col) VALUES ('a', 'x')")
        #expect(try database.entries().count == 1)
    }

    @Test func schemaMayChangeBetweenWrites() throws {
        try database.write("INSERT INTO items(id, col) VALUES ('a', '1')")
        try database.apply(.items([ClientColumn(name: "other", type: .integer)]))
        try database.write("INSERT INTO items(id, other) VALUES ('b', 2)")
        try database.write("ALTER TABLE ps_crud ADD COLUMN extra TEXT")
        try database.write("INSERT INTO items(id, other) VALUES ('c', 3)")
        #expect(try database.entries().count == 3)
    }
}
