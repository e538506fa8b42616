import Foundation
import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Direct tables with ids of any content, and those that the app has altered.
///
/// The table of values of the documentation goes through direct tables in `ValueTableTests`.
@Suite struct UnusualDirectTableTests {
    private static let columns: [ClientColumn] = [.text("t"), .integer("i"), .real("r"), .integer("other")]
    private static let options = ClientTableOptions(trackPreviousValues: PreviousValues())

    /// The column takes the number as a text before anything else looks at it.
    @Test func infinityIsATextInATextColumn() throws {
        let database = try LocalTestDatabase(.direct(Self.columns))
        try database.write("INSERT INTO items (id, t) VALUES ('x', 9e999)")
        #expect(try database.rows("SELECT t FROM items") == ["Inf"])
        #expect(try database.entries() == [#"{"op":"PUT","id":"x","type":"items","data":{"t":"Inf"}}"#])
    }

    // MARK: - Ids

    static let ids = [
        "", "'", #""quoted" 'twice' \ / ;--"#, "a\u{0}b", "\u{0}", "é", "e\u{301}", "😀\u{10ffff}", "null",
        String(repeating: "0123456789abcde😀'", count: 1 << 16),
    ]

    @Test(arguments: ids.indices) func idsCanBeAnyText(_ index: Int) throws {
        let id = Self.ids[index]
        let bytes = id.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let literal = "CAST(x'\(bytes)' AS TEXT)"
        let scenario = try SyncScenario.started(.oneByOne, .direct([.text("t")], .init(tracksMetadata: true)))
        let database = scenario.database
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            .ops("a", .put(1, id, data: #"{"t":"a","later":"x"}"#), .put(2, "other", data: #"{"t":"o"}"#)),
            .done
        )
        func found(_ column: String) throws -> [String] {
            try database.rows("SELECT \(column) FROM items WHERE id = \(literal)")
        }
        #expect(try found("t") == ["a"])
        try database.apply(.direct([.text("t"), .text("later")], .init(tracksMetadata: true)))
        #expect(try found("later") == ["x"])
        try scenario.receive(.diff(3), .ops("a", .remove(3, id)), .done)
        #expect(try found("t").isEmpty)

        try database.write("INSERT INTO items (id, t) VALUES (\(literal), 'a')")
        try database.write("UPDATE items SET t = 'b' WHERE id = \(literal)")
        try database.write("INSERT OR REPLACE INTO items (id, t) VALUES (\(literal), 'c')")
        try database.write("UPDATE items SET _deleted = 1 WHERE id = \(literal)")
        #expect(try found("t").isEmpty)
        #expect(try database.rows("SELECT t FROM items") == ["o"])
        let queued = try database.texts("SELECT data -> 'id' FROM ps_crud ORDER BY id")
        let ids = try queued.map { try JSONDecoder().decode(String.self, from: Data(($0 ?? "").utf8)) }
        #expect(ids.allSatisfy { $0.utf8.elementsEqual(id.utf8) })
        #expect(
            try database.rows("SELECT data ->> 'op' FROM ps_crud ORDER BY id") == ["PUT", "PATCH", "PUT", "DELETE"]
        )
    }

    // MARK: - Altered by the app

    /// Until the schema is applied again, the app reads and writes, and rows come.
    @Test(arguments: [
        "ALTER TABLE items ADD COLUMN extra INTEGER", "ALTER TABLE items ADD COLUMN later TEXT NOT NULL DEFAULT 'd'",
        "ALTER TABLE items RENAME COLUMN other TO another", "DROP INDEX IF EXISTS powersync_items__by_i",
        "CREATE TRIGGER mine AFTER INSERT ON items BEGIN SELECT NEW.t; END",
    ])
    func alteredTableSyncsAndUploadsUntilItIsAsDeclaredAgain(_ sql: String) throws {
        let table = ClientTable(
            name: "items",
            columns: Self.columns,
            indexes: [ClientIndex(name: "by_i", columns: [.init(name: "i")])],
            options: Self.options,
            isDirect: true
        )
        let scenario = try SyncScenario.started(.oneByOne, table)
        try scenario.receive(
            .checkpoint(1, [.bucket("a")]),
            .ops("a", .put(1, "1", data: #"{"t":"a","i":1,"other":5,"later":"x"}"#)),
            .done
        )
        try scenario.database.run(sql)
        try scenario.receive(.diff(2), .ops("a", .put(2, "2", data: #"{"t":"b","i":2,"other":6}"#)), .done)
        try scenario.database.write("UPDATE items SET t = 'local' WHERE id = '1'")
        try scenario.database.write("INSERT INTO items (id, t) VALUES ('3', 'new')")
        #expect(
            try scenario.database.rows("SELECT id, t, i FROM items ORDER BY id") == ["1|local|1", "2|b|2", "3|new|"]
        )
        #expect(
            try scenario.database.rows(
                "SELECT data ->> 'op', data ->> 'id', data -> '$.data.t' FROM ps_crud ORDER BY id"
            )
                == [#"PATCH|1|"local""#, #"PUT|3|"new""#]
        )
        try scenario.database.apply(table)
        #expect(
            try scenario.database.rows("SELECT id, t, i, other FROM items ORDER BY id")
                == ["1|local|1|5", "2|b|2|6", "3|new||"]
        )
        #expect(try scenario.database.texts("SELECT name FROM pragma_table_info('items')").count == 5)
        try scenario.database.write("UPDATE items SET other = 9 WHERE id = '3'")
        #expect(try scenario.database.entries().count == 3)
    }

    /// A column that the triggers name cannot be dropped, so that writes go on being recorded.
    @Test func aColumnThatTriggersNeedCannotBeDropped() throws {
        let database = try LocalTestDatabase(.direct(Self.columns))
        #expect(throws: DatabaseError.self) { try database.run("ALTER TABLE items DROP COLUMN i") }
        try database.write("INSERT INTO items (id, i) VALUES ('1', 7)")
        #expect(try database.entries().count == 1)
    }
}
