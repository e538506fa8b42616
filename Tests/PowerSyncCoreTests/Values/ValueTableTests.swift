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
    struct Value: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// An expression in SQL.
        let sql: String
        /// The column that has the type of the value.
        let column: String
        /// What an entry of the upload queue has; `nil` when the value is refused.
        let json: String?
        /// Words of the refusal.
        let refusal: String

        init(_ name: String, _ sql: String, _ column: String, _ json: String) {
            (testDescription, self.sql, self.column, self.json, refusal) = (name, sql, column, json, "")
        }

        init(_ name: String, _ sql: String, _ column: String, refusedWith refusal: String) {
            (testDescription, self.sql, self.column, json, self.refusal) = (name, sql, column, nil, refusal)
        }
    }

    private static let megabyte = String(repeating: "0123456789abcde😀", count: 1 << 16)

    static let kept = [
        Value("NULL", "NULL", "t", "null"),
        Value("NaN", "9e999 - 9e999", "r", "null"),
        Value("0", "0", "i", "0"),
        Value("2^53 - 1", "9007199254740991", "i", "9007199254740991"),
        Value("2^53 + 1", "9007199254740993", "i", "9007199254740993"),
        Value("2^63 - 1", "9223372036854775807", "i", "9223372036854775807"),
        Value("-2^63", "-9223372036854775807 - 1", "i", "-9223372036854775808"),
        Value("0.0", "0.0", "r", "0.0"),
        Value("-0.0", "-0.0", "r", "-0.0"),
        Value("0.1 + 0.2", "0.1 + 0.2", "r", "0.30000000000000004"),
        Value("1.0 / 3", "1.0 / 3", "r", "0.3333333333333333"),
        Value("2^53 as real", "9007199254740992.0", "r", "9007199254740992.0"),
        Value("1e21", "1e21", "r", "1e21"),
        Value("least", "5e-324", "r", "5e-324"),
        Value("greatest", "1.7976931348623157e308", "r", "1.7976931348623157e308"),
        Value("-greatest", "-1.7976931348623157e308", "r", "-1.7976931348623157e308"),
        Value("empty", "''", "t", #""""#),
        Value("quotes", #"'"\/'"#, "t", #""\"\\/""#),
        Value(
            "control characters",
            "char(1, 8, 9, 10, 12, 13, 31, 127)",
            "t",
            #""\u0001\b\t\n\f\r\u001f"# + "\u{7f}\""
        ),
        Value("NUL", "'a' || char(0) || 'b'", "t", #""a\u0000b""#),
        Value("every plane", "'é麵😀' || char(1114111)", "t", "\"é麵😀\u{10ffff}\""),
        Value("JSON function", "json_object('a', 1)", "t", #""{\"a\":1}""#),
        Value("like JSON", "'null'", "t", #""null""#),
        Value("a megabyte", "'\(megabyte)'", "t", "\"\(megabyte)\""),
    ]

    static let refused =
        [
            Value("Infinity", "9e999", "r", refusedWith: "infinite numbers"),
            Value("-Infinity", "-9e999", "r", refusedWith: "infinite numbers"),
            Value("Infinity for a text", "9e999", "t", refusedWith: "infinite numbers"),
            Value("text that ends inside a character", "CAST(x'61c3' AS TEXT)", "t", refusedWith: "UTF-8"),
            Value("half a surrogate pair", "CAST(x'eda080' AS TEXT)", "t", refusedWith: "UTF-8"),
            Value("overlong", "CAST(x'c080' AS TEXT)", "t", refusedWith: "UTF-8"),
            Value("no UTF-8", "CAST(x'ff' AS TEXT)", "t", refusedWith: "UTF-8"),
            Value("empty BLOB", "x''", "t", refusedWith: "JSON cannot hold BLOB values"),
            Value("BLOB for a number", "x'00'", "i", refusedWith: "JSON cannot hold BLOB values"),
        ]
        // What SQLite takes for JSONB from version 3.45 on: all types, sizes in the header and behind it, containers, broken ones.
        + [
            "1331", "2331", "143078", "35312e35", "0c", "0b", "1741", "1841", "2a5c6e", "3c1761", "2b1330", "4c176113",
            "c30131",
            "d3000131", "e30000000131", "f300000000000000 0131", "cc00", "1c", "ff", "2c1761", "dc00",
        ].map {
            Value("JSONB \($0)", "x'\($0.replacing(" ", with: ""))'", "t", refusedWith: "JSON cannot hold BLOB values")
        }

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
    private func expectStored(_ value: Value, in table: String, _ database: LocalTestDatabase) throws {
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
        let write = try #require(try database.queue.read { try UploadQueue.batch(limit: 1_000, $0) }?.writes.last)
        #expect(write.damage == nil)
    }

    private static func data(_ value: Value, nulls: Bool) -> String {
        value.json == "null" && !nulls ? "{}" : #"{"\#(value.column)":\#(value.json ?? "")}"#
    }

    private static func previous(_ value: Value, other: String) -> String {
        let members = ["t", "i", "r"].map { #""\#($0)":\#($0 == value.column ? value.json ?? "" : "null")"# }
        return "{\(members.joined(separator: ",")),\"other\":\(other)}"
    }

    @Test(arguments: kept) func viewsKeep(_ value: Value) throws {
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

    @Test(arguments: kept) func localTablesKeep(_ value: Value) throws {
        let database = try Self.database(isLocalOnly: true)
        try database.write("INSERT INTO items(id, \(value.column)) VALUES ('x', \(value.sql))")
        try expectStored(value, in: "items", database)
        guard value.testDescription != "-0.0" else { return }
        try database.write("UPDATE items SET \(value.column) = NULL; UPDATE items SET \(value.column) = \(value.sql)")
        try expectStored(value, in: "items", database)
    }

    @Test(arguments: kept) func insertOnlyTablesUpload(_ value: Value) throws {
        let database = try Self.database(isInsertOnly: true)
        try database.write("INSERT INTO items(id, \(value.column)) VALUES ('x', \(value.sql))")
        try expectEntry(
            database,
            #"{"op":"PUT","type":"items","id":"x","data":\#(Self.data(value, nulls: false))}"#,
            "inserted"
        )
    }

    @Test(arguments: kept) func rawTablesKeep(_ value: Value) throws {
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

    /// Metadata is text: numbers become it.
    @Test(arguments: kept) func metadataKeeps(_ value: Value) throws {
        let database = try Self.database(tracksMetadata: true)
        try database.write("INSERT INTO items(id, _metadata) VALUES ('x', \(value.sql))")
        let json = value.json ?? ""
        let metadata = json == "null" ? "" : #","metadata":\#(json.hasPrefix("\"") ? json : "\"\(json)\"")"#
        try expectEntry(database, #"{"op":"PUT","id":"x","type":"items","data":{}\#(metadata)}"#, "inserted")
    }

    // MARK: - Refused

    /// Expects that a statement fails with a message that names table and column, and changes nothing.
    private func expectRefusal(_ value: Value, _ database: LocalTestDatabase, _ sql: String) throws {
        let before = try database.rows("SELECT count(*), total(length(data)) FROM ps_crud")
        let code: Int32 = value.refusal.contains("BLOB") ? 1 : 3091
        let isRaw = sql.contains("raw")
        expectDatabaseError(isRaw ? 1811 : code, "items.\(value.column): ", value.refusal) { try database.run(sql) }
        #expect(try database.rows("SELECT count(*), total(length(data)) FROM ps_crud") == before)
    }

    @Test(arguments: refused) func viewsRefuse(_ value: Value) throws {
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

    @Test(arguments: refused.filter { $0.refusal != "UTF-8" }) func rawTablesRefuseToUpload(_ value: Value) throws {
        let database = try Self.rawDatabase()
        try expectRefusal(value, database, "INSERT INTO raw(id, \(value.column)) VALUES ('x', \(value.sql))")
        #expect(try database.rows("SELECT id FROM raw").isEmpty)
        try database.write("INSERT INTO raw(id, other) VALUES ('x', 7)")
        try expectRefusal(value, database, "UPDATE raw SET other = 8, \(value.column) = \(value.sql)")
        #expect(try database.rows("SELECT other FROM raw") == ["7"])
    }

    /// What the service or the app's own statements put into a raw table does not keep other columns from being written.
    @Test(arguments: refused) func rawTablesKeepWhatTheyHave(_ value: Value) throws {
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
        let value = Value(row, sql, column, refusedWith: "")
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
}
