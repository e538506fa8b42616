import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncSQLite
import TestSupport
import Testing

@testable import PowerSyncCore

/// Rows of direct tables that are bound in one pass: what is bound is what the statement with conversions stores.
@Suite struct TypedRowBindingTests {
    private static let columns: [ClientColumn] = [
        .text("t"), .integer("i"), .real("r"),
        .init(name: "d", type: .text, constraints: ["NOT NULL", "DEFAULT ('open')"]),
    ]

    /// Writes a row either way.
    ///
    /// - Returns: What is stored with conversions, and what without; `nil` where the row is not bound.
    private func stored(_ rows: [[UInt8]], _ database: LocalTestDatabase) throws -> [(slow: String?, fast: String?)] {
        let table = ClientRawTable(name: "items", structure: ClientTable.direct(Self.columns).rawStructure)
        return try database.queue.write { db in
            try Publishing.whilePublishing(db) {
                let structure = try RawTableStructure(db, table)
                let typed = try #require(structure.typedPut)
                var bindings = (
                    RawTableBinding(structure.put.parameters, direct: table.structure?.direct),
                    TypedRowBinding(typed.columns)
                )
                let slow = try PreparedStatement(db, sql: structure.put.sql)
                let fast = try PreparedStatement(db, sql: typed.sql)
                func write(
                    _ row: [UInt8],
                    _ bind: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
                ) throws -> String? {
                    try db.execute(sql: "DELETE FROM items")
                    let isBound = try Array("x".utf8).withUnsafeBytes { id in
                        try row.withUnsafeBytes { try bind(id, $0) }
                    }
                    guard isBound else { return nil }
                    return try String.fetchOne(
                        db,
                        sql: """
                            SELECT json_group_array(quote(t) || typeof(t) || quote(i) || typeof(i) || quote(r) || typeof(r) || d)
                            FROM items
                            """
                    )
                }
                return try rows.map { row in
                    let converted = try write(row) { id, data in
                        try bindings.0.bind(id: id, data: data, to: slow)
                        try slow.run()
                        return true
                    }
                    let exact = try write(row) { id, data in
                        guard try bindings.1.bind(id: id, data: data, to: fast) else { return false }
                        try fast.run()
                        return true
                    }
                    return (converted, exact)
                }
            }
        }
    }

    private static let values = [
        "null", "true", "false", "0", "-0", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
        "9007199254740993", "1.5", "1.0", "-0.0", "1e300", "1e-400", "1E+2", #""""#, #""abc""#, #""7""#, #""1e3""#,
        #""é\n\u00e9""#, #""a\u0000b""#, #""\ud83d\ude00""#, "[ 1, \" a \\\" b\" ]", "[]", #"{ "a" : [ { } ] }"#,
    ]

