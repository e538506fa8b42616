import Foundation
import PowerSync
import Testing

/// Values on their way from a statement to a row, a cursor and the upload queue.
@Suite struct ValueFidelityTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let column: String
        let parameter: any Sendable
        let entry: JsonValue
        let text: String

        init(_ name: String, _ column: String, _ parameter: any Sendable, _ entry: JsonValue, _ text: String) {
            testDescription = name
            self.column = column
            self.parameter = parameter
            self.entry = entry
            self.text = text
        }
    }

    private static let long = String(repeating: "0123456789abcdé😀", count: 5_000_000 / 19)

    static let cases = [
        Case("beyond 2^53", "age", 9_007_199_254_740_993, .int(9_007_199_254_740_993), "9007199254740993"),
        Case("the greatest integer", "age", Int64.max, .int(.max), "9223372036854775807"),
        Case("the least integer", "age", Int64.min, .int(.min), "-9223372036854775808"),
        Case("true", "age", true, .int(1), "1"),
        Case("a double", "score", 1.5, .double(1.5), "1.5"),
        Case("a whole double", "score", 3.0, .double(3), "3.0"),
        Case("a great double", "score", 1e300, .double(1e300), "1e+300"),
        Case("an integer in a real column", "score", 7, .double(7), "7.0"),
        Case("a number in a text column", "name", 5, .int(5), "5"),
        Case("empty text", "name", "", .string(""), ""),
        Case("emoji", "name", "👩‍👩‍👧 \"\\/\n", .string("👩‍👩‍👧 \"\\/\n"), "👩‍👩‍👧 \"\\/\n"),
        Case("5 MB of text", "name", long, .string(long), long),
    ]

    @Test(arguments: cases)
    func valueSurvives(_ example: Case) async throws {
        try await withFileDatabase { database in
            try await database.execute(
                sql: "INSERT INTO users (id, \(example.column)) VALUES ('1', ?)",
                parameters: [example.parameter]
            )
            let entry = try #require(try await database.getNextCrudTransaction()?.crud.first)
            #expect(entry.opDataTyped == [example.column: example.entry])
            #expect(entry.opData == [example.column: example.text])
            let read = try await database.get("SELECT \(example.column) FROM users") { cursor in
                switch example.entry {
                case .int where example.column == "age": JsonValue.int(try cursor.getInt(index: 0))
                case .double: JsonValue.double(try cursor.getDouble(index: 0))
                default: JsonValue.string(try cursor.getString(index: 0))
                }
            }
            #expect(read == (example.column == "name" ? .string(example.text) : example.entry))
        }
    }

    /// SQLite 3.40 ends a JSON text at a NUL when a view reads it; the entry and the row have all of it.
    @Test func textsWithNULAreUploadedWhole() async throws {
        try await withMemoryDatabase { database in
            try await database.execute(sql: "INSERT INTO users (id, name) VALUES ('1', ?)", parameters: ["a\u{0}b"])
            let entry = try #require(try await database.getNextCrudTransaction()?.crud.first)
            #expect(entry.opData == ["name": "a\u{0}b"])
            let row = try await database.get("SELECT data FROM ps_data__users") { try $0.getString(index: 0) }
            #expect(row.contains(#""name":"a\u0000b""#))
        }
    }

    @Test func statementsThatDifferInComposedLettersAreDifferent() async throws {
        try await withMemoryDatabase { database in
            for letter in ["\u{e9}", "e\u{301}"] {
                let read = try await database.get("SELECT '\(letter)'") { try $0.getString(index: 0) }
                #expect(Array(read.utf8) == Array(letter.utf8))
            }
        }
    }

    @Test func blobsAreRefusedByViews() async throws {
        try await withMemoryDatabase { database async throws in
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.execute(
                    sql: "INSERT INTO users (id, name) VALUES ('1', ?)",
                    parameters: [Data([0])]
                )
            }
            #expect(error?.localizedDescription.contains("JSON cannot hold BLOB values") == true)
            #expect(try await database.getCrudBatch() == nil)
        }
    }

    @Test func composedAndDecomposedIDsAreTwoRows() async throws {
        try await withMemoryDatabase { database in
            for id in ["\u{e9}", "e\u{301}"] {
                try await database.execute(sql: "INSERT INTO users (id) VALUES (?)", parameters: [id])
            }
            #expect(try await database.count("users") == 2)
            let entries = try #require(try await database.getCrudBatch()).crud
            #expect(entries.map { Array($0.id.utf8) } == [[0xc3, 0xa9], [0x65, 0xcc, 0x81]])
            try await database.execute(sql: "DELETE FROM users WHERE id = ?", parameters: ["e\u{301}"])
            #expect(try await database.count("users") == 1)
        }
    }
}
