import GRDB
import GRDBSQLite
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// The table of values of the documentation ("What Columns Can Hold"): each value in each place, as it is read back and uploaded.
///
/// Nothing here depends on the version of SQLite, except where a text ends at a NUL when it is read.
@Suite struct ValueTableTests {
    private static let columns = [
        ClientColumn(name: "t", type: .text), ClientColumn(name: "i", type: .integer),
        ClientColumn(name: "r", type: .real), ClientColumn(name: "other", type: .integer),
    ]

    private static func database(
        isLocalOnly: Bool = false,
        isInsertOnly: Bool = false,
        tracksMetadata: Bool = false
    ) throws -> LocalTestDatabase {
        try LocalTestDatabase(
            .items(
                columns,
                isLocalOnly: isLocalOnly,
                isInsertOnly: isInsertOnly,
                tracksMetadata: tracksMetadata,
                trackPreviousValues: PreviousValues()
            )
        )
    }

    /// A raw table of the same columns, with triggers, and rows that have them.
    private static func rawDatabase() throws -> LocalTestDatabase {
        let structure = ClientRawTable.Structure(
            tableName: "raw",
            syncedColumns: nil,
            options: ClientTableOptions(trackPreviousValues: PreviousValues())
        )
        let table = ClientRawTable(name: "items", structure: structure)
        let database = try LocalTestDatabase(schema: ClientSchema(rawTables: [table]))
        try database.write("CREATE TABLE raw (id TEXT PRIMARY KEY, t, i, r, other)")
        for write in ["INSERT", "UPDATE", "DELETE"] {
            try database.write(
                "SELECT powersync_create_raw_table_crud_trigger(?, ?, ?)",
                [table.json.text, "raw_\(write)", write]
            )
        }
        return database
    }

