import MySQLTestSupport
import PowerSyncServiceCore
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceMySQL

/// Rows by their keys, over a server.
@Suite(.timeLimit(.minutes(1))) struct MySQLRowViewTests {
    @Test func rowsAreFoundExactly() async throws {
        let fixture = try await MySQLFixture(
            "CREATE TABLE t (id VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci PRIMARY KEY, n INT)",
            "INSERT INTO t VALUES ('a', 1), ('B', 2), ('é', 3)"
        )
        let table = try await fixture.table()
        let present = try await fixture.source.rows(of: table, keys: [["A"], ["B"], ["é"], ["x"]], showing: [])
        #expect(present.isComplete)
        #expect(Set(present.rows.map { $0["n"] }) == [.integer(2), .integer(3)])
    }

    @Test func aStateIsKeptForWhatItShows() async throws {
        let fixture = try await MySQLFixture(
            "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
            "INSERT INTO t VALUES (1, 1)"
        )
        let table = try await fixture.table()
        func read(_ moments: SourceMoment...) async throws -> (n: SQLValue?, at: SourcePosition) {
            let present = try await fixture.source.rows(of: table, keys: [[.integer(1)]], showing: Set(moments))
            return (present.rows.first?["n"], present.position)
        }
        let before = try await fixture.position()
        try await fixture.database.run("UPDATE t SET n = 2")
        let first = LogMoment(file: before.file, start: before.offset).moment
        let one = try await read(first)
        #expect(one.n == .integer(2))
        let middle = try await fixture.position()
        try await fixture.database.run("UPDATE t SET n = 3")
        // The same state as long as it shows what is asked for.
        let two = try await read(first)
        #expect(two.n == .integer(2) && two.at == one.at)
        let three = try await read(LogMoment(file: middle.file, start: middle.offset).moment)
        #expect(three.n == .integer(3) && three.at.lsn > one.at.lsn)
        try await fixture.source.releaseRows()
        try await fixture.database.run("UPDATE t SET n = 4")
        #expect(try await read(first).n == .integer(4))
        // Others write to this server, too.
        let head = try await fixture.source.log.head()
        let newest = try await read()
        let later = try await fixture.source.log.head()
        #expect(newest.n == .integer(4) && newest.at.lsn >= head.lsn && newest.at.lsn <= later.lsn)
    }

    @Test func rowsOfAnotherTableAreRefused() async throws {
        let fixture = try await MySQLFixture("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
        let table = try await fixture.table()
        try await fixture.database.run("ALTER TABLE t ADD COLUMN a INT")
        for _ in 0..<2 {
            let error = await #expect(throws: ReplicationSourceError.self) {
                try await fixture.source.rows(of: table, keys: [[.integer(1)]], showing: [])
            }
            #expect(error?.code == .tablesChanged)
        }
    }

    @Test func manyKeysAreSeveralQueries() async throws {
        let fixture = try await MySQLFixture("CREATE TABLE t (a INT, b VARCHAR(10), PRIMARY KEY (a, b))")
        for start in stride(from: 0, to: 250, by: 50) {
            let rows = (start..<(start + 50)).map { "(\($0), 'b\($0)')" }.joined(separator: ", ")
            try await fixture.database.run("INSERT INTO t VALUES \(rows)")
        }
        let keys = (0..<300).map { [SQLValue.integer($0), .text("b\($0)")] }
        let present = try await fixture.source.rows(of: fixture.table(), keys: keys, showing: [])
        #expect(present.isComplete && present.rows.count == 250)
    }

    @Test func anAnswerThatIsTooLargeIsNotComplete() async throws {
        let fixture = try await MySQLFixture("CREATE TABLE t (id INT PRIMARY KEY, body LONGTEXT)")
        for id in 1...8 { try await fixture.database.run("INSERT INTO t VALUES (\(id), REPEAT('x', 1000000))") }
        let keys = (1...8).map { [SQLValue.integer($0)] }
        let present = try await fixture.source.rows(of: fixture.table(), keys: keys, showing: [])
        #expect(!present.isComplete && present.rows.count == 6)
    }

    @Test func aTableWithoutAKeyIsLookedThrough() async throws {
        let fixture = try await MySQLFixture(
            "CREATE TABLE t (a INT, f FLOAT, d DATETIME(3), s SET('x', 'y'), b BLOB)",
            "INSERT INTO t VALUES (1, 3.14, '2024-01-01 00:00:00.123', 'x', X'00'), (NULL, NULL, NULL, NULL, NULL)"
        )
        let table = try await fixture.table()
        let rows = try await fixture.copied(table)
        let names = table.identity.map(\.name)
        let present = try await fixture.source.rows(of: table, keys: rows.map { $0.key(of: names) }, showing: [])
        #expect(Set(present.rows) == Set(rows) && rows.count == 2)
        let other: [SQLValue] = [.integer(1), .real(3.14), "2024-01-01 00:00:00.123", #"["x","y"]"#, .blob([0])]
        #expect(try await fixture.source.rows(of: table, keys: [other], showing: []).rows.isEmpty)
    }

    @Test func aTableWithoutTransactionsIsShownAsItIs() async throws {
        let fixture = try await MySQLFixture(
            "CREATE TABLE t (id INT PRIMARY KEY, n INT) ENGINE=MyISAM",
            "INSERT INTO t VALUES (1, 1)"
        )
        let table = try await fixture.table()
        let before = try await fixture.position()
        let moment = LogMoment(file: before.file, start: before.offset).moment
        try await fixture.database.run("UPDATE t SET n = 2")
        _ = try await fixture.source.rows(of: table, keys: [[.integer(1)]], showing: [moment])
        try await fixture.database.run("UPDATE t SET n = 3")
        let head = try await fixture.source.log.head()
        let present = try await fixture.source.rows(of: table, keys: [[.integer(1)]], showing: [moment])
        #expect(present.rows.first?["n"] == .integer(3) && present.position.lsn >= head.lsn)
    }
}
