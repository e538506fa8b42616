import MySQLTestSupport
import PowerSyncMySQLConnection
import PowerSyncServiceCore
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceMySQL

/// Values of each type, equal in a copy, in the log, and read by their keys.
@Suite(.timeLimit(.minutes(3))) struct StoredValueTests {
    /// A column with values.
    struct Case: Sendable, CustomTestStringConvertible {
        var type: String
        /// Expressions of SQL with what clients have of them; `nil` where only the ways are compared.
        var values: [(sql: String, value: SQLValue?)]
        /// The servers that have the type.
        var servers: Set<TestMySQL.Kind> = [.mariadb, .newestMariaDB, .mysql]

        var testDescription: String { type }
    }

    @Test(arguments: Self.numbers + Self.times + Self.texts + Self.bytes + Self.others)
    func aValueIsTheSameInEachWay(_ column: Case) async throws {
        guard column.servers.contains(try TestMySQL.kind) else { return }
        let fixture = try await MySQLFixture("CREATE TABLE t (id INT PRIMARY KEY, c \(column.type))")
        let start = try await fixture.position()
        for (index, value) in column.values.enumerated() {
            try await fixture.database.run("INSERT INTO t (id, c) VALUES (\(index), \(value.sql))")
        }
        let table = try await fixture.table()
        let copied = try await fixture.copied(table)
        #expect(copied.count == column.values.count)
        for (row, value) in zip(copied, column.values) {
            if let expected = value.value {
                #expect(row["c"]?.isExactly(expected) == true, "\(value.sql): \(row["c"] ?? .null)")
            }
        }
        let streamed = try await fixture.streamed(into: table, since: start)
        #expect(streamed.count == copied.count)
        for (one, other) in zip(copied, streamed) { #expect(one.isExactly(other)) }
        let keys = column.values.indices.map { [SQLValue.integer(Int64($0))] }
        let present = try await fixture.source.rows(of: table, keys: keys, showing: []).rows
        #expect(Set(present) == Set(copied))
    }

    /// Keys of types whose copies, rows in the log and queries differ in other readers.
    static let keys = [
        Case(
            type: "DATETIME(6)",
            values: [
                ("'2024-01-01 00:00:00.123456'", "2024-01-01T00:00:00.123Z"),
                ("'2024-01-01 00:00:00.123457'", "2024-01-01T00:00:00.123Z"),
            ]
        ),
        Case(type: "DATE", values: [("'0000-00-00'", .null), ("'2024-00-00'", .null), ("'2024-01-01'", "2024-01-01")]),
        Case(type: "FLOAT", values: [("16777217", .real(16_777_216)), ("3.14", .real(3.14)), ("-0.5", .real(-0.5))]),
        Case(
            type: "DECIMAL(16,6)",
            values: [("9007199254.740992", "9007199254.740992"), ("9007199254.740993", "9007199254.740993")]
        ),
        Case(type: "VARCHAR(20) CHARACTER SET latin1", values: [("'€'", "€"), ("'a'", "a")]),
        Case(type: "YEAR", values: [("'0000'", .integer(0)), ("2024", .integer(2024))]),
        Case(
            type: "TIMESTAMP(3) NOT NULL DEFAULT '2000-01-01'",
            values: [("0", .null), ("'2024-01-01 00:00:00.001'", "2024-01-01T00:00:00.001Z")]
        ),
        Case(type: "BINARY(4)", values: [("X'61'", .blob([0x61, 0, 0, 0])), ("X'6100'", nil)]),
        Case(type: "ENUM('a', 'b')", values: [("'b'", "b"), ("''", "")]),
        Case(type: "TIME(2)", values: [("'-00:00:00.01'", "-00:00:00.01"), ("'00:00:00.01'", "00:00:00.01")]),
        Case(
            type: "BIT(20)",
            values: [("b'1'", .blob([0, 0, 1])), ("b'11111111111111111111'", .blob([0x0F, 0xFF, 0xFF]))]
        ),
        Case(type: "DOUBLE", values: [("0.1", .real(0.1)), ("5e-324", .real(.leastNonzeroMagnitude))]),
        Case(
            type: "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            values: [("'a'", "a"), ("'A'", "A"), ("'a\\0'", "a\0")]
        ),
        Case(type: "BIGINT UNSIGNED", values: [("18446744073709551615", "18446744073709551615"), ("1", .integer(1))]),
        Case(
            type: "UUID",
            values: [
                ("'123e4567-e89b-12d3-a456-426655440000'", "123e4567-e89b-12d3-a456-426655440000"),
                ("'01890A5D-AC96-774B-BCCE-B302099A8000'", "01890a5d-ac96-774b-bcce-b302099a8000"),
            ],
            servers: [.mariadb, .newestMariaDB]
        ),
        Case(
            type: "INET4",
            values: [("'1.2.3.0'", "1.2.3.0"), ("'0.0.0.0'", "0.0.0.0")],
            servers: [.mariadb, .newestMariaDB]
        ),
        Case(
            type: "INET6",
            values: [
                ("'::'", "::"), ("'::1'", "::1"), ("'::ffff:1.2.3.4'", "::ffff:1.2.3.4"), ("'fe80::1'", "fe80::1"),
                ("'1:0:0:2::3'", "1:0:0:2::3"),
            ],
            servers: [.mariadb, .newestMariaDB]
        ),
    ]

    /// A row that was copied is changed and deleted by its key.
    @Test func rowsWithEachKeyAreChangedAndGo() async throws {
        let kind = try TestMySQL.kind
        let cases = Self.keys.filter { $0.servers.contains(kind) }
        let tables = cases.enumerated().map { "CREATE TABLE keys_\($0) (k \($1.type) PRIMARY KEY, n INT)" }
        let scenario = try await MySQLScenario(
            tables,
            config: """
                config: {edition: 3}
                streams:
                  all:
                    query: SELECT 'r' || n AS id FROM "keys_%"
                """
        )
        var numbers: [Int] = []
        for (place, column) in cases.enumerated() {
            for value in column.values where value.sql != "X'6100'" {
                try await scenario.database.run("INSERT INTO keys_\(place) VALUES (\(value.sql), \(numbers.count))")
                numbers.append(numbers.count)
            }
        }
        try await scenario.replicating { [numbers, count = cases.count] in
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == Set(numbers.map { "r\($0)" }))
            for place in 0..<count { try await scenario.database.run("UPDATE keys_\(place) SET n = n + 1000") }
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == Set(numbers.map { "r\($0 + 1000)" }))
            for place in 0..<count { try await scenario.database.run("DELETE FROM keys_\(place)") }
            try await scenario.caughtUp()
            #expect(try await scenario.ids().isEmpty)
        }
    }

    @Test(arguments: keys)
    func aKeyIsTheSameInEachWay(_ column: Case) async throws {
        guard column.servers.contains(try TestMySQL.kind) else { return }
        let fixture = try await MySQLFixture("CREATE TABLE t (k \(column.type) PRIMARY KEY, n INT)")
        let start = try await fixture.position()
        var values: [String] = []
        for (index, value) in column.values.enumerated() where !(value.sql == "X'6100'") {
            values.append(value.sql)
            try await fixture.database.run("INSERT INTO t VALUES (\(value.sql), \(index))")
        }
        let table = try await fixture.table()
        let copied = try await fixture.chunks(of: table, range: 1).flatMap(\.rows)
        #expect(copied.count == values.count)
        let keys = copied.map { $0.key(of: ["k"]) }
        #expect(Set(keys).count == values.count)
        let logged = try await fixture.inserted(into: table, since: start)
        #expect(Set(logged.compactMap(\.key)) == Set(keys))
        for (row, value) in zip(copied.sorted { "\($0["n"]!)" < "\($1["n"]!)" }, column.values) {
            if let expected = value.value { #expect(row["k"] == expected) }
        }
        for (row, key) in zip(copied, keys) {
            let present = try await fixture.source.rows(of: table, keys: [key], showing: [])
            #expect(present.rows == [row])
        }
        try await fixture.source.releaseRows()
        let all = try await fixture.source.rows(of: table, keys: keys, showing: [])
        #expect(Set(all.rows) == Set(copied))
    }

    // MARK: Numbers

    // MariaDB 10.11 stores a zero without a sign for -0.

    static let numbers: [Case] = [
        Case(type: "TINYINT", values: [("-128", .integer(-128)), ("127", .integer(127)), ("NULL", .null)]),
        Case(type: "TINYINT UNSIGNED", values: [("0", .integer(0)), ("255", .integer(255))]),
        Case(type: "SMALLINT", values: [("-32768", .integer(-32768)), ("32767", .integer(32767))]),
        Case(type: "SMALLINT UNSIGNED", values: [("65535", .integer(65535))]),
        Case(type: "MEDIUMINT", values: [("-8388608", .integer(-8_388_608)), ("8388607", .integer(8_388_607))]),
        Case(type: "MEDIUMINT UNSIGNED", values: [("16777215", .integer(16_777_215))]),
        Case(
            type: "INT",
            values: [("-2147483648", .integer(-2_147_483_648)), ("2147483647", .integer(2_147_483_647))]
        ),
        Case(
            type: "INT(10) UNSIGNED ZEROFILL",
            values: [("42", .integer(42)), ("4294967295", .integer(4_294_967_295))]
        ),
        Case(
            type: "BIGINT",
            values: [("-9223372036854775808", .integer(.min)), ("9223372036854775807", .integer(.max))]
        ),
        Case(
            type: "BIGINT UNSIGNED",
            values: [
                ("9223372036854775807", .integer(.max)), ("9223372036854775808", "9223372036854775808"),
                ("18446744073709551615", "18446744073709551615"),
            ]
        ),
        Case(type: "BOOL", values: [("TRUE", .integer(1)), ("FALSE", .integer(0))]),
        Case(type: "YEAR", values: [("'0000'", .integer(0)), ("1901", .integer(1901)), ("2155", .integer(2155))]),
        Case(
            type: "FLOAT",
            values: [
                ("3.14", .real(3.14)), ("16777217", .real(16_777_216)), ("1e38", .real(1e38)), ("'-0'", nil),
                ("123456.7", .real(123456.7)), ("1.17549435e-38", nil), ("3.4028234e38", nil),
            ]
        ),
        Case(
            type: "DOUBLE",
            values: [
                ("0.1", .real(0.1)), ("5e-324", .real(.leastNonzeroMagnitude)),
                ("1.7976931348623157e308", .real(1.7976931348623157e308)),
                ("123456789012345680", .real(123456789012345680)), ("'-0'", nil),
            ]
        ),
        Case(
            type: "DECIMAL(65,30)",
            values: [
                ("0", "0.000000000000000000000000000000"), ("-0.0001", "-0.000100000000000000000000000000"),
                (
                    "99999999999999999999999999999999999.999999999999999999999999999999",
                    "99999999999999999999999999999999999.999999999999999999999999999999"
                ), ("-99999999999999999999999999999999999.999999999999999999999999999999", nil),
            ]
        ),
        Case(type: "DECIMAL(10,0)", values: [("1.50", "2"), ("-9999999999", "-9999999999"), ("0", "0")]),
        Case(type: "DECIMAL(4,4)", values: [("-0.0001", "-0.0001"), ("0.9999", "0.9999"), ("0", "0.0000")]),
        Case(
            type: "DECIMAL(10,2) UNSIGNED ZEROFILL",
            values: [("1.50", "1.50"), ("0", "0.00"), ("12345678.90", "12345678.90")]
        ),
        Case(type: "BIT(1)", values: [("b'1'", .blob([1])), ("b'0'", .blob([0]))]),
        Case(type: "BIT(17)", values: [("b'10000000000000001'", .blob([1, 0, 1]))]),
        Case(type: "BIT(64)", values: [("18446744073709551615", .blob(Array(repeating: 255, count: 8)))]),
    ]

    // MARK: Times

    static let times: [Case] =
        [
            Case(
                type: "DATE",
                values: [
                    ("'2024-02-29'", "2024-02-29"), ("'1000-01-01'", "1000-01-01"), ("'9999-12-31'", "9999-12-31"),
                    ("'0000-00-00'", .null), ("'2024-00-00'", .null),
                ]
            ),
            Case(
                type: "DATETIME",
                values: [
                    ("'2023-03-06 15:47:00'", "2023-03-06T15:47:00.000Z"), ("'0000-00-00'", .null),
                    ("'2024-00-00 01:00:00'", .null),
                    ("'9999-12-31 23:59:59'", "9999-12-31T23:59:59.000Z"),
                ]
            ),
            Case(
                type: "TIMESTAMP NULL",
                values: [
                    ("'1970-01-01 00:00:01'", "1970-01-01T00:00:01.000Z"), ("0", .null),
                    ("'2038-01-19 03:14:07'", "2038-01-19T03:14:07.000Z"),
                ]
            ),
            Case(
                type: "TIME",
                values: [
                    ("'838:59:59'", "838:59:59"), ("'-838:59:59'", "-838:59:59"), ("'-01:00:00'", "-01:00:00"),
                    ("0", "00:00:00"),
                ]
            ),
        ]
        + (1...6).flatMap { digits -> [Case] in
            let fraction = String("123456".prefix(digits))
            let shown = digits < 3 ? fraction + String(repeating: "0", count: 3 - digits) : String(fraction.prefix(3))
            let small = String(repeating: "0", count: digits - 1) + "1"
            return [
                Case(
                    type: "DATETIME(\(digits))",
                    values: [
                        ("'2023-03-06 15:47:12.\(fraction)'", .text("2023-03-06T15:47:12.\(shown)Z")),
                        ("'0000-00-00'", .null),
                        ("'1000-01-01 00:00:00.\(small)'", nil),
                    ]
                ),
                Case(
                    type: "TIMESTAMP(\(digits)) NULL",
                    values: [
                        ("'2023-03-06 15:47:12.\(fraction)'", .text("2023-03-06T15:47:12.\(shown)Z")), ("0", .null),
                    ]
                ),
                Case(
                    type: "TIME(\(digits))",
                    values: [
                        ("'12:34:56.\(fraction)'", .text("12:34:56.\(fraction)")),
                        ("'-00:00:00.\(small)'", .text("-00:00:00.\(small)")),
                        ("'-838:59:58.\(fraction)'", .text("-838:59:58.\(fraction)")),
                        ("0", .text("00:00:00.\(String(repeating: "0", count: digits))")),
                    ]
                ),
            ]
        }

    // MARK: Texts

    static let texts: [Case] =
        [
            Case(type: "CHAR(10)", values: [("'a  '", "a"), ("''", ""), ("' ä'", " ä")]),
            Case(type: "VARCHAR(10)", values: [("'a  '", "a  "), ("''", ""), ("'😀'", "😀")]),
            Case(type: "VARCHAR(300)", values: [("REPEAT('ä', 300)", .text(String(repeating: "ä", count: 300)))]),
            Case(type: "TINYTEXT", values: [("'x'", "x"), ("NULL", .null)]),
            Case(type: "MEDIUMTEXT", values: [("REPEAT('x', 70000)", .text(String(repeating: "x", count: 70_000)))]),
            Case(type: "LONGTEXT", values: [("'x'", "x")]),
            Case(type: "VARCHAR(10) CHARACTER SET latin1", values: [("'€äÿ'", "€äÿ"), ("_latin1 X'81'", "\u{81}")]),
            Case(type: "CHAR(10) CHARACTER SET latin1", values: [("'é '", "é")]),
            Case(type: "TEXT CHARACTER SET latin1", values: [("'€'", "€")]),
            Case(type: "VARCHAR(10) CHARACTER SET utf8mb3", values: [("'äß'", "äß")]),
            Case(type: "VARCHAR(10) CHARACTER SET ascii", values: [("'abc'", "abc")]),
            Case(type: "VARCHAR(10) CHARACTER SET ucs2", values: [("'aä漢'", "aä漢")]),
            Case(type: "CHAR(10) CHARACTER SET ucs2", values: [("'aä '", "aä")]),
            Case(type: "TEXT CHARACTER SET utf16", values: [("'a😀'", "a😀")]),
            Case(type: "VARCHAR(10) CHARACTER SET utf16le", values: [("'aä'", "aä")]),
            Case(type: "VARCHAR(10) CHARACTER SET utf32", values: [("'a😀'", "a😀")]),
            Case(type: "JSON", values: [(#"'{"a": 1, "b": [true, null]}'"#, nil), ("'1'", "1"), ("NULL", .null)]),
            Case(
                type: "ENUM('a', 'it''s', 'c,d', 'ö')",
                values: [
                    ("'a'", "a"), ("'it''s'", "it's"), ("'c,d'", "c,d"), ("'ö'", "ö"), ("'none'", ""), ("NULL", .null),
                ]
            ),
            Case(
                type: "ENUM(\((1...300).map { "'label \($0)'" }.joined(separator: ", ")))",
                values: [("300", "label 300"), ("255", "label 255")]
            ),
            Case(
                type: "SET(\((1...64).map { "'s\($0)'" }.joined(separator: ", ")))",
                values: [("''", "[]"), ("'s1,s64'", #"["s1","s64"]"#), ("'s33'", #"["s33"]"#)]
            ),
            Case(type: "SET('a', 'it''s')", values: [("'a,it''s'", #"["a","it's"]"#), ("NULL", .null)]),
        ]
        // Read by their keys: the server converts them.
        + [
            ("gbk", "漢字"), ("cp1251", "Привет"), ("sjis", "漢字"), ("latin2", "ő"), ("koi8r", "Привет"), ("big5", "漢字"),
            ("euckr", "한글"),
        ].map { charset, text in
            Case(
                type: "VARCHAR(20) CHARACTER SET \(charset)",
                values: [("'\(text)'", .text(text)), ("'abc'", "abc"), ("NULL", .null)]
            )
        }

    // MARK: Bytes and others

    static let bytes: [Case] =
        [
            Case(type: "BINARY(4)", values: [("'a\\0'", .blob([0x61, 0, 0, 0])), ("''", .blob([0, 0, 0, 0]))]),
            Case(type: "VARBINARY(10)", values: [("'a\\0'", .blob([0x61, 0])), ("''", .blob([]))]),
            Case(type: "BLOB", values: [("X'00FF'", .blob([0, 255])), ("NULL", .null)]),
            Case(type: "VARCHAR(10) CHARACTER SET binary", values: [("X'80'", .blob([0x80]))]),
            Case(type: "POINT", values: [("ST_GeomFromText('POINT(1 2)')", nil), ("NULL", .null)]),
            Case(type: "GEOMETRY", values: [("ST_GeomFromText('LINESTRING(0 0, 1 1)', 4326)", nil)]),
            Case(
                type: "VECTOR(3)",
                values: [("STRING_TO_VECTOR('[1,2,3]')", .blob([0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 64, 64]))],
                servers: [.mysql]
            ),
            Case(
                type: "VECTOR(3)",
                values: [
                    ("VEC_FromText('[1,2,3]')", .blob([0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 64, 64])), ("NULL", .null),
                ],
                servers: [.newestMariaDB]
            ),
            Case(type: "TINYBLOB", values: [("X'00'", .blob([0])), ("''", .blob([]))]),
            Case(
                type: "MEDIUMBLOB",
                values: [("REPEAT(X'FF', 70000)", .blob(Array(repeating: 255, count: 70_000))), ("NULL", .null)]
            ),
            Case(type: "LONGBLOB", values: [("X'0102'", .blob([1, 2]))]),
        ]
        + [
            ("LINESTRING", "LINESTRING(0 0, 1 1)"), ("POLYGON", "POLYGON((0 0, 1 0, 1 1, 0 0))"),
            ("MULTIPOINT", "MULTIPOINT(1 2, 3 4)"), ("MULTILINESTRING", "MULTILINESTRING((0 0, 1 1))"),
            ("MULTIPOLYGON", "MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))"),
            ("GEOMETRYCOLLECTION", "GEOMETRYCOLLECTION(POINT(1 2))"),
        ].map { type, text in Case(type: type, values: [("ST_GeomFromText('\(text)')", nil), ("NULL", .null)]) }

    static let others: [Case] = [
        Case(
            type: "UUID",
            values: [
                "f47ac10b-58cc-11cf-8000-00aa00300001", "f47ac10b-58cc-4372-a567-0e02b2c3d479",
                "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
            ]
            .map { ("'\($0)'", .text($0)) } + [("'00000000-0000-0000-0000-000000000000'", nil)],
            servers: [.mariadb, .newestMariaDB]
        ),
        Case(
            type: "INET4",
            values: [("'1.2.3.4'", "1.2.3.4"), ("'10.0.0.0'", "10.0.0.0"), ("'0.0.0.0'", "0.0.0.0")],
            servers: [.mariadb, .newestMariaDB]
        ),
        Case(
            type: "INET6",
            values: [
                "::", "::1", "::ffff:1.2.3.4", "::1.2.3.4", "fe80::1", "2001:db8::1:1:1:1:1", "1:0:0:2::3", "0:0:1::",
                "1:0:0:2:0:0:3:4",
                "1:2:3:4:5:6:7:8", "2001:db8::", "1:0:2:0:3:0:4:5",
            ].map { ("'\($0)'", nil) },
            servers: [.mariadb, .newestMariaDB]
        ),
    ]

    /// Bytes that are no text of their charset: the servers cut the value there, or put a question mark, or keep them.
    @Test(arguments: ["ascii", "utf8mb3", "gbk", "sjis", "latin1", "cp1251"])
    func bytesThatAreNoTextAreTheSameInEachWay(_ charset: String) async throws {
        let fixture = try await MySQLFixture(
            "CREATE TABLE t (id INT PRIMARY KEY, c VARCHAR(10) CHARACTER SET \(charset))"
        )
        let start = try await fixture.position()
        for (index, bytes) in ["4180", "41FF42", "81", "E4B8"].enumerated() {
            // The connection is in utf8mb4: nothing converts a binary text.
            _ = try? await fixture.database.run("INSERT INTO t VALUES (\(index), X'\(bytes)')")
        }
        let table = try await fixture.table()
        let copied = try await fixture.copied(table)
        let streamed = try await fixture.streamed(into: table, since: start)
        #expect(streamed.count == copied.count)
        for (one, other) in zip(copied, streamed) { #expect(one.isExactly(other), "\(one) \(other)") }
    }

    /// A session may let days in that no month has.
    @Test(arguments: ["DATE", "DATETIME", "DATETIME(3)"])
    func impossibleDatesAreNothingInEachWay(_ type: String) async throws {
        let fixture = try await MySQLFixture("CREATE TABLE t (id INT PRIMARY KEY, c \(type))")
        let start = try await fixture.position()
        let session = try await fixture.database.open()
        defer { session.close() }
        try await session.execute("SET SESSION sql_mode = 'ALLOW_INVALID_DATES'")
        try await session.execute(
            "INSERT INTO t VALUES (1, '2024-02-31'), (2, '2024-04-31'), (3, '2024-00-00'), (4, '2024-02-29')"
        )
        let table = try await fixture.table()
        let copied = try await fixture.copied(table)
        #expect(copied.map { $0["c"] == .null } == [true, true, true, false])
        let streamed = try await fixture.streamed(into: table, since: start)
        #expect(streamed.count == 4)
        for (one, other) in zip(copied, streamed) { #expect(one.isExactly(other)) }
    }

    @Test func invisibleColumnsAreTheSameInEachWay() async throws {
        let fixture = try await MySQLFixture(
            "CREATE TABLE t (id INT PRIMARY KEY, a INT, hidden INT DEFAULT 7 INVISIBLE)"
        )
        let start = try await fixture.position()
        try await fixture.database.run("INSERT INTO t (id, a) VALUES (1, 2)")
        try await fixture.database.run("INSERT INTO t (id, a, hidden) VALUES (2, 3, 4)")
        let table = try await fixture.table()
        let copied = try await fixture.copied(table)
        #expect(copied == [["id": 1, "a": 2, "hidden": 7], ["id": 2, "a": 3, "hidden": 4]])
        #expect(try await fixture.streamed(into: table, since: start) == copied)
    }

    @Test(.enabled(if: TestMySQL.isMySQL, "MariaDB makes no keys"))
    func theKeyThatTheServerHasMadeIsTheSameInEachWay() async throws {
        let fixture = try await MySQLFixture()
        let start = try await fixture.position()
        try await fixture.database.run([
            "SET SESSION sql_generate_invisible_primary_key = ON", "CREATE TABLE t (a INT)",
            "INSERT INTO t VALUES (5), (5)", "SET SESSION sql_generate_invisible_primary_key = DEFAULT",
        ])
        let table = try await fixture.table()
        let copied = try await fixture.copied(table)
        #expect(copied == [["my_row_id": 1, "a": 5], ["my_row_id": 2, "a": 5]])
        #expect(try await fixture.streamed(into: table, since: start) == copied)
    }

    @Test func generatedColumnsAreTheSameInEachWay() async throws {
        let fixture = try await MySQLFixture(
            "CREATE TABLE t (id INT PRIMARY KEY, a INT, s INT AS (a + 1) STORED, v INT AS (a * 2) VIRTUAL)"
        )
        let start = try await fixture.position()
        try await fixture.database.run("INSERT INTO t (id, a) VALUES (1, 10), (2, NULL)")
        let table = try await fixture.table()
        let copied = try await fixture.copied(table)
        #expect(copied == [["id": 1, "a": 10, "s": 11, "v": 20], ["id": 2, "a": nil, "s": nil, "v": nil]])
        #expect(try await fixture.streamed(into: table, since: start) == copied)
    }
}

extension SQLValue {
    /// Whether a value is the same, and has the same sign if it is a zero.
    fileprivate func isExactly(_ other: SQLValue) -> Bool {
        if case .real(let one) = self, case .real(let other) = other { return one.bitPattern == other.bitPattern }
        return self == other
    }
}

extension SourceRow {
    fileprivate func isExactly(_ other: SourceRow) -> Bool {
        layout == other.layout && zip(values, other.values).allSatisfy { $0.isExactly($1) }
    }
}