    /// Each value for each column, the other columns being as they mostly are.
    @Test func valuesAreThoseThatConversionsStore() throws {
        let database = try LocalTestDatabase(.direct(Self.columns))
        let usual = ["t": #""a""#, "i": "1", "r": "0.5", "d": #""b""#]
        var rows: [[UInt8]] = []
        for column in usual.keys.sorted() {
            for value in Self.values {
                var members = usual
                members[column] = value
                let texts = members.sorted { $0.key < $1.key }.map { "\"\($0.key)\" : \($0.value)" }
                rows.append(Array(" {\(texts.joined(separator: " ,"))} ".utf8))
            }
        }
        let stored = try stored(rows, database)
        for (row, found) in zip(rows, stored) where found.fast != nil {
            #expect(found.fast == found.slow, "\(String(decoding: row, as: UTF8.self))")
        }
        // Text columns take texts, objects, arrays and NULL, and one of them no NULL; those of numbers take numbers, booleans and NULL.
        #expect(stored.count { $0.fast != nil } == 11 + 10 + 8 + 16)
    }

    /// Members may come in any order, or not at all, and from one row to the next.
    @Test func membersMayComeInAnyOrder() throws {
        let database = try LocalTestDatabase(.direct(Self.columns))
        var random = SeededGenerator(seed: 47)
        let members = [
            #""t":"a\tb""#, #""i":7"#, #""r":2"#, #""d":"x""#, #""id":"other""#, #""unknown":{"t":1}"#, #""T":"case""#,
        ]
        let rows = (0..<500).map { _ -> [UInt8] in
            let chosen = members.filter { _ in random.number(below: 4) > 0 }.shuffled(using: &random)
            return Array("{\(chosen.joined(separator: ","))}".utf8)
        }
        for (row, found) in zip(rows, try stored(rows, database)) {
            let text = String(decoding: row, as: UTF8.self)
            #expect(found.slow != nil)
            // Without a value for the column that has a default, the row is not bound.
            #expect(found.fast == (text.contains(#""d""#) ? found.slow : nil), "\(text)")
        }
    }

    @Test(
        arguments: [
            #"{"t":"a","t":"b","d":""}"#, #"{"t":null,"t":"b","d":""}"#, #"{"\u0074":"a","d":""}"#, #"{"d":null}"#,
            "{}",
            #"{"i":1.5,"d":""}"#, #"{"t":1,"d":""}"#, #"{"r":"1","d":""}"#,
            "{" + (0..<100).map { #""u\#($0)":1"# }.joined(separator: ",") + #","d":""}"#,
        ]
    )
    func otherRowsAreLeftToTheOtherStatement(row: String) throws {
        let found = try stored([Array(row.utf8)], LocalTestDatabase(.direct(Self.columns)))[0]
        #expect(found.slow != nil)
        #expect(found.fast == nil)
    }

    /// Nothing of such a text is left for the next row.
    @Test func whatIsNoObjectIsNotBound() throws {
        let database = try LocalTestDatabase(.direct(Self.columns))
        let row = Array(#"{"t":"a\u00e9","i":-7,"r":1.5e3,"d":"x","u":[{"a":true},null]}"#.utf8)
        let texts = (0..<row.count).map { Array(row.prefix($0)) }
        let others = ["null", "1", "[]", #""x""#, "{}}", #"{"d":"x"}x"#, #"{"d":"\ud800"}"#, "{\"d\":\"\u{1}\"}"].map {
            Array($0.utf8)
        }
        let invalid = [Array(#"{"d":""#.utf8) + [0xff] + Array(#""}"#.utf8)]
        let rows = (texts + others + invalid).flatMap { [$0, Array(#"{"d":"next"}"#.utf8)] }
        for (index, found) in try stored(rows.filter { !$0.isEmpty }, database).enumerated() {
            // The first text is empty.
            let isNext = index % 2 == 0
            #expect(found.fast == (isNext ? #"["NULLnullNULLnullNULLnullnext"]"# : nil), "\(index)")
        }
    }

    /// A text in place, and one that is copied.
    @Test(arguments: [#"{"t":"LONG","d":""}"#, #"{"t":"\nLONG","d":""}"#, #"{"t":["LONG"],"d":""}"#])
    func aValueThatIsTooLongIsAnErrorAndNotNULL(row: String) throws {
        let database = try LocalTestDatabase(.direct(Self.columns))
        database.limitLength(to: 10_000)
        let data = Array(row.replacing("LONG", with: String(repeating: "x", count: 20_000)).utf8)
        let error = #expect(throws: DatabaseError.self) { try stored([data], database) }
        #expect(error?.resultCode == .SQLITE_TOOBIG)
    }

    /// The statement has the columns that a raw table has, or is not there.
    @Test func onlyTablesWithDeclaredTypesHaveTheStatement() throws {
        let database = try LocalTestDatabase(.direct(Self.columns))
        func typedPut(_ table: ClientTable) throws -> String? {
            let table = ClientRawTable(name: "items", structure: table.rawStructure)
            return try database.queue.read { try RawTableStructure($0, table).typedPut?.sql }
        }
        #expect(
            try typedPut(.direct(Self.columns)) == """
                INSERT INTO "items" ("id", "t", "i", "r", "d") VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT ("id") DO UPDATE SET \
                "t" = ?2, "i" = ?3, "r" = ?4, "d" = ?5
                """
        )
        try database.apply(.direct([]))
        #expect(try typedPut(.direct([])) == #"INSERT INTO "items" ("id") VALUES (?1) ON CONFLICT ("id") DO NOTHING"#)
        let renamed = ClientTable.direct([.init(name: "title", type: .text, formerName: "t")])
        try database.apply(renamed)
        #expect(try typedPut(renamed) == nil)
        try database.run("ALTER TABLE items ADD COLUMN b BLOB")
        #expect(try typedPut(.direct([.text("title")])) == nil)
        let raw = ClientRawTable(name: "items", structure: .init(tableName: "items"))
        #expect(try database.queue.read { try RawTableStructure($0, raw).typedPut == nil })
    }
}