    /// Whether a column holds the value of an expression, bit for bit.
    private func expectStored(_ value: ColumnValue, in table: String, _ database: LocalTestDatabase) throws {
        try database.queue.read { db in
            let stored = try db.makeStatement(sql: "SELECT \(value.column) FROM \(table)")
            let written = try db.makeStatement(sql: "SELECT \(value.sql)")
            func column(_ statement: Statement) throws -> [UInt8] {
                let rows = try Row.fetchCursor(statement)
                _ = try #require(try rows.next())
                let handle = statement.sqliteStatement
                if sqlite3_column_type(handle, 0) == SQLITE_FLOAT {
                    return withUnsafeBytes(of: sqlite3_column_double(handle, 0).bitPattern) { Array($0) }
                }
                let bytes = sqlite3_column_blob(handle, 0)
                return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, 0))))
            }
            var expected = try column(written)
            let actual = try column(stored)
            // json_extract of older versions ends a text at a NUL.
            if value.testDescription == "NUL", table == "items", actual.count < expected.count { expected = [0x61] }
            #expect(actual == expected, "\(value.testDescription) in \(table)")
        }
    }

    private func expectEntry(_ database: LocalTestDatabase, _ text: String, _ comment: Comment) throws {
        let entry = try database.queue.read { db in
            try String.fetchOne(db, sql: "SELECT data FROM ps_crud ORDER BY id DESC LIMIT 1")
        }
        #expect(entry?.utf8.elementsEqual(text.utf8) == true, "\(comment): \((entry ?? "").prefix(300))")
        let write = try #require(try database.queue.read { try UploadQueue.batch($0, limit: 1_000) }?.writes.last)
        #expect(write.damage == nil)
    }

    private static func data(_ value: ColumnValue, nulls: Bool) -> String {
        value.json == "null" && !nulls ? "{}" : #"{"\#(value.column)":\#(value.json ?? "")}"#
    }

    private static func previous(_ value: ColumnValue, other: String) -> String {
        let members = ["t", "i", "r"].map { #""\#($0)":\#($0 == value.column ? value.json ?? "" : "null")"# }
        return "{\(members.joined(separator: ",")),\"other\":\(other)}"
    }

    @Test(arguments: ColumnValue.kept) func viewsKeep(_ value: ColumnValue) throws {
        let database = try Self.database()
        try database.write("INSERT INTO items(id, \(value.column)) VALUES ('x', \(value.sql))")
        try expectStored(value, in: "items", database)
        try expectEntry(
            database,
            #"{"op":"PUT","id":"x","type":"items","data":\#(Self.data(value, nulls: false))}"#,
            "inserted"
        )
        // The row is written anew, and nothing else is uploaded.
        try database.write("UPDATE items SET other = 1")
        try expectStored(value, in: "items", database)
        guard value.testDescription != "NUL" else { return }
        try expectEntry(
            database,
            #"{"op":"PATCH","id":"x","type":"items","data":{"other":1},"old":\#(Self.previous(value, other: "null"))}"#,
            "another column"
        )
        // SQLite itself makes 0.0 of the -0.0 of an update, before any trigger sees it.
        guard value.testDescription != "-0.0" else { return }
        try database.write("UPDATE items SET \(value.column) = NULL; UPDATE items SET \(value.column) = \(value.sql)")
        try expectStored(value, in: "items", database)
        let data = value.json == "null" ? "{}" : Self.data(value, nulls: true)
        try expectEntry(
            database,
            #"{"op":"PATCH","id":"x","type":"items","data":\#(data),"old":{"t":null,"i":null,"r":null,"other":1}}"#,
            "updated"
        )
        try database.write("DELETE FROM items")
        try expectEntry(
            database,
            #"{"op":"DELETE","id":"x","type":"items","old":\#(Self.previous(value, other: "1"))}"#,
            "deleted"
        )
    }

    @Test(arguments: ColumnValue.kept) func localTablesKeep(_ value: ColumnValue) throws {
        let database = try Self.database(isLocalOnly: true)
        try database.write("INSERT INTO items(id, \(value.column)) VALUES ('x', \(value.sql))")
        try expectStored(value, in: "items", database)
        guard value.testDescription != "-0.0" else { return }
        try database.write("UPDATE items SET \(value.column) = NULL; UPDATE items SET \(value.column) = \(value.sql)")
        try expectStored(value, in: "items", database)
    }

    @Test(arguments: ColumnValue.kept) func insertOnlyTablesUpload(_ value: ColumnValue) throws {
        let database = try Self.database(isInsertOnly: true)
        try database.write("INSERT INTO items(id, \(value.column)) VALUES ('x', \(value.sql))")
        try expectEntry(
            database,
            #"{"op":"PUT","type":"items","id":"x","data":\#(Self.data(value, nulls: false))}"#,
            "inserted"
        )
    }

    @Test(arguments: ColumnValue.kept) func rawTablesKeep(_ value: ColumnValue) throws {
        let database = try Self.rawDatabase()
        try database.write("INSERT INTO raw(id, \(value.column)) VALUES ('x', \(value.sql))")
        try expectStored(value, in: "raw", database)
        try expectEntry(
            database,
            #"{"op":"PUT","id":"x","type":"items","data":\#(Self.data(value, nulls: false))}"#,
            "inserted"
        )
        try database.write("UPDATE raw SET \(value.column) = NULL; UPDATE raw SET \(value.column) = \(value.sql)")
        let data = value.json == "null" ? "{}" : Self.data(value, nulls: true)
        try expectEntry(
            database,
            #"{"op":"PATCH","id":"x","type":"items","data":\#(data),"old":{"t":null,"i":null,"r":null,"other":null}}"#,
            "updated"
        )
        try database.write("DELETE FROM raw")
        try expectEntry(
            database,
            #"{"op":"DELETE","id":"x","type":"items","old":\#(Self.previous(value, other: "null"))}"#,
            "deleted"
        )
    }

    /// SQLite itself makes 0.0 of the -0.0 of a REAL column.
    private static let ofTypedColumns = ColumnValue.kept.filter { $0.testDescription != "-0.0" }

    private static func directDatabase() throws -> LocalTestDatabase {
        var table = ClientTable.items(columns, trackPreviousValues: PreviousValues())
        table.isDirect = true
        return try LocalTestDatabase(table)
    }

    @Test(arguments: ofTypedColumns) func directTablesKeep(_ value: ColumnValue) throws {
        let database = try Self.directDatabase()
        try database.write("INSERT INTO items(id, \(value.column)) VALUES ('x', \(value.sql))")
        let stored = #""items""#
        try expectStored(value, in: stored, database)
        try expectEntry(
            database,
            #"{"op":"PUT","id":"x","type":"items","data":\#(Self.data(value, nulls: false))}"#,
            "inserted"
        )
        try database.write("UPDATE items SET \(value.column) = NULL; UPDATE items SET \(value.column) = \(value.sql)")
        try expectStored(value, in: stored, database)
        let data = value.json == "null" ? "{}" : Self.data(value, nulls: true)
        try expectEntry(
            database,
            #"{"op":"PATCH","id":"x","type":"items","data":\#(data),"old":{"t":null,"i":null,"r":null,"other":null}}"#,
            "updated"
        )
        // The rows move when the columns change.
        var table = ClientTable.items(Self.columns + [ClientColumn(name: "later", type: .text)])
        table.isDirect = true
        try database.apply(table)
        try expectStored(value, in: stored, database)
    }

    /// The service sends what the upload said.
    @Test(arguments: ofTypedColumns) func directTablesKeepWhatIsSynced(_ value: ColumnValue) throws {
        var table = ClientTable.items(Self.columns)
        table.isDirect = true
        let scenario = try SyncScenario.started(.oneByOne, table)
        try scenario.receive(
            .checkpoint(1, [.bucket("a")]),
            .ops("a", .put(1, "x", data: Self.data(value, nulls: true))),
            .done
        )
        try expectStored(value, in: #""items""#, scenario.database)
    }

    /// Metadata is text: numbers become it.
    @Test(arguments: ColumnValue.kept) func metadataKeeps(_ value: ColumnValue) throws {
        let database = try Self.database(tracksMetadata: true)
        try database.write("INSERT INTO items(id, _metadata) VALUES ('x', \(value.sql))")
        let json = value.json ?? ""
        let metadata = json == "null" ? "" : #","metadata":\#(json.hasPrefix("\"") ? json : "\"\(json)\"")"#
        try expectEntry(database, #"{"op":"PUT","id":"x","type":"items","data":{}\#(metadata)}"#, "inserted")
    }

    // MARK: - Refused

    /// Expects that a statement fails with a message that names table and column, and changes nothing.
    private func expectRefusal(_ value: ColumnValue, _ database: LocalTestDatabase, _ sql: String) throws {
        let before = try database.rows("SELECT count(*), total(length(data)) FROM ps_crud")
        let code: Int32 = value.refusal.contains("BLOB") ? 1 : 3091
        let isRaw = sql.contains("raw")
        expectDatabaseError(isRaw ? 1811 : code, "items.\(value.column): ", value.refusal) { try database.run(sql) }
        #expect(try database.rows("SELECT count(*), total(length(data)) FROM ps_crud") == before)
    }

    @Test(arguments: ColumnValue.refused) func viewsRefuse(_ value: ColumnValue) throws {
        for (isLocalOnly, isInsertOnly) in [(false, false), (true, false), (false, true)] {
            let database = try Self.database(isLocalOnly: isLocalOnly, isInsertOnly: isInsertOnly)
            try expectRefusal(value, database, "INSERT INTO items(id, \(value.column)) VALUES ('x', \(value.sql))")
            #expect(try database.rows("SELECT id FROM items").isEmpty)
            guard !isInsertOnly else { continue }
            try database.write("INSERT INTO items(id, other) VALUES ('x', 7)")
            // An update casts the value to the type of the column first.
            guard value.testDescription != "Infinity for a text" else { continue }
            try expectRefusal(value, database, "UPDATE items SET other = 8, \(value.column) = \(value.sql)")
            #expect(try database.rows("SELECT other FROM items") == ["7"])
        }
    }

    @Test(arguments: ColumnValue.refused.filter { $0.refusal != "UTF-8" }) func rawTablesRefuseToUpload(
        _ value: ColumnValue
    ) throws {
        let database = try Self.rawDatabase()
        try expectRefusal(value, database, "INSERT INTO raw(id, \(value.column)) VALUES ('x', \(value.sql))")
        #expect(try database.rows("SELECT id FROM raw").isEmpty)
        try database.write("INSERT INTO raw(id, other) VALUES ('x', 7)")
        try expectRefusal(value, database, "UPDATE raw SET other = 8, \(value.column) = \(value.sql)")
        #expect(try database.rows("SELECT other FROM raw") == ["7"])
    }

    /// A text column makes a text of an infinite number.
    @Test(
        arguments: ColumnValue.refused.filter { $0.refusal != "UTF-8" && $0.testDescription != "Infinity for a text" }
    )
    func directTablesRefuse(_ value: ColumnValue) throws {
        let database = try Self.directDatabase()
        let isBlob = value.refusal.contains("BLOB")
        let words = isBlob ? "cannot store BLOB value in" : "items.\(value.column): JSON cannot hold infinite numbers"
        try database.write("INSERT INTO items(id, other) VALUES ('x', 7)")
        let before = try database.entries()
        for sql in [
            "INSERT INTO items(id, \(value.column)) VALUES ('y', \(value.sql))",
            "UPDATE items SET other = 8, \(value.column) = \(value.sql)",
        ] {
            expectDatabaseError(isBlob ? 3091 : 1811, words) { try database.run(sql) }
            #expect(try database.rows("SELECT id, other FROM items") == ["x|7"])
            #expect(try database.entries() == before)
        }
    }

    /// What the service or the app's own statements put into a raw table does not keep other columns from being written.
    @Test(arguments: ColumnValue.refused) func rawTablesKeepWhatTheyHave(_ value: ColumnValue) throws {
        let database = try Self.rawDatabase()
        try database.queue.write { db in
            try Publishing.whilePublishing(db) {
                try db.execute(sql: "INSERT INTO raw(id, \(value.column)) VALUES ('x', \(value.sql))")
            }
        }
        try expectStored(value, in: "raw", database)
        guard value.refusal != "UTF-8" else { return }
        try database.write("UPDATE raw SET other = 1")
        try expectStored(value, in: "raw", database)
        let writes = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes)
        #expect(writes.map(\.data) == [["other": 1]])
        try database.write("UPDATE raw SET \(value.column) = NULL")
        try database.write("DELETE FROM raw")
        let later = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes)
        #expect(later[1].data == [value.column: .null])
        #expect(later.allSatisfy { $0.damage == nil })
    }

    @Test func everyByteIsRefusedAsBlob() throws {
        let database = try Self.database()
        let raw = try Self.rawDatabase()
        for byte in 0...255 {
            let digits = String(byte, radix: 16)
            let blob = "x'\(digits.count == 1 ? "0" : "")\(digits)'"
            expectDatabaseError(1, "items.t: JSON cannot hold BLOB values") {
                try database.run("INSERT INTO items(id, t) VALUES ('x', \(blob))")
            }
            expectDatabaseError(1811, "items.t: JSON cannot hold BLOB values") {
                try raw.run("INSERT INTO raw(id, t) VALUES ('x', \(blob))")
            }
        }
        #expect(try database.entries().isEmpty && raw.entries().isEmpty)
    }

    @Test func metadataIsText() throws {
        let database = try Self.database(tracksMetadata: true)
        for (number, expected) in [("9e999", "Infinity"), ("-9e999", "-Infinity")] {
            try database.write("INSERT OR REPLACE INTO items(id, _metadata) VALUES ('x', \(number))")
            try expectEntry(
                database,
                #"{"op":"PUT","id":"x","type":"items","data":{},"metadata":"\#(expected)"}"#,
                "number"
            )
        }
        try database.write("INSERT OR REPLACE INTO items(id, _metadata) VALUES ('x', x'00')")
        try expectEntry(database, #"{"op":"PUT","id":"x","type":"items","data":{}}"#, "BLOB")
        expectDatabaseError(3091, "metadata must be text", "UTF-8") {
            try database.run("INSERT INTO items(id, _metadata) VALUES ('y', CAST(x'ff' AS TEXT))")
        }
        expectDatabaseError(3091, "id must be text", "UTF-8") {
            try database.run("INSERT INTO items(id) VALUES (CAST(x'ff' AS TEXT))")
        }
        #expect(try database.rows("SELECT id FROM items") == ["x"])
    }

    // MARK: - Rows from elsewhere

    /// The service sends infinities and halves of surrogate pairs; updates of other columns keep them and upload nothing of them.
    @Test(arguments: [
        (#"{"r":9e999}"#, "r", "9e999", "\"Infinity\""), (#"{"r":-9e999}"#, "r", "-9e999", "\"-Infinity\""),
        (#"{"t":"\ud800"}"#, "t", "CAST(x'eda080' AS TEXT)", nil),
    ])
    func updatesKeepWhatTheyCouldNotWrite(row: String, column: String, sql: String, previous: String?) throws {
        let database = try Self.database()
        let value = ColumnValue(row, sql, column, refusedWith: "")
        try database.write("INSERT INTO ps_data__items VALUES ('x', ?)", [row])
        try expectStored(value, in: "items", database)
        try database.write("UPDATE items SET other = 1")
        try expectStored(value, in: "items", database)
        let write = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes.first)
        #expect(write.damage == nil)
        #expect(write.data == ["other": 1])
        if let previous { #expect(write.previousValues?[column]?.text == previous) }
        try database.write("UPDATE items SET \(column) = NULL")
        let later = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes.last)
        #expect(later.data == [column: .null])
    }

    /// A trigger of the app copies the row as it is stored, which readers of the queue would not understand.
    @Test func rowsAreNotQueuedAsTheyAreStored() throws {
        let database = try Self.database()
        try database.write(
            """
            INSERT INTO ps_data__items VALUES ('x', '{"r":9e999}');
            CREATE TRIGGER copy AFTER UPDATE ON ps_data__items BEGIN
              INSERT INTO powersync_crud(op, id, type, data) VALUES ('PUT', NEW.id, 'copies', NEW.data);
            END;
            """
        )
        expectDatabaseError(3091, "must be JSON objects") { try database.run("UPDATE items SET other = 1") }
        #expect(try database.entries().isEmpty)
        #expect(try database.texts("SELECT data FROM ps_data__items") == [#"{"r":9e999}"#])
    }
}
