import MySQLBinlog
import MySQLTestSupport
import Testing

@testable import PowerSyncServiceMySQL

/// Reading `COLUMN_TYPE` (docs/mysql.md "Types").
@Suite struct MySQLColumnTypeTests {
    @Test(arguments: [
        ("int(11)", MySQLColumnType(.integer(bytes: 4))), ("int unsigned", .init(.integer(bytes: 4), isUnsigned: true)),
        ("tinyint(1)", .init(.integer(bytes: 1))), ("smallint", .init(.integer(bytes: 2))),
        ("mediumint(8) unsigned zerofill", .init(.integer(bytes: 3), isUnsigned: true)),
        ("bigint(20) unsigned", .init(.integer(bytes: 8), isUnsigned: true)), ("float(7,3)", .init(.float)),
        ("double unsigned", .init(.double, isUnsigned: true)),
        ("decimal(10,2)", .init(.decimal(precision: 10, scale: 2))),
        ("decimal(5)", .init(.decimal(precision: 5, scale: 0))), ("bit(9)", .init(.bit(count: 9))),
        ("year(4)", .init(.year)), ("date", .init(.date)), ("time", .init(.time(digits: 0))),
        ("datetime(6)", .init(.dateTime(digits: 6))), ("timestamp /* mariadb-5.3 */", .init(.timestamp(digits: 0))),
        ("char(36)", .init(.char(length: 36))), ("varchar(10) /*M!100301 COMPRESSED*/", .init(.varchar(length: 10))),
        ("longtext", .init(.text)), ("binary(16)", .init(.binary(length: 16))),
        ("varbinary(3)", .init(.varbinary(length: 3))),
        ("tinyblob", .init(.blob)), ("json", .init(.json)), ("multipolygon", .init(.geometry)),
        ("vector(3)", .init(.vector)),
        ("uuid", .init(.uuid)), ("inet4", .init(.inet4)), ("INET6", .init(.inet6)), ("xmltype", .init(.unknown)),
        (
            "enum('a','it''s','b\\\\c','n\\nl','c,d)','','unsigned')",
            .init(.enumeration(["a", "it's", "b\\c", "n\nl", "c,d)", "", "unsigned"]))
        ),
        ("set('x','é')", .init(.set(["x", "é"]))), ("enum()", .init(.enumeration([]))),
        ("enum('a", .init(.enumeration([]))),
        ("", .init(.unknown)), ("decimal(x,y", .init(.decimal(precision: 10, scale: 0))),
    ])
    func declarationsAreRead(_ declaration: String, _ type: MySQLColumnType) {
        #expect(MySQLColumnType(declaration: declaration) == type)
    }

    /// What a server prints of labels with signs that have a meaning in a statement.
    @Test func labelsOfAServerAreRead() async throws {
        let database = try await TestMySQLDatabase(
            #"CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a', 'it''s', 'b\\c', 'n\nl', 'c,d', 'tab\tx', '"', 'é', 'r\rx'))"#
        )
        let row = try await database.run(
            "SELECT COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND COLUMN_NAME = 'e'"
        )
        let declaration = try #require(row.first?.first ?? nil)
        #expect(
            MySQLColumnType(declaration: declaration).kind
                == .enumeration(["a", "it's", "b\\c", "n\nl", "c,d", "tab\tx", "\"", "é", "r\rx"])
        )
    }
}
