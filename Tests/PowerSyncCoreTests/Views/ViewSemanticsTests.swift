import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// What follows from views and triggers (docs/database.md "Triggers of views").
@Suite struct ViewSemanticsTests {
    private static func drafts(tracksMetadata: Bool = false) -> ClientTable {
        var table = ClientTable.items(isLocalOnly: true, tracksMetadata: tracksMetadata)
        table.name = "drafts"
        return table
    }

    @Test func changesCountNothing() throws {
        let database = try LocalTestDatabase()
        for sql in [
            "INSERT INTO items(id) VALUES ('a'), ('b')", "UPDATE items SET col = 'x'", "DELETE FROM items",
        ] {
            let changes = try database.queue.write { db in
                try db.execute(sql: "CREATE TEMP TABLE IF NOT EXISTS none(x); DELETE FROM none")
                try db.execute(sql: sql)
                return db.changesCount
            }
            #expect(changes == 0, "\(sql)")
        }
    }

    @Test func rowsMoveFromALocalTableToASyncedOne() throws {
        let database = try LocalTestDatabase(.items(), Self.drafts())
        try database.write("INSERT INTO drafts(id, col) VALUES ('a', '1'), ('b', NULL)")
        #expect(try database.entries().isEmpty)
        try database.write("INSERT INTO items SELECT * FROM drafts ORDER BY id; DELETE FROM drafts")
        #expect(
            try database.entries() == [
                #"{"op":"PUT","id":"a","type":"items","data":{"col":"1"}}"#,
                #"{"op":"PUT","id":"b","type":"items","data":{}}"#,
            ]
        )
        #expect(try database.transactionIDs() == [1, 1])
        #expect(try database.integer("SELECT count(*) FROM drafts") == 0)
    }

    @Test func deletingThroughALocalTableThatTracksMetadataDoesNothing() throws {
        let database = try LocalTestDatabase(Self.drafts(tracksMetadata: true))
        try database.write(
            "INSERT INTO drafts(id, col) VALUES ('a', '1'); UPDATE drafts SET _deleted = TRUE, col = '2'"
        )
        #expect(try database.rows("SELECT id, col FROM drafts") == ["a|1"])
        try database.write("UPDATE drafts SET col = '2'; DELETE FROM drafts WHERE col = '2'")
        #expect(try database.integer("SELECT count(*) FROM drafts") == 0)
    }

    @Test func nothingThatMatchesNothingIsQueued() throws {
        let database = try LocalTestDatabase()
        try database.write("UPDATE items SET col = 'x' WHERE id = 'a'; DELETE FROM items WHERE id = 'a'")
        #expect(try database.entries().isEmpty)
        #expect(try database.queue.read { try LocalWriteGate.isOpen($0) })
    }

    @Test(arguments: ["REPLACE", "INSERT OR REPLACE"])
    func replaceOfASyncedRowKeepsNothingThatIsNotNamed(_ verb: String) throws {
        let columns = ["a", "b"].map { ClientColumn(name: $0, type: .text) }
        let database = try LocalTestDatabase(.items(columns))
        try database.write(#"INSERT INTO ps_data__items VALUES ('x', '{"a":"1","b":"2","extra":3}')"#)
        try database.write("\(verb) INTO items(id, b) VALUES ('x', '4')")
        #expect(try database.rows("SELECT data FROM ps_data__items") == [#"{"a":null,"b":"4"}"#])
        #expect(try database.entries() == [#"{"op":"PUT","id":"x","type":"items","data":{"b":"4"}}"#])
    }

    @Test func rolledBackSavepointTakesItsEntriesAway() throws {
        let database = try LocalTestDatabase()
        try database.queue.write { db in
            try db.execute(sql: "INSERT INTO items(id, col) VALUES ('a', '1')")
            try db.inSavepoint {
                try db.execute(sql: "INSERT INTO items(id, col) VALUES ('b', '1'); DELETE FROM items WHERE id = 'a'")
                return .rollback
            }
            try db.inSavepoint {
                try db.execute(sql: "UPDATE items SET col = '2'")
                return .commit
            }
        }
        #expect(try database.rows("SELECT * FROM items") == ["a|2"])
        #expect(try database.rows("SELECT * FROM ps_updated_rows") == ["items|a"])
        let writes = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes)
        #expect(writes.map(\.kind) == [.put, .patch])
        #expect(Set(writes.map(\.transactionID)) == [1])
    }

    /// What `RETURNING` says of each kind of write.
    @Test func returningGivesValuesAsWritten() throws {
        let database = try LocalTestDatabase(.items(tracksMetadata: true))
        let returned = try database.queue.write { db in
            try [
                "INSERT INTO items(id, col, _metadata) VALUES ('a', 5, 'm'), ('b', 6, NULL)",
                "INSERT OR REPLACE INTO items(id, col) VALUES ('a', 7)",
                "UPDATE items SET col = 8 WHERE id = 'b'",
                "UPDATE items SET _deleted = TRUE WHERE id = 'b'",
                "DELETE FROM items WHERE id = 'a'",
                "DELETE FROM items WHERE id = 'missing'",
            ].map { sql in
                try Row.fetchAll(db, sql: sql + " RETURNING id, typeof(col), col").map { row in
                    row.databaseValues.map { "\($0)" }.joined(separator: " ")
                }
            }
        }
        #expect(
            returned == [
                [#""a" "integer" 5"#, #""b" "integer" 6"#], [#""a" "integer" 7"#], [#""b" "text" "8""#],
                [#""b" "text" "8""#], [#""a" "text" "7""#], [],
            ]
        )
    }

    /// `json_extract` in the view needs trust as well, on some versions of SQLite.
    @Test func untrustedSchemaCannotBeWritten() throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO items(id, col) VALUES ('a', '1')")
        try database.run("PRAGMA trusted_schema = OFF")
        for sql in ["UPDATE items SET col = '2'", "DELETE FROM items"] {
            expectDatabaseError(1, "unsafe use of") { try database.write(sql) }
        }
        do {
            #expect(try database.rows("SELECT * FROM items") == ["a|1"])
        } catch let error as DatabaseError {
            #expect(error.message?.contains("unsafe use of json_extract") == true)
        }
        #expect(try database.entries().count == 1)
        try database.run("PRAGMA trusted_schema = ON")
        try database.write("UPDATE items SET col = '2'")
        #expect(try database.rows("SELECT * FROM items") == ["a|2"])
    }
}
