import PowerSyncBackend
import Testing

/// Values of JSON in columns of the servers' types.
@Suite(.timeLimit(.minutes(2))) struct ApplierTypesTests {
    /// A column, an uploaded value, and what is read of it; `nil` for a rejection.
    struct Case: Sendable, CustomTestStringConvertible {
        let type: String
        let value: JsonValue
        let read: String?
        var testDescription: String { "\(type): \(value)" }

        init(_ type: String, _ value: JsonValue, _ read: String?) {
            (self.type, self.value, self.read) = (type, value, read)
        }
    }

    @Test(arguments: [
        Case("text", .string("é\u{2028}'\\\"{,}"), "é\u{2028}'\\\"{,}"), Case("text", .string(""), ""),
        Case("text", .string("NULL"), "NULL"), Case("text", .string("a\u{0}b"), nil), Case("text", .int(5), "5"),
        Case("text", .bool(true), "1"), Case("text", .array([.int(1), .double(2)]), "[1,2.0]"),
        Case("varchar(3)", .string("abc"), "abc"), Case("varchar(3)", .string("abcd"), nil),
        Case("integer", .int(5), "5"), Case("integer", .int(1 << 40), nil), Case("integer", .string("one"), nil),
        Case("integer", .double(2), "2"), Case("integer", .double(1.5), nil), Case("integer", .bool(true), "1"),
        Case("bigint", .int(9_007_199_254_740_993), "9007199254740993"),
        Case("bigint", .int(.min), "-9223372036854775808"),
        Case("numeric(20,2)", .string("123456789012345678.91"), "123456789012345678.91"),
        Case("numeric", .int(.max), "9223372036854775807"), Case("numeric", .string("x"), nil),
        Case("double precision", .double(0.1), "0.1"), Case("double precision", .int(3), "3"),
        Case("boolean", .bool(false), "false"), Case("boolean", .int(1), "true"), Case("boolean", .int(2), nil),
        Case("uuid", .string("F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"), "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
        Case("uuid", .string("f81d"), nil),
        Case("timestamptz", .string("2026-01-02T03:04:05.25+01:00"), "2026-01-02 02:04:05.25+00"),
        Case("timestamptz", .string("2026-01-02T03:04:05Z"), "2026-01-02 03:04:05+00"),
        Case("timestamptz", .string("yesterday or so"), nil), Case("date", .string("2026-02-30"), nil),
        Case("date", .string("2026-01-02T00:30:00+01:00"), "2026-01-02"),
        Case("jsonb", .string(#"{"a": [1, "ü"]}"#), #"{"a": [1, "ü"]}"#),
        Case("jsonb", .object(["a": .null]), #"{"a": null}"#),
        Case("jsonb", .array([.double(1), .bool(true)]), "[1.0, true]"), Case("jsonb", .bool(true), "true"),
        Case("jsonb", .string("{"), nil), Case("json", .int(7), "7"), Case("jsonb", .string(#""\u0000""#), nil),
        Case("integer[]", .array([.int(1), .null, .int(3)]), "{1,NULL,3}"),
        Case("integer[]", .string("[1,2]"), "{1,2}"),
        Case("integer[]", .string("{4,5}"), "{4,5}"), Case("integer[]", .string("[1,"), nil),
        Case("integer[]", .int(1), nil),
        Case("integer[]", .array([.array([.int(1)]), .array([.int(2)])]), "{{1},{2}}"),
        Case("text[]", .array([.string("a\"b\\c,{}"), .string("NULL")]), #"{"a\"b\\c,{}","NULL"}"#),
        Case("text[]", .array([]), "{}"), Case("mood", .string("happy"), "happy"), Case("mood", .string("sad"), nil),
        Case("mood[]", .array([.string("happy")]), "{happy}"), Case("positive", .int(1), "1"),
        Case("positive", .int(-1), nil),
        Case("bytea", .string("AAH/"), "\\x0001ff"), Case("bytea", .string("\\x0001ff"), "\\x0001ff"),
        Case("bytea", .string("%"), nil), Case("bytea", .int(1), nil), Case("inet", .string("10.0.0.1"), "10.0.0.1/32"),
        Case("text", .null, "NULL"), Case("integer", .null, "NULL"),
    ])
    func postgres(_ test: Case) async throws {
        try await check(
            .postgres,
            test,
            adding: ["CREATE TYPE mood AS ENUM ('happy')", "CREATE DOMAIN positive AS integer CHECK (VALUE > 0)"],
            read: "coalesce(v::text, 'NULL')"
        )
    }

    @Test(arguments: [
        Case("TEXT", .string("é\u{2028}'\\\"?"), "é\u{2028}'\\\"?"), Case("TEXT", .string("😀"), "😀"),
        Case("TEXT", .int(5), "5"), Case("TEXT", .array([.int(1), .double(2)]), "[1,2.0]"),
        Case("VARCHAR(3)", .string("abcd"), nil), Case("VARCHAR(9) CHARACTER SET latin1", .string("😀"), nil),
        Case("INT", .int(5), "5"), Case("INT", .int(1 << 40), nil), Case("INT", .string("one"), nil),
        Case("INT", .string("1e1"), nil), Case("INT", .double(1.5), nil), Case("TINYINT(1)", .bool(true), "1"),
        Case("INT UNSIGNED", .int(-1), nil),
        Case("BIGINT UNSIGNED", .string("18446744073709551615"), "18446744073709551615"),
        Case("BIGINT", .int(9_007_199_254_740_993), "9007199254740993"),
        Case("DECIMAL(20,2)", .string("123456789012345678.91"), "123456789012345678.91"),
        Case("DECIMAL(20,2)", .string("x"), nil), Case("DOUBLE", .double(0.5), "0.5"),
        Case("DATETIME", .string("2026-02-31T10:00:00Z"), nil),
        Case("DATE", .string("2026-01-02T00:30:00+01:00"), "2026-01-02"),
        Case("TIME", .string("2026-01-02T00:30:00+01:00"), "00:30:00"),
        Case("DATE", .string("0000-00-00"), nil), Case("DATE", .string("2026-00-10"), nil),
        Case("DATETIME", .string("0000-00-00 00:00:00"), nil),
        Case("DATETIME(2)", .string("2026-01-02T03:04:05.25+01:00"), "2026-01-02 02:04:05.25"),
        Case("DATETIME", .string("2026-01-01T00:30:00+01:00"), "2025-12-31 23:30:00"),
        Case("DATETIME", .string("2028-02-29T23:30:00-02:00"), "2028-03-01 01:30:00"),
        Case("DATETIME", .string("2026-01-02T03:04:05Z"), "2026-01-02 03:04:05"),
        Case("DATETIME", .string("2026-01-02 03:04:05"), "2026-01-02 03:04:05"),
        Case("DATETIME", .string("yesterday"), nil), Case("DATE", .string("2026-02-30"), nil),
        Case("DATE", .string("2026-02-28"), "2026-02-28"),
        Case("TIMESTAMP NULL", .string("2026-01-02T03:04:05Z"), "2026-01-02 03:04:05"),
        Case("JSON", .string("{"), nil), Case("JSON", .string("[1]"), "[1]"),
        Case("BLOB", .string("AAH/"), "0001FF"), Case("BLOB", .string("\\x0001ff"), "0001FF"),
        Case("BLOB", .string("%"), nil),
        Case("ENUM('happy','1')", .string("2"), nil), Case("ENUM('happy','1')", .int(2), nil),
        Case("ENUM('happy','1')", .string("1"), "1"), Case("SET('a','b')", .int(3), nil),
        Case("SET('a','b')", .string("a,b"), "a,b"),
        Case("ENUM('happy')", .string("happy"), "happy"), Case("ENUM('happy')", .string("sad"), nil),
        Case("TEXT", .null, "NULL"), Case("INT", .null, "NULL"),
    ])
    func mysql(_ test: Case) async throws {
        try await check(
            .mysql,
            test,
            adding: [],
            read: test.type == "BLOB" ? "coalesce(hex(v), 'NULL')" : "coalesce(v, 'NULL')"
        )
    }

    /// The server would make the next number of 0.
    @Test func anIDOfZeroIsStoredAsItIs() async throws {
        let table = "CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT)"
        let scenario = try await ApplierScenario(.mysql, adding: [table])
        let entry = UploadEntry(operationID: 1, op: .put, table: "t", id: "0", data: ["v": .int(7)])
        #expect(try await scenario.apply([entry]) == UploadResponse(appliedThrough: 1))
        #expect(try await scenario.database.run("SELECT id, v FROM t") == [["0", "7"]])
    }

    /// One statement writes several rows: what is stored is what the same values are as new rows.
    @Test(arguments: Kind.allCases, ["text", "integer", "decimal"])
    func rowsThatAreUpdatedTogetherHaveTheirOwnValues(_ kind: Kind, ids: String) async throws {
        let types = ["integer": "BIGINT", "decimal": "DECIMAL(12,2)"]
        let type = types[ids] ?? (kind == .mysql ? "VARCHAR(100)" : "TEXT")
        let columns = Self.columns(kind)
        let definition = columns.enumerated().map { "v\($0) \($1.type)" }.joined(separator: ", ")
        let scenario = try await ApplierScenario(
            kind,
            adding: ["new", "updated"].map { "CREATE TABLE \($0) (id \(type) PRIMARY KEY, \(definition))" }
        )
        func entries(_ op: UpdateType, _ table: String, hasValues: Bool) -> [UploadEntry] {
            (0..<100).map { row in
                let values = columns.enumerated().map { ("v\($0)", $1.values[row % $1.values.count]) }
                return UploadEntry(
                    operationID: Int64(row + 1),
                    op: op,
                    table: table,
                    // Decimals of SQLite are reals.
                    id: ids == "decimal" && kind != .sqlite ? "\(row).50" : "\(row)",
                    transactionID: Int64(row / 7),
                    data: hasValues ? Dictionary(uniqueKeysWithValues: values) : [:]
                )
            }
        }
        for entries in [
            entries(.put, "new", hasValues: true), entries(.put, "updated", hasValues: false),
            entries(.patch, "updated", hasValues: true),
        ] {
            #expect(try await scenario.apply(entries, client: nil) == UploadResponse(appliedThrough: 100))
        }
        let new = try await scenario.database.run("SELECT * FROM new ORDER BY id")
        #expect(new.count == 100 && Set(new.map { $0[1] }).count > 1)
        #expect(try await scenario.database.run("SELECT * FROM updated ORDER BY id") == new)
    }

    /// Columns of types whose values the servers convert, each with values in turn; the numbers of values have no common factor.
    private static func columns(_ kind: Kind) -> [(type: String, values: [JsonValue])] {
        let texts: [JsonValue] = [.string("a"), .null, .string(#"'é\"?"#), .string(""), .string("NULL")]
        let integers: [JsonValue] = [.int(.max), .int(-1), .null]
        let bytes: [JsonValue] = [.string("AAH/"), .null, .string(""), .string("\\x27"), .string("MQ==")]
        let documents: [JsonValue] = [.object(["a": .null]), .array([.double(1.5), .string("ü")]), .null]
        let times: [JsonValue] = [.string("2026-01-02T03:04:05.25+01:00"), .string("2026-01-02 03:04:05"), .null]
        switch kind {
        case .sqlite:
            return [
                ("TEXT", texts), ("INTEGER", integers), ("BLOB", bytes), ("TEXT", documents), ("REAL", [.double(0.5)]),
            ]
        case .postgres:
            return [
                ("text", texts), ("bigint", integers), ("bytea", bytes), ("jsonb", documents), ("timestamptz", times),
                ("numeric(20,2)", [.string("123456789012345678.91"), .int(5)]),
                ("double precision", [.double(0.1), .int(3)]),
                ("boolean", [.bool(true), .int(0), .null]), ("integer[]", [.array([.int(1)]), .array([])]),
                ("text", [.string("the same")]),
            ]
        case .mysql:
            return [
                ("TEXT", texts), ("BIGINT", integers), ("BLOB", bytes), ("JSON", documents), ("DATETIME(2)", times),
                ("TIMESTAMP NULL", times), ("DATE", [.string("2026-02-28"), .null]),
                ("BIGINT UNSIGNED", [.string("18446744073709551615"), .int(0), .null]),
                ("DECIMAL(20,2)", [.string("123456789012345678.91"), .int(5)]), ("DOUBLE", [.double(0.1), .int(3)]),
                ("TINYINT(1)", [.bool(true), .bool(false), .null]), ("BIT(9)", [.string("AQE="), .string("AAE=")]),
                ("ENUM('happy','1','2')", [.string("2"), .string("happy"), .null]),
                ("SET('a','b')", [.string("a,b"), .string("")]), ("YEAR", [.int(2026), .string("1999")]),
                ("VARCHAR(9) CHARACTER SET latin1", [.string("é"), .string("a")]), ("TEXT", [.string("the same")]),
            ]
        }
    }

    @Test(arguments: Kind.allCases)
    func aValueThatOneOfSeveralUpdatedRowsCannotHaveIsARejectionOfItsWriteAlone(_ kind: Kind) async throws {
        let text = kind == .mysql ? "VARCHAR(100)" : "TEXT"
        let scenario = try await ApplierScenario(
            kind,
            adding: ["CREATE TABLE t (id \(text) PRIMARY KEY, v INTEGER NOT NULL DEFAULT 0)"]
        )
        func apply(_ op: UpdateType, _ value: (Int64) -> JsonValue) async throws -> UploadResponse {
            let entries = (1...50 as ClosedRange<Int64>).map { number in
                UploadEntry(operationID: number, op: op, table: "t", id: "\(number)", data: ["v": value(number)])
            }
            return try await scenario.apply(entries, client: nil)
        }
        #expect(try await apply(.put) { _ in .int(0) } == UploadResponse(appliedThrough: 50))
        let response = try await apply(.patch) { $0 == 40 ? .null : .int(Int($0)) }
        #expect(response.appliedThrough == 39)
        #expect(response.rejections.map(\.operationID) == [40] && response.rejections.map(\.code) == [.constraint])
        #expect(try await scenario.database.run("SELECT sum(v), count(*) FROM t") == [["780", "50"]])
    }

    private func check(_ kind: Kind, _ test: Case, adding statements: [String], read: String) async throws {
        let text = kind == .mysql ? "VARCHAR(100)" : "text"
        let scenario = try await ApplierScenario(
            kind,
            adding: statements + [
                "CREATE TABLE t (id \(text) PRIMARY KEY, v \(test.type))", "INSERT INTO t(id) VALUES ('there')",
            ]
        )
        let entries = [("new", Int64(1)), ("there", 2)].map { id, number in
            UploadEntry(operationID: number, op: .put, table: "t", id: id, data: ["v": test.value])
        }
        for entry in entries {
            let response = try await scenario.apply([entry])
            #expect(
                response.rejections.map(\.code) == (test.read == nil ? [.constraint] : []),
                "\(response.rejections)"
            )
        }
        let rows = try await scenario.database.run("SELECT id, \(read) FROM t ORDER BY id")
        let expected: [[String?]] = test.read.map { [["new", $0], ["there", $0]] } ?? [["there", "NULL"]]
        #expect(rows == expected)
    }
}
