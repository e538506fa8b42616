import MySQLTestSupport
import PowerSyncServiceCore
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceMySQL

/// JSON documents of MySQL, which its log has in binary form: the bytes are those that `SELECT` gives.
@Suite(.timeLimit(.minutes(3)), .enabled(if: TestMySQL.isMySQL, "MariaDB has JSON as text")) struct StoredDocumentTests
{
    /// Expressions of documents, by what they are.
    static let documents: [(name: String, sql: String)] =
        [
            ("ninety levels", nested(90)),
            ("objects in arrays", #"'[{"a": [1, {"b": {}}]}, [], {}, [[[]]]]'"#),
            ("keys of one length", #"'{"ab": 1, "aa": 2, "ba": 3, "a": 4, "": 5, "abc": 6}'"#),
            ("keys that are not ASCII", #"'{"ä": 1, "😀": 2, "z": 3}'"#),
            ("literals", "'[true, false, null]'"),
        ]
        + [
            "1.0", "1e14", "1e15", "1e16", "1.5e-15", "1e-16", "-0.0", "0.1", "123456789012345680",
            "1.7976931348623157e308",
            "5e-324", "100000000000000000000", "0.30000000000000004",
        ].map { ("the number \($0)", "'[\($0)]'") }
        + [
            "9223372036854775807", "9223372036854775808", "18446744073709551615", "-9223372036854775808", "-1", "32768",
            "65536", "-32769", "2147483648",
        ].map { ("the integer \($0)", "'{\"n\": \($0)}'") }
        + [
            "CAST(1.50 AS DECIMAL(10,2))", "CAST(-0.0001 AS DECIMAL(4,4))",
            "CAST(99999999999999999999.5 AS DECIMAL(30,5))",
            "CAST('2024-02-29' AS DATE)", "CAST('2024-02-29 01:02:03' AS DATETIME)",
            "CAST('2024-02-29 01:02:03.000006' AS DATETIME(6))", "CAST('0000-00-00' AS DATE)",
            "CAST('-838:59:59' AS TIME)", "CAST('01:02:03.004' AS TIME(3))", "TIMESTAMP'2024-02-29 01:02:03.5'",
            "CAST(REPEAT('x', 200) AS BINARY)", "CAST(X'CAFE' AS BINARY)", "CAST('' AS BINARY)", "b'101'", "X'00FF'",
            "CAST(2024 AS YEAR)", "TRUE", "NULL",
        ].map { ("the value \($0)", "JSON_ARRAY(\($0), 1)") }
        + [
            ("a binary value alone", "CAST(X'CAFE' AS JSON)"),
            ("a text alone", #"'"text"'"#),
            ("a number alone", "'12'"),
            (
                "escapes",
                #"JSON_ARRAY(CONCAT('"', '\\', '/', CHAR(8), CHAR(9), CHAR(10), CHAR(12), CHAR(13), CHAR(1), CHAR(31), CHAR(127)))"#
            ),
            ("characters", "JSON_ARRAY('äß漢😀', _utf8mb4 X'E280A8')"),
            ("a geometry", "JSON_ARRAY(ST_AsGeoJSON(POINT(1, 2)))"),
            ("a text of 127 bytes", "JSON_ARRAY(REPEAT('x', 127))"),
            ("a text of 128 bytes", "JSON_ARRAY(REPEAT('x', 128))"),
            ("a text of 16384 bytes", "JSON_ARRAY(REPEAT('x', 16384))"),
            ("a text of 70000 bytes", "JSON_OBJECT('k', REPEAT('x', 70000), 'l', 1)"),
            ("a text of 3 MB", "JSON_OBJECT('a', REPEAT('ä', 1500000), 'b', JSON_ARRAY(1, 2))"),
            ("70000 keys", "'{\((0..<70_000).map { "\"k\($0)\": \($0)" }.joined(separator: ", "))}'"),
            ("70000 elements", "'[\((0..<70_000).map { "\($0 * 3)" }.joined(separator: ", "))]'"),
        ]

    private static func nested(_ depth: Int) -> String {
        "'" + String(repeating: #"{"a": ["#, count: depth / 2) + "1" + String(repeating: "]}", count: depth / 2) + "'"
    }

    @Test func theLogAndTheTableHaveTheSameBytes() async throws {
        let fixture = try await MySQLFixture("CREATE TABLE t (id INT PRIMARY KEY, c JSON)")
        let start = try await fixture.position()
        for (index, document) in Self.documents.enumerated() {
            try await fixture.database.run("INSERT INTO t VALUES (\(index), \(document.sql))")
        }
        let table = try await fixture.table()
        let copied = try await fixture.copied(table)
        let logged = try await fixture.inserted(into: table, since: start)
        try #require(copied.count == Self.documents.count && logged.count == Self.documents.count)
        for (index, document) in Self.documents.enumerated() {
            // None of them is read from the table.
            let row = try #require(logged[index].row, "\(document.name)")
            #expect(row["c"] == copied[index]["c"], "\(document.name)")
            #expect(copied[index]["c"] != .null, "\(document.name)")
        }
    }
}
