import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// How values travel between JSON and columns (docs/database.md "Values").
@Suite struct ColumnValueTests {
    private static let typed: [ClientColumn] = [
        ClientColumn(name: "t", type: .text), ClientColumn(name: "i", type: .integer),
        ClientColumn(name: "r", type: .real),
    ]

    struct Reading: CustomTestStringConvertible {
        /// The members of the row, with `v` for each of `t`, `i` and `r`.
        let testDescription: String
        /// The three columns as SQL literals.
        let columns: String

        init(_ members: String, _ columns: String) {
            testDescription = members
            self.columns = columns
        }
    }

    /// Reals as texts are what this SQLite makes of them.
    static let readings = [
        Reading("", "NULL NULL NULL"),
        Reading(#""v":null"#, "NULL NULL NULL"),
        Reading(#""v":true"#, "'1' 1 1.0"),
        Reading(#""v":false"#, "'0' 0 0.0"),
        Reading(#""v":42"#, "'42' 42 42.0"),
        Reading(#""v":9007199254740993"#, "'9007199254740993' 9007199254740993 <9007199254740993.0>"),
        Reading(
            #""v":18446744073709551615"#,
            "'<18446744073709551615.0>' 9223372036854775807 <18446744073709551615.0>"
        ),
        Reading(
            #""v":-18446744073709551615"#,
            "'<-18446744073709551615.0>' -9223372036854775808 <-18446744073709551615.0>"
        ),
        Reading(#""v":1.5"#, "'1.5' 1 1.5"),
        Reading(#""v":1.0"#, "'1.0' 1 1.0"),
        Reading(#""v":"12abc""#, "'12abc' 12 12.0"),
        Reading(#""v":"abc""#, "'abc' 0 0.0"),
        Reading(#""v":"""#, "'' 0 0.0"),
        Reading(#""v":{"a": [1, null]}"#, #"'{"a":[1,null]}' 0 0.0"#),
        Reading(#""v":[1, 2]"#, "'[1,2]' 0 0.0"),
        Reading(#""v":"😀\u00e9""#, "'😀é' 0 0.0"),
        Reading(#""v":1,"v":2"#, "'1' 1 1.0"),
    ]

    @Test(arguments: readings)
    func columnsCastWhatTheRowHolds(_ reading: Reading) throws {
        let database = try LocalTestDatabase(.items(Self.typed))
        let members = ["t", "i", "r"].filter { _ in !reading.testDescription.isEmpty }.map { column in
            reading.testDescription.replacing(#""v":"#, with: "\"\(column)\":")
        }
        try database.write(
            "INSERT INTO ps_data__items VALUES ('x', ?)",
            ["{\(members.joined(separator: ","))}"]
        )
        // SQLite writes reals with 15 digits or with 17, depending on its version.
        var columns = reading.columns
        while let start = columns.firstIndex(of: "<"), let end = columns.firstIndex(of: ">") {
            let number = columns[columns.index(after: start)..<end]
            let text = try #require(try database.texts("SELECT CAST(\(number) AS TEXT)").first ?? nil)
            columns.replaceSubrange(start...end, with: text)
        }
        #expect(
            try database.rows("SELECT quote(t) || ' ' || quote(i) || ' ' || ifnull(CAST(r AS TEXT), 'NULL') FROM items")
                == [columns]
        )
    }

    struct Writing: CustomTestStringConvertible {
        /// What is inserted: `column = literal`.
        let testDescription: String
        /// The member in the row and in the entry.
        let member: String
        var column: String { String(testDescription.prefix(1)) }
        var literal: String { String(testDescription.dropFirst(4)) }

        init(_ assignment: String, _ member: String) {
            testDescription = assignment
            self.member = member
        }
    }

    static let writings = [
        Writing("i = 9007199254740993", "9007199254740993"),
        Writing("i = 9223372036854775807", "9223372036854775807"),
        Writing("i = -9223372036854775807 - 1", "-9223372036854775808"),
        Writing("i = 1e3", "1000.0"),
        Writing("i = TRUE", "1"),
        Writing("t = 9007199254740993", "9007199254740993"),
        Writing("r = 7", "7.0"),
        Writing("r = 0.1 + 0.2", "0.30000000000000004"),
        Writing("r = 1.0 / 3", "0.3333333333333333"),
        Writing("r = 9007199254740993", "9007199254740992.0"),
        Writing("r = 1e300", "1e300"),
        Writing("r = 5e-324", "5e-324"),
        Writing("r = -0.0", "-0.0"),
        Writing(#"t = '{"a":1}'"#, #""{\"a\":1}""#),
        Writing("t = json_array(1, 2)", #""[1,2]""#),
        Writing("t = char(0) || 'x' || char(31)", #""\u0000x\u001f""#),
        Writing("t = 'é' || char(101, 769) || '😀'", "\"ée\u{301}😀\""),
    ]

    @Test(arguments: writings)
    func rowAndEntryHoldTheSameValue(_ writing: Writing) throws {
        let database = try LocalTestDatabase(.items(Self.typed, trackPreviousValues: PreviousValues()))
        try database.write("INSERT INTO items(id, \(writing.column)) VALUES ('x', \(writing.literal))")
        let member = #""\#(writing.column)":\#(writing.member)"#
        let row = try #require(try database.texts("SELECT data FROM ps_data__items").first ?? nil)
        #expect(row.utf8.contains(member), "\(row)")
        let entry = try #require(try database.entries().first ?? nil)
        #expect(entry.utf8.elementsEqual(#"{"op":"PUT","id":"x","type":"items","data":{\#(member)}}"#.utf8), "\(entry)")
    }

    /// What other columns hold is not for an update to change, however SQLite reads it.
    @Test(arguments: [
        #""a\u0000b""#, #""\u0000""#, "1.50", "1E2", "18446744073709551615", "9e999", "-9e999", "true",
        #"{"a": [1, null]}"#, "[ ]",
        #""\u00e9\/""#, #""12abc""#, "null", "-0.0", #"1,"x":2"#,
    ])
    func updateOfAnotherColumnKeepsTheStoredText(_ value: String) throws {
        let names = (0..<60).map { "c\($0)" } + ["x", #"q"#, "last"]
        for type in [ColumnType.text, .integer, .real] {
            let columns = names.map { ClientColumn(name: $0, type: type) }
            for table in [ClientTable.items(columns), .items(columns, isLocalOnly: true)] {
                let database = try LocalTestDatabase(table)
                try database.write(
                    "INSERT INTO \"\(table.internalName)\" VALUES ('r', ?)",
                    [#"{"q": "é","x": \#(value) ,"c0":7}"#]
                )
                try database.write("UPDATE items SET last = 5")
                let row = try #require(try database.texts("SELECT data FROM \"\(table.internalName)\"").first ?? nil)
                let kept = value.hasPrefix("1,") ? "1" : value
                #expect(row.contains(#""x":\#(kept),"q":"é","last":"#), "\(row)")
                #expect(row.hasPrefix(#"{"c0":7,"c1":null,"#), "\(row)")
                let entries = try database.texts("SELECT data -> 'data' FROM ps_crud")
                let last = type == .text ? #""5""# : type == .integer ? "5" : "5.0"
                #expect(entries == (table.isLocalOnly ? [] : [#"{"last":\#(last)}"#]))
            }
        }
    }

    @Test func previousValuesAreAsExactAsTheRow() throws {
        let database = try LocalTestDatabase(.items(Self.typed, trackPreviousValues: PreviousValues()))
        try database.write("INSERT INTO items(id, t, i, r) VALUES ('x', '\u{1F600}', 9007199254740993, 0.1 + 0.2)")
        try database.write("UPDATE items SET i = i + 1")
        try database.write("DELETE FROM items")
        #expect(
            try database.entries().suffix(2) == [
                #"{"op":"PATCH","id":"x","type":"items","data":{"i":9007199254740994},"#
                    + #""old":{"t":"😀","i":9007199254740993,"r":0.30000000000000004}}"#,
                #"{"op":"DELETE","id":"x","type":"items","old":{"t":"😀","i":9007199254740994,"r":0.30000000000000004}}"#,
            ]
        )
    }

    @Test(arguments: ["9e999", "-9e999"])
    func infinityIsNotJSONNaNIsNULL(_ literal: String) throws {
        let database = try LocalTestDatabase(.items(Self.typed))
        for sql in ["INSERT INTO items(id, r) VALUES ('y', \(literal))", "UPDATE items SET r = \(literal)"] {
            try database.write(
                "INSERT OR REPLACE INTO items(id, r) VALUES ('x', \(literal) - \(literal)); DELETE FROM ps_crud"
            )
            expectDatabaseError(3091, "items.r: JSON cannot hold infinite numbers") { try database.write(sql) }
            #expect(try database.rows("SELECT id, r FROM items") == ["x|"])
            #expect(try database.entries().isEmpty)
        }
    }

    @Test func fiveMegabytesSurvive() throws {
        let database = try LocalTestDatabase(.items())
        let text = String(repeating: "0123456789abcdé😀", count: 5_000_000 / 19)
        try database.write("INSERT INTO items(id, col) VALUES ('x', ?)", [text])
        try database.write("UPDATE items SET col = col || '!'")
        let writes = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes)
        #expect(writes.map { $0.data?["col"] } == [.string(text), .string(text + "!")])
        #expect(try database.texts("SELECT col FROM items") == [text + "!"])
    }
}

extension String.UTF8View {
    fileprivate func contains(_ part: String) -> Bool {
        firstRange(of: Array(part.utf8)) != nil
    }
}
