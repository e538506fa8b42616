import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// The text of generated objects, as `sqlite_master` has it (docs/database.md "Views").
@Suite struct CanonicalTextTests {
    private static let trip = ClientTable(
        name: "trip",
        columns: [ClientColumn(name: "note", type: .text), ClientColumn(name: "km", type: .real)],
        tracksMetadata: true,
        trackPreviousValues: PreviousValues(columns: ["km"], onlyWhenChanged: true)
    )

    private func sql(_ database: LocalTestDatabase, _ name: String) throws -> String? {
        try database.texts("SELECT sql FROM sqlite_master WHERE name = ?", [name]).first ?? nil
    }

    /// A table with metadata and previous values.
    @Test func constructedExample() throws {
        let database = try LocalTestDatabase(Self.trip)
        let removed = """
            'SELECT powersync_object(''["km"]'', ps_old."km") FROM "trip" AS ps_old WHERE ps_old.id = ?1'
            """
        #expect(
            try sql(database, "ps_data__trip")
                == #"CREATE TABLE "ps_data__trip"(id TEXT PRIMARY KEY NOT NULL, data TEXT)"#
        )
        #expect(
            try sql(database, "trip") == """
                CREATE VIEW "trip"("id", "note", "km", "_metadata", "_deleted") AS SELECT id, CAST(json_extract(data, \
                '$.note') as text), CAST(json_extract(data, '$.km') as real), NULL, NULL FROM "ps_data__trip" -- \
                powersync-auto-generated
                """
        )
        #expect(
            try sql(database, "ps_view_delete_trip") == """
                CREATE TRIGGER "ps_view_delete_trip" INSTEAD OF DELETE ON "trip" FOR EACH ROW BEGIN
                DELETE FROM "ps_data__trip" WHERE id = OLD.id;
                INSERT INTO powersync_crud(op,id,type,old_values) SELECT 'DELETE', OLD.id, 'trip', \
                powersync_object('["km"]', OLD."km") WHERE powersync_changed('trip', NOT EXISTS (SELECT 1 FROM \
                "ps_data__trip" WHERE id = OLD.id));
                END
                """
        )
        #expect(
            try sql(database, "ps_view_delete2_trip") == """
                CREATE TRIGGER "ps_view_delete2_trip" INSTEAD OF UPDATE ON "trip" FOR EACH ROW WHEN NEW._deleted IS \
                TRUE BEGIN DELETE FROM "ps_data__trip" WHERE id = OLD.id; INSERT INTO \
                powersync_crud(op,id,type,old_values,metadata) SELECT 'DELETE', OLD.id, 'trip', \
                powersync_object('["km"]', OLD."km"), NEW._metadata WHERE powersync_changed('trip', NOT EXISTS (SELECT 1 \
                FROM "ps_data__trip" WHERE id = OLD.id));
                END
                """
        )
        #expect(
            try sql(database, "ps_view_insert_trip") == """
                CREATE TRIGGER "ps_view_insert_trip" INSTEAD OF INSERT ON "trip" FOR EACH ROW BEGIN
                SELECT CASE WHEN (NEW.id IS NULL) THEN RAISE (FAIL, 'id is required') WHEN (typeof(NEW.id) != 'text') \
                THEN RAISE (FAIL, 'id should be text') END;
                INSERT INTO "ps_data__trip" SELECT NEW.id, powersync_stored('trip', NEW.id, \
                powersync_row('trip', '["note","km"]', NEW."note", NEW."km"), \(removed));
                INSERT INTO powersync_crud(op,id,type,data,metadata) SELECT 'PUT', NEW.id, 'trip', \
                powersync_changes('trip', '["km","note"]', NEW."km", NEW."note"), NEW._metadata WHERE \
                powersync_changed('trip', changes());
                END
                """
        )
        #expect(
            try sql(database, "ps_view_update_trip") == """
                CREATE TRIGGER "ps_view_update_trip" INSTEAD OF UPDATE ON "trip" FOR EACH ROW  WHEN NEW._deleted IS \
                NOT TRUE BEGIN
                SELECT CASE WHEN (OLD.id != NEW.id) THEN RAISE (FAIL, 'Cannot update id') END;
                UPDATE "ps_data__trip" SET data = powersync_stored('trip', NEW.id, powersync_row('trip', '["note","km"]', NEW."note", NEW."km", \
                OLD."note", OLD."km", data), \(removed)) WHERE id = NEW.id;
                INSERT INTO powersync_crud(op,id,type,data,old_values,metadata,options) SELECT 'PATCH', NEW.id, \
                'trip', powersync_changes('trip', '["km","note"]', NEW."km", NEW."note", OLD."km", OLD."note"), \
                powersync_object('["km"]', OLD."km", NEW."km"), \
                NEW._metadata, 12 WHERE powersync_changed('trip', changes()) OR NEW.id IS NULL;
                END
                """
        )
    }

    /// What the statements on this table put into the queue.
    @Test func constructedExampleFillsTheQueue() throws {
        let database = try LocalTestDatabase(Self.trip)
        try database.write(
            """
            INSERT INTO trip(id, note, km, _metadata) VALUES ('t1', 'a', 10, 'm1');
            UPDATE trip SET km = 12.5 WHERE id = 't1';
            UPDATE trip SET note = NULL WHERE id = 't1';
            UPDATE trip SET _deleted = TRUE, _metadata = 'bye' WHERE id = 't1';
            """
        )
        #expect(
            try database.entries() == [
                #"{"op":"PUT","id":"t1","type":"trip","data":{"km":10.0,"note":"a"},"metadata":"m1"}"#,
                #"{"op":"PATCH","id":"t1","type":"trip","data":{"km":12.5},"old":{"km":10.0}}"#,
                #"{"op":"PATCH","id":"t1","type":"trip","data":{"note":null},"old":{}}"#,
                #"{"op":"DELETE","id":"t1","type":"trip","old":{"km":12.5},"metadata":"bye"}"#,
            ]
        )
        #expect(try database.transactionIDs() == [1, 1, 1, 1])
        #expect(try database.rows("SELECT * FROM ps_data__trip").isEmpty)
        #expect(try database.rows("SELECT * FROM ps_updated_rows") == ["trip|t1"])
        #expect(try database.integer("SELECT value FROM ps_kv WHERE key = 'target_checkpoint_request_id'") == .max)
        #expect(try database.integer("SELECT next_tx FROM ps_tx") == 2)
    }

    @Test func localOnlyTablesHaveNoQueueStatements() throws {
        let database = try LocalTestDatabase(.items(isLocalOnly: true))
        let names = #"'items', '["col"]'"#
        #expect(
            try sql(database, "ps_view_insert_items") == """
                CREATE TRIGGER "ps_view_insert_items" INSTEAD OF INSERT ON "items" FOR EACH ROW BEGIN
                INSERT INTO "ps_data_local__items" SELECT NEW.id, powersync_row(\(names), NEW."col");
                SELECT powersync_changed('items', changes());
                END
                """
        )
        #expect(
            try sql(database, "ps_view_update_items") == """
                CREATE TRIGGER "ps_view_update_items" INSTEAD OF UPDATE ON "items" FOR EACH ROW BEGIN
                SELECT CASE WHEN (OLD.id != NEW.id) THEN RAISE (FAIL, 'Cannot update id') END;
                UPDATE "ps_data_local__items" SET data = powersync_row(\(names), NEW."col", OLD."col", data) WHERE id = NEW.id;
                SELECT powersync_changed('items', changes());
                END
                """
        )
        #expect(
            try sql(database, "ps_view_delete_items") == """
                CREATE TRIGGER "ps_view_delete_items" INSTEAD OF DELETE ON "items" FOR EACH ROW BEGIN
                DELETE FROM "ps_data_local__items" WHERE id = OLD.id;
                SELECT powersync_changed('items', changes());
                END
                """
        )
    }

    @Test func insertOnlyTablesHaveOneTrigger() throws {
        let database = try LocalTestDatabase(.items(isInsertOnly: true))
        #expect(try database.rows("SELECT name FROM sqlite_master WHERE type = 'trigger'") == ["ps_view_insert_items"])
        #expect(
            try sql(database, "ps_view_insert_items") == """
                CREATE TRIGGER "ps_view_insert_items" INSTEAD OF INSERT ON "items" FOR EACH ROW BEGIN
                SELECT CASE WHEN (NEW.id IS NULL) THEN RAISE (FAIL, 'id is required') WHEN (typeof(NEW.id) != 'text') \
                THEN RAISE (FAIL, 'id should be text') END;
                INSERT INTO powersync_crud_(data) VALUES(json_object('op', 'PUT', 'type', 'items', 'id', NEW.id, \
                'data', powersync_changes('items', '["col"]', NEW."col")));
                SELECT powersync_changed('items', 1);
                END
                """
        )
    }

    @Test func indexesNameEveryColumn() throws {
        var table = ClientTable.items()
        table.indexes = [
            ClientIndex(
                name: "both",
                columns: [ClientIndex.Column(name: "col"), ClientIndex.Column(name: "col", isDescending: true)]
            )
        ]
        let database = try LocalTestDatabase(table)
        #expect(
            try sql(database, "ps_data__items__both") == """
                CREATE INDEX "ps_data__items__both" ON "ps_data__items"(CAST(json_extract(data, '$.col') as text), \
                CAST(json_extract(data, '$.col') as text) DESC)
                """
        )
    }

    @Test(arguments: [(0, 1), (48, 1), (49, 2), (96, 2), (97, 3)])
    func callsHaveAtMostAHundredArguments(columns: Int, calls: Int) {
        let values = ViewRowValues(table: "t", columns: (0..<columns).map { "c\($0)" })
        let sql = values.updatedRow
        #expect(sql.split(separator: "powersync_row(", omittingEmptySubsequences: false).count - 1 == calls)
        #expect(sql.hasPrefix("powersync_json_merge(") == (calls > 1))
    }

    /// More columns than fit a call, through insert, update and previous values.
    @Test func rowsOfManyColumnsArePutTogether() throws {
        let names = (0..<200).map { "c\($0)" }
        let database = try LocalTestDatabase(
            .items(names.map { ClientColumn(name: $0, type: .integer) }, trackPreviousValues: PreviousValues())
        )
        try database.write(
            "INSERT INTO items(id, \(names.joined(separator: ","))) VALUES ('a', \(names.indices.map(String.init).joined(separator: ",")))"
        )
        try database.write("UPDATE items SET c0 = -1, c199 = -2")
        let writes = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes)
        #expect(writes[0].data?.members.count == 200)
        #expect(writes[1].data == ["c0": -1, "c199": -2])
        #expect(writes[1].previousValues?.members.count == 200)
        #expect(try database.rows("SELECT c0, c98, c199 FROM items") == ["-1|98|-2"])
    }

    /// Names that validation forbids are still quoted.
    @Test(arguments: [#"a"b"#, "a'b", #"a"" 'b"#])
    func quotesInNamesAreDoubled(name: String) throws {
        let column = ClientColumn(name: "c'd", type: .text)
        let database = try LocalTestDatabase(schema: ClientSchema())
        let schema = ClientSchema(tables: [ClientTable(name: name, columns: [column])])
        try database.queue.write { db in
            try db.execute(sql: "SELECT powersync_replace_schema(?)", arguments: [schema.json.text])
        }
        let view = "\"\(name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
        try database.write(#"INSERT INTO \#(view)(id, "c'd") VALUES ('x', 'y')"#)
        let entry = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes.first)
        #expect(entry.table == name)
        #expect(entry.data == ["c'd": "y"])
        #expect(try database.rows("SELECT * FROM \(view)") == ["x|y"])
    }
}
