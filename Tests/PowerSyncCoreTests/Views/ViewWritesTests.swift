import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// What writes to views do to rows and to the upload queue (docs/database.md "Triggers of views").
@Suite struct ViewWritesTests {
    private static let typed: [ClientColumn] = [
        ClientColumn(name: "t", type: .text), ClientColumn(name: "i", type: .integer),
        ClientColumn(name: "r", type: .real),
    ]

    enum Kind: CaseIterable, CustomTestStringConvertible {
        case normal, localOnly, insertOnly

        var testDescription: String { "\(self)" }
    }

    @Test(arguments: [1, 49, 50, 51, 63, 64, 100, 1999], Kind.allCases)
    func anyNumberOfColumns(count: Int, kind: Kind) throws {
        let columns = (0..<count).map { ClientColumn(name: "c\($0)", type: .text) }
        let database = try LocalTestDatabase(
            .items(columns, isLocalOnly: kind == .localOnly, isInsertOnly: kind == .insertOnly)
        )
        let names = columns.map(\.name)
        let values = names.map { "'value of \($0)'" }
        try database.write(
            "INSERT INTO items(id, \(names.joined(separator: ", "))) VALUES ('x', \(values.joined(separator: ", ")))"
        )
        let changes = ["UPDATE items SET c\(count - 1) = 'new'", "DELETE FROM items WHERE id = 'x'"]
        let data = names.sorted().map { #""\#($0)":"value of \#($0)""# }.joined(separator: ",")
        let row = "x|" + names.map { "value of \($0)" }.joined(separator: "|")
        switch kind {
        case .normal:
            #expect(try database.rows("SELECT * FROM items") == [row])
            try database.write(changes.joined(separator: ";"))
            #expect(
                try database.entries() == [
                    #"{"op":"PUT","id":"x","type":"items","data":{\#(data)}}"#,
                    #"{"op":"PATCH","id":"x","type":"items","data":{"c\#(count - 1)":"new"}}"#,
                    #"{"op":"DELETE","id":"x","type":"items"}"#,
                ]
            )
            #expect(try database.rows("SELECT * FROM items").isEmpty)
        case .localOnly:
            #expect(try database.rows("SELECT * FROM items") == [row])
            try database.write(changes[0])
            #expect(try database.rows("SELECT c\(count - 1) FROM items") == ["new"])
            try database.write(changes[1])
            #expect(try database.rows("SELECT * FROM items").isEmpty)
            #expect(try database.entries().isEmpty)
            #expect(try database.rows("SELECT * FROM ps_tx") == ["1||1"])
        case .insertOnly:
            #expect(try database.entries() == [#"{"op":"PUT","type":"items","id":"x","data":{\#(data)}}"#])
            #expect(try database.rows("SELECT * FROM items").isEmpty)
            for change in changes {
                expectDatabaseError(1, "cannot modify items because it is a view") { try database.write(change) }
            }
        }
    }

    @Test func idsAreRequiredText() throws {
        for table in [ClientTable.items(), .items(isInsertOnly: true)] {
            let database = try LocalTestDatabase(table)
            expectDatabaseError(1811, "id is required") { try database.write("INSERT INTO items(col) VALUES ('a')") }
            expectDatabaseError(1811, "id should be text") { try database.write("INSERT INTO items(id) VALUES (1)") }
            #expect(try database.entries().isEmpty)
        }
        let local = try LocalTestDatabase(.items(isLocalOnly: true))
        expectDatabaseError(1299) { try local.write("INSERT INTO items(col) VALUES ('a')") }
        try local.write("INSERT INTO items(id) VALUES (1)")
        #expect(try local.rows("SELECT id, typeof(id) FROM items") == ["1|text"])
    }

    @Test func failingStatementKeepsEarlierRowsUnlessATransactionIsRolledBack() throws {
        let database = try LocalTestDatabase()
        let insert = "INSERT INTO items(id, col) VALUES ('a', '1'), (NULL, '2'), ('c', '3')"
        expectDatabaseError(1811) { try database.write(insert) }
        #expect(try database.rows("SELECT id FROM items").isEmpty)
        expectDatabaseError(1811) { try database.run(insert) }
        #expect(try database.rows("SELECT id FROM items") == ["a"])
        #expect(try database.entries().count == 1)
    }

