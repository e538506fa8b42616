import MySQLBinlog
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceMySQL

/// What queries ask for to find rows by their keys.
@Suite struct MySQLKeyConditionTests {
    private func column(_ name: String, _ kind: MySQLColumnType.Kind) -> MySQLTable.Column {
        MySQLTable.Column(name: name, type: MySQLColumnType(kind), declaration: "", isNullable: false)
    }

    @Test func rowsAfterAKeyAreARangeOfTheIndex() {
        let (a, b, c) = (column("a", .integer(bytes: 4)), column("b", .varchar(length: 10)), column("c", .date))
        func condition(_ key: [SQLValue], _ columns: [MySQLTable.Column]) -> String? {
            MySQLSnapshotReader.condition(after: key, columns)
        }
        #expect(condition([.integer(7)], [a]) == "(`a` > 7)")
        #expect(
            condition([.integer(7), "x'"], [a, b])
                == "`a` >= 7 AND ((`a` > 7) OR (`a` = 7 AND `b` > _utf8mb4 X'7827'))"
        )
        #expect(
            condition(["é", .integer(-1), "0000-00-00"], [b, a, c])
                == """
                `b` >= _utf8mb4 X'C3A9' AND ((`b` > _utf8mb4 X'C3A9') OR (`b` = _utf8mb4 X'C3A9' AND `a` > -1) OR \
                (`b` = _utf8mb4 X'C3A9' AND `a` = -1 AND `c` > '0000-00-00'))
                """
        )
        #expect(condition([.integer(7)], [a, b]) == nil)
        #expect(condition(["7; DROP"], [a]) == nil)
        #expect(condition(["2024-01-01' OR '1"], [c]) == nil)
    }

    @Test func keysAreAListOrConditions() {
        let (id, kind) = (column("id", .integer(bytes: 8)), column("kind", .float))
        #expect(
            MySQLRowView.condition([[.integer(1)], ["18446744073709551615"]], [id])
                == "`id` IN (1, 18446744073709551615)"
        )
        #expect(
            MySQLRowView.condition([[.integer(1), .real(3.14)], [.integer(2), .null]], [id, kind])
                == """
                (`id` = 1 AND (`kind` * 1e0) = 3.140000104904175e0) OR (`id` = 2 AND `kind` IS NULL)
                """
        )
        #expect(MySQLRowView.condition([["no number"]], [id]) == nil)
        #expect(MySQLRowView.condition([[.real(1e38)]], [kind]) == "((`kind` * 1e0) = \(Double(Float(1e38))))")
        #expect(MySQLRowView.condition([[.blob([1, 0])]], [column("b", .bit(count: 9))]) == "`b` IN (256)")
        #expect(MySQLRowView.condition([[.blob([0xAB])]], [column("b", .binary(length: 1))]) == "`b` IN (X'AB')")
        #expect(
            MySQLRowView.condition([["-12.50"]], [column("d", .decimal(precision: 5, scale: 2))]) == "`d` IN (-12.50)"
        )
        #expect(MySQLRowView.condition([["1 OR 1"]], [column("d", .decimal(precision: 5, scale: 2))]) == nil)
        #expect(
            MySQLRowView.condition([["2024-01-01 00:00:00.123456"]], [column("t", .dateTime(digits: 6))])
                == "`t` IN ('2024-01-01 00:00:00.123456')"
        )
    }
}
