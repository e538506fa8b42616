import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Names and ids are equal when their bytes are: `String` would make one of a composed and a decomposed é.
@Suite struct ExactNamesTests {
    private static let composed = "\u{e9}"
    private static let decomposed = "e\u{301}"
    private static let both = [composed, decomposed]

    private func bytes(_ texts: [String?]) -> [[UInt8]] {
        texts.map { Array(($0 ?? "NULL").utf8) }
    }

    @Test func rowIDs() throws {
        let database = try LocalTestDatabase()
        for id in Self.both {
            try database.write("INSERT INTO items(id, col) VALUES (?, ?)", [id, "of \(id)"])
        }
        #expect(try database.integer("SELECT count(*) FROM items") == 2)
        #expect(try database.integer("SELECT count(*) FROM ps_updated_rows") == 2)
        try database.write("DELETE FROM items WHERE id = ?", [Self.decomposed])
        #expect(bytes(try database.texts("SELECT id FROM items")) == bytes([Self.composed]))
        let writes = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes)
        #expect(bytes(writes.map(\.rowID)) == bytes([Self.composed, Self.decomposed, Self.decomposed]))
    }

    @Test(arguments: Delivery.allCases)
    func syncedRowsAndTypes(_ delivery: Delivery) throws {
        let tables = Self.both.map { ClientTable(name: $0, columns: [ClientColumn(name: "a", type: .text)]) }
        let scenario = try SyncScenario(tables[0], tables[1], delivery: delivery)
        try scenario.start()
        try scenario.receive(
            .checkpoint(4, [.bucket("a")]),
            .ops(
                "a",
                .put(1, Self.composed, type: Self.composed),
                .put(2, Self.decomposed, type: Self.composed),
                .put(3, Self.composed, type: Self.decomposed),
                .put(4, "z", type: Self.decomposed)
            ),
            .done
        )
        let composed = "SELECT id FROM \"ps_data__\(Self.composed)\" ORDER BY id"
        let decomposed = "SELECT id FROM \"ps_data__\(Self.decomposed)\" ORDER BY id"
        #expect(bytes(try scenario.database.texts(composed)) == bytes([Self.decomposed, Self.composed]))
        #expect(bytes(try scenario.database.texts(decomposed)) == bytes(["z", Self.composed]))
        try scenario.receive(.diff(5), .ops("a", .remove(5, Self.composed, type: Self.composed)), .done)
        #expect(bytes(try scenario.database.texts(composed)) == bytes([Self.decomposed]))
        #expect(try scenario.database.texts(decomposed).count == 2)
    }

    @Test func bucketNames() throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.receive(
            .checkpoint(2, [.bucket(Self.composed, checksum: 1), .bucket(Self.decomposed, checksum: 2)]),
            .ops(Self.composed, .put(1, "x", 1)),
            .ops(Self.decomposed, .put(2, "y", 2)),
            .done
        )
        #expect(try scenario.itemIDs == ["x", "y"])
        #expect(bytes(try scenario.bucketNames) == bytes([Self.decomposed, Self.composed]))
    }

    @Test func tablesAndColumns() throws {
        let columns = Self.both.map { ClientColumn(name: $0, type: .text) }
        let tables = Self.both.map { name in
            ClientTable(
                name: name,
                columns: columns,
                indexes: [ClientIndex(name: "i", columns: [ClientIndex.Column(name: Self.decomposed)])],
                trackPreviousValues: PreviousValues(columns: [Self.composed])
            )
        }
        let schema = ClientSchema(tables: tables)
        let database = try LocalTestDatabase(schema: schema)
        let version = try database.schemaVersion()
        try database.apply(try ClientSchema(json: schema.json.text))
        #expect(try database.schemaVersion() == version)

        let view = "\"\(Self.composed)\""
        try database.write(
            """
            INSERT INTO \(view)(id, "\(Self.composed)", "\(Self.decomposed)") VALUES ('x', 'c', 'd');
            UPDATE \(view) SET "\(Self.decomposed)" = 'new';
            """
        )
        #expect(try database.rows("SELECT * FROM \(view)") == ["x|c|new"])
        #expect(try database.rows("SELECT * FROM \"\(Self.decomposed)\"").isEmpty)
        let head = #""id":"x","type":"\#(Self.composed)","data":"#
        #expect(
            bytes(try database.entries())
                == bytes([
                    #"{"op":"PUT",\#(head){"\#(Self.decomposed)":"d","\#(Self.composed)":"c"}}"#,
                    #"{"op":"PATCH",\#(head){"\#(Self.decomposed)":"new"},"old":{"\#(Self.composed)":"c"}}"#,
                ])
        )
        try database.apply(tables[1])
        #expect(bytes(try database.texts("SELECT type FROM ps_untyped")) == bytes([Self.composed]))
    }

    /// For every object that has a name.
    @Test func quotesInAllNames() throws {
        let table = ClientTable(
            name: #"t"'a"#,
            viewNameOverride: #"v"'b"#,
            columns: [ClientColumn(name: "c'd", type: .text)],
            indexes: [ClientIndex(name: #"i"'e"#, columns: [ClientIndex.Column(name: "c'd")])],
            tracksMetadata: true,
            trackPreviousValues: PreviousValues(columns: ["c'd"], onlyWhenChanged: true)
        )
        let database = try LocalTestDatabase(table)
        let version = try database.schemaVersion()
        try database.apply(table)
        #expect(try database.schemaVersion() == version)
        let view = #""v""'b""#
        try database.write(
            """
            INSERT INTO \(view)(id, "c'd", _metadata) VALUES ('x', '1', 'm');
            UPDATE \(view) SET "c'd" = '2';
            UPDATE \(view) SET _deleted = TRUE;
            """
        )
        let head = #""id":"x","type":"t\"'a""#
        #expect(
            try database.entries() == [
                #"{"op":"PUT",\#(head),"data":{"c'd":"1"},"metadata":"m"}"#,
                #"{"op":"PATCH",\#(head),"data":{"c'd":"2"},"old":{"c'd":"1"}}"#,
                #"{"op":"DELETE",\#(head),"old":{"c'd":"2"}}"#,
            ]
        )
        let plan = try database.rows("EXPLAIN QUERY PLAN SELECT * FROM \(view) WHERE \"c'd\" = 'x'")
        #expect(plan.contains { $0.contains(#"USING INDEX ps_data__t"'a__i"'e"#) }, "\(plan)")
    }
}