    @Test func conflictsOfIDs() throws {
        let database = try LocalTestDatabase(.items(Self.typed))
        try database.write("INSERT INTO items(id, t, i) VALUES ('a', '1', 1)")
        try database.write("INSERT OR REPLACE INTO items(id, t) VALUES ('a', '2')")
        #expect(try database.rows("SELECT * FROM items") == ["a|2||"])
        try database.write("INSERT OR IGNORE INTO items(id, t) VALUES ('a', '3')")
        #expect(try database.rows("SELECT * FROM items") == ["a|2||"])
        expectDatabaseError(1555, "UNIQUE constraint failed: ps_data__items.id") {
            try database.write("INSERT INTO items(id, t) VALUES ('a', '4')")
        }
        expectDatabaseError(1, "cannot UPSERT a view") {
            try database.write("INSERT INTO items(id) VALUES ('a') ON CONFLICT DO NOTHING")
        }
        #expect(
            try database.entries() == [
                #"{"op":"PUT","id":"a","type":"items","data":{"i":1,"t":"1"}}"#,
                #"{"op":"PUT","id":"a","type":"items","data":{"t":"2"}}"#,
            ]
        )
    }

    @Test func idsCannotBeChanged() throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO items(id, col) VALUES ('a', '1')")
        expectDatabaseError(1811, "Cannot update id") { try database.write("UPDATE items SET id = 'b'") }
        expectDatabaseError(3091, "id is required") { try database.write("UPDATE items SET id = NULL") }
        #expect(try database.entries().count == 1)
        #expect(try database.rows("SELECT * FROM items") == ["a|1"])
    }

    @Test func updateWithoutChange() throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO ps_data__items VALUES ('a', '{\"col\":\"1\"}')")
        try database.write("UPDATE items SET col = '1'")
        #expect(try database.entries() == [#"{"op":"PATCH","id":"a","type":"items","data":{}}"#])

        let ignoring = try LocalTestDatabase(.items(ignoresEmptyUpdates: true))
        try ignoring.write("INSERT INTO ps_data__items VALUES ('a', '{\"col\":\"1\"}')")
        try ignoring.write("UPDATE items SET col = '1'")
        #expect(try ignoring.entries().isEmpty)
        #expect(try ignoring.queue.read { try LocalWriteGate.isOpen($0) })
        #expect(try ignoring.integer("SELECT count(*) FROM ps_updated_rows") == 0)
        try ignoring.write("UPDATE items SET col = '2'")
        #expect(try ignoring.entries() == [#"{"op":"PATCH","id":"a","type":"items","data":{"col":"2"}}"#])
    }

    @Test func nullsAreLeftOutOfInsertsAndKeptInUpdates() throws {
        let database = try LocalTestDatabase()
        try database.write(
            "INSERT INTO items(id) VALUES ('a'); UPDATE items SET col = 'x'; UPDATE items SET col = NULL"
        )
        #expect(
            try database.entries() == [
                #"{"op":"PUT","id":"a","type":"items","data":{}}"#,
                #"{"op":"PATCH","id":"a","type":"items","data":{"col":"x"}}"#,
                #"{"op":"PATCH","id":"a","type":"items","data":{"col":null}}"#,
            ]
        )
        #expect(try database.rows("SELECT data FROM ps_data__items") == [#"{"col":null}"#])
    }

    @Test func jsonValuesAreStoredAsText() throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO items(id, col) VALUES ('a', json_object())")
        #expect(try database.entries() == [#"{"op":"PUT","id":"a","type":"items","data":{"col":"{}"}}"#])
        #expect(try database.rows("SELECT * FROM items") == ["a|{}"])
    }

    @Test func insertsKeepTheTypeOfTheValueAndUpdatesWhatTheyLeave() throws {
        let columns = [ClientColumn(name: "col", type: .integer), ClientColumn(name: "other", type: .text)]
        let database = try LocalTestDatabase(.items(columns))
        try database.write(
            "INSERT INTO items(id, col) VALUES ('a', '{}'), ('b', NULL), ('c', 'not an integer'), ('d', '7')"
        )
        #expect(
            try database.queue.read { try UploadQueue.batch($0) }?.writes.map(\.data) == [
                ["col": "{}"], [:], ["col": "not an integer"], ["col": "7"],
            ]
        )
        #expect(try database.rows("SELECT id, col FROM items ORDER BY id") == ["a|0", "b|", "c|0", "d|7"])
        try database.write("UPDATE items SET other = 'x' WHERE id = 'c'")
        let row = try database.rows("SELECT data FROM ps_data__items WHERE id = 'c'")
        #expect(row == [#"{"col":"not an integer","other":"x"}"#])
        #expect(try database.entries().last == #"{"op":"PATCH","id":"c","type":"items","data":{"other":"x"}}"#)
    }

    @Test(arguments: [
        ("t = 5", #"{"t":"5"}"#), ("t = 7.5", #"{"t":"7.5"}"#), ("i = '8'", #"{"i":8}"#), ("i = 8.0", #"{"i":8}"#),
        ("i = 7.5", #"{"i":7.5}"#), ("i = 'abc'", #"{"i":"abc"}"#), ("r = '8'", #"{"r":8.0}"#),
        ("r = 9", #"{"r":9.0}"#),
        ("i = '7'", "{}"), ("t = 3", "{}"),
    ])
    func updatesApplyTheTypeOfTheColumn(assignment: String, data: String) throws {
        let database = try LocalTestDatabase(.items(Self.typed))
        try database.write("INSERT INTO items(id, t, i, r) VALUES ('a', '3', 7, 1.5)")
        try database.write("UPDATE items SET \(assignment)")
        #expect(try database.entries().last == #"{"op":"PATCH","id":"a","type":"items","data":\#(data)}"#)
    }

    @Test func numbersAreExact() throws {
        let database = try LocalTestDatabase(.items(Self.typed))
        try database.write("INSERT INTO items(id, i, r) VALUES ('a', 9223372036854775807, 1)")
        #expect(try database.rows("SELECT i FROM items") == ["9223372036854775807"])
        let data = #"{"i":9223372036854775807,"r":1.0}"#
        #expect(try database.entries() == [#"{"op":"PUT","id":"a","type":"items","data":\#(data)}"#])
        let write = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes.first)
        #expect(write.data == ["i": .integer(.max), "r": .double(1)])
        expectDatabaseError(1, "items.t: JSON cannot hold BLOB values") {
            try database.write("INSERT INTO items(id, t) VALUES ('b', x'00')")
        }
        expectDatabaseError(3091, "items.r: JSON cannot hold infinite numbers") {
            try database.write("INSERT INTO items(id, r) VALUES ('b', 9e999)")
        }
        #expect(try database.rows("SELECT id FROM items") == ["a"])
    }

    @Test(arguments: ["", "\u{1F600} \u{7f} \"\\/\n\u{1}", "e\u{301}é", String(repeating: "x", count: 100_000)])
    func textsSurvive(text: String) throws {
        let database = try LocalTestDatabase(.items(tracksMetadata: true))
        try database.write("INSERT INTO items(id, col, _metadata) VALUES (?, ?, ?)", [text, text, text])
        let write = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes.first)
        #expect(write.rowID.utf8.elementsEqual(text.utf8))
        #expect(write.metadata?.utf8.elementsEqual(text.utf8) == true)
        #expect(write.data?["col"] == .string(text))
        #expect(try database.queue.read { try String.fetchOne($0, sql: "SELECT col FROM items") } == text)
    }

    /// GRDB binds texts up to a NUL, so this one is made in SQL.
    @Test func nulBytesSurviveInTheQueue() throws {
        let database = try LocalTestDatabase(.items(tracksMetadata: true))
        let text = "'a' || char(0) || 'b'"
        try database.write("INSERT INTO items(id, col, _metadata) VALUES (\(text), \(text), \(text))")
        #expect(
            try database.entries() == [
                #"{"op":"PUT","id":"a\u0000b","type":"items","data":{"col":"a\u0000b"},"metadata":"a\u0000b"}"#
            ]
        )
        let write = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes.first)
        #expect(write.rowID == "a\0b")
    }

    @Test func keysOutsideOfTheSchemaAreLostByLocalUpdates() throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO ps_data__items VALUES ('a', '{\"col\":\"1\",\"extra\":true}')")
        try database.write("UPDATE items SET col = '2'")
        #expect(try database.rows("SELECT data FROM ps_data__items") == [#"{"col":"2"}"#])
        #expect(try database.entries() == [#"{"op":"PATCH","id":"a","type":"items","data":{"col":"2"}}"#])
    }

    struct PreviousCase: CustomTestStringConvertible {
        let testDescription: String
        let options: PreviousValues?
        let patch: String
        let delete: String
    }

    /// Name and note change from n and NULL to n2 and x, content stays c.
    static let previousCases = [
        PreviousCase(testDescription: "off", options: nil, patch: "", delete: ""),
        PreviousCase(
            testDescription: "all",
            options: PreviousValues(),
            patch: #","old":{"name":"n","note":null,"content":"c"}"#,
            delete: #","old":{"name":"n2","note":"x","content":"c"}"#
        ),
        PreviousCase(
            testDescription: "some, in the order of the table",
            options: PreviousValues(columns: ["content", "name", "missing"]),
            patch: #","old":{"name":"n","content":"c"}"#,
            delete: #","old":{"name":"n2","content":"c"}"#
        ),
        PreviousCase(
            testDescription: "none",
            options: PreviousValues(columns: []),
            patch: #","old":{}"#,
            delete: #","old":{}"#
        ),
        PreviousCase(
            testDescription: "all that changed",
            options: PreviousValues(onlyWhenChanged: true),
            patch: #","old":{"name":"n","note":null}"#,
            delete: #","old":{"name":"n2","note":"x","content":"c"}"#
        ),
        PreviousCase(
            testDescription: "some that changed",
            options: PreviousValues(columns: ["content"], onlyWhenChanged: true),
            patch: #","old":{}"#,
            delete: #","old":{"content":"c"}"#
        ),
    ]

    @Test(arguments: previousCases)
    func previousValues(_ test: PreviousCase) throws {
        let columns = ["name", "note", "content"].map { ClientColumn(name: $0, type: .text) }
        let database = try LocalTestDatabase(.items(columns, trackPreviousValues: test.options))
        try database.write(
            """
            INSERT INTO items(id, name, content) VALUES ('a', 'n', 'c');
            UPDATE items SET name = 'n2', note = 'x';
            DELETE FROM items;
            """
        )
        #expect(
            try database.entries() == [
                #"{"op":"PUT","id":"a","type":"items","data":{"content":"c","name":"n"}}"#,
                #"{"op":"PATCH","id":"a","type":"items","data":{"name":"n2","note":"x"}\#(test.patch)}"#,
                #"{"op":"DELETE","id":"a","type":"items"\#(test.delete)}"#,
            ]
        )
    }

    @Test func metadata() throws {
        let plain = try LocalTestDatabase()
        expectDatabaseError(1, "_metadata") { try plain.write("INSERT INTO items(id, _metadata) VALUES ('a', 'm')") }

        let database = try LocalTestDatabase(.items(tracksMetadata: true))
        try database.write(
            """
            INSERT INTO items(id, col, _metadata) VALUES ('a', '1', 'm1'), ('b', '1', NULL), ('c', '1', 7);
            UPDATE items SET col = '2', _metadata = 'm2' WHERE id = 'a';
            UPDATE items SET col = '3' WHERE id = 'a';
            UPDATE items SET col = '4', _deleted = FALSE WHERE id = 'a';
            DELETE FROM items WHERE id = 'b';
            UPDATE items SET col = '5', _deleted = TRUE, _metadata = 'bye' WHERE id = 'a';
            """
        )
        let writes = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes)
        #expect(writes.map(\.kind) == [.put, .put, .put, .patch, .patch, .patch, .delete, .delete])
        #expect(writes.map(\.metadata) == ["m1", nil, "7", "m2", nil, nil, nil, "bye"])
        #expect(try database.rows("SELECT id, _metadata, _deleted FROM items") == ["c||"])
    }

    @Test func insertOnlyTablesDoNotCloseTheGate() throws {
        let database = try LocalTestDatabase(.items(isInsertOnly: true))
        try database.write("INSERT INTO items(id, col) VALUES ('a', '1')")
        #expect(try database.queue.read { try LocalWriteGate.target($0) } == nil)
        #expect(try database.integer("SELECT count(*) FROM ps_buckets") == 0)
        #expect(try database.integer("SELECT count(*) FROM ps_updated_rows") == 0)

        let both = try LocalTestDatabase(.items(isLocalOnly: true, isInsertOnly: true))
        try both.write("INSERT INTO items(id, col) VALUES ('a', '1'); UPDATE items SET col = '2'")
        #expect(try both.rows("SELECT * FROM items") == ["a|2"])
        #expect(try both.entries().isEmpty)
    }

    @Test func returningGivesRows() throws {
        let database = try LocalTestDatabase()
        let rows = try database.queue.write { db in
            try ["INSERT INTO items(id, col) VALUES ('a', 5)", "UPDATE items SET col = 6", "DELETE FROM items"].map {
                let row = try Row.fetchOne(db, sql: "\($0) RETURNING id, col")
                return row.map { Array($0.databaseValues) } ?? []
            }
        }
        #expect(
            rows == [
                ["a".databaseValue, 5.databaseValue], ["a".databaseValue, "6".databaseValue],
                ["a".databaseValue, "6".databaseValue],
            ]
        )
    }

    @Test func memoryOfALargeWriteIsGivenUp() throws {
        let database = try LocalTestDatabase(.items(trackPreviousValues: PreviousValues()))
        func write(_ id: String, _ text: String) throws -> [Int] {
            try database.write("INSERT INTO items(id, col) VALUES (?, ?)", [id, text])
            try database.write("UPDATE items SET col = col || '!' WHERE id = ?", [id])
            _ = try database.texts("SELECT powersync_diff('{}', ?)", [#"{"col":"\#(text)"}"#])
            return try database.queue.read { db in
                let state = try ConnectionState.of(db)
                return [state.recorder.entry, state.rowObject.output, state.difference.output].map(\.capacity)
            }
        }
        let small = try write("a", "text")
        #expect(small.allSatisfy { $0 > 0 })
        #expect(try write("b", "text") == small)
        let large = String(repeating: "x", count: 1_000_000)
        #expect(try write("c", large).allSatisfy { $0 <= JSONBytes.keptCapacity })
        let (data, old) = (#"{"col":"\#(large)!"}"#, #"{"col":"\#(large)"}"#)
        #expect(
            try database.entries().last == #"{"op":"PATCH","id":"c","type":"items","data":\#(data),"old":\#(old)}"#
        )
        #expect(try write("d", "text").allSatisfy { $0 > 0 })
    }

    @Test func untrustedSchemaCannotWrite() throws {
        let database = try LocalTestDatabase()
        try database.run("PRAGMA trusted_schema = OFF")
        expectDatabaseError(1, "unsafe use") { try database.write("INSERT INTO items(id, col) VALUES ('a', '1')") }
    }

    @Test func publishingRecordsNothing() throws {
        let database = try LocalTestDatabase()
        try database.queue.write { db in
            try Publishing.whilePublishing(db) {
                #expect(try Int.fetchOne(db, sql: "SELECT powersync_in_sync_operation()") == 1)
                try db.execute(sql: "INSERT INTO items(id, col) VALUES ('a', '1')")
                #expect(throws: LocalDatabaseError.self) { try Publishing.whilePublishing(db) {} }
            }
            #expect(try Int.fetchOne(db, sql: "SELECT powersync_in_sync_operation()") == 0)
            #expect(throws: CancellationError.self) {
                try Publishing.whilePublishing(db) { throw CancellationError() }
            }
            try db.execute(sql: "INSERT INTO items(id, col) VALUES ('b', '1')")
        }
        #expect(try database.entries() == [#"{"op":"PUT","id":"b","type":"items","data":{"col":"1"}}"#])
    }
}
