import MySQLTestSupport
import PowerSyncServiceCore
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceMySQL

/// Copies of tables, over a server.
@Suite(.timeLimit(.minutes(3))) struct MySQLSnapshotReaderTests {
    private func integers(_ chunks: [SnapshotChunk], _ column: String = "id") -> [Int64] {
        chunks.flatMap(\.rows).compactMap { row in
            guard case .integer(let number)? = row[column] else { return nil }
            return number
        }
    }

    /// Numbers from 1 on, as a table without a name.
    private func numbers(_ count: Int) -> String {
        let digits = "(" + (0...9).map { "SELECT \($0) AS d" }.joined(separator: " UNION ") + ")"
        let powers = [1, 10, 100, 1000, 10_000, 100_000].prefix(String(count - 1).count)
        let places = powers.indices.map { "\(digits) AS d\($0)" }.joined(separator: ", ")
        let sum = powers.enumerated().map { "d\($0).d * \($1)" }.joined(separator: " + ")
        return "(SELECT \(sum) + 1 AS n FROM \(places) HAVING n <= \(count)) AS numbers"
    }

    @Test func theFirstChunkSaysWhatTheCopyHasSeen() async throws {
        let fixture = try await MySQLFixture("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
        let before = try await fixture.position()
        let chunks = try await fixture.chunks(of: fixture.table())
        #expect(chunks.map(\.rows.count) == [0, 2])
        let seen = try #require(MySQLCopyPosition(chunks[0].lastKey))
        #expect(seen.seen >= before)
        #expect(seen.lastKey == nil)
        #expect(MySQLCopyPosition(chunks[1].lastKey) == MySQLCopyPosition(seen: seen.seen, lastKey: [.integer(2)]))
    }

    @Test(
        arguments: TestMySQL.isMySQL ? ["utf8mb4_0900_ai_ci"] : ["utf8mb4_general_ci", "utf8mb4_uca1400_ai_ci"]
    )
    func eachRowIsCopiedOnceInTheOrderOfTheServer(_ collation: String) async throws {
        let fixture = try await MySQLFixture(
            "CREATE TABLE t (id VARCHAR(40) CHARACTER SET utf8mb4 COLLATE \(collation) PRIMARY KEY, n INT)"
        )
        let prefixes = "ELT(n % 5 + 1, 'aa', 'AB', 'é', 'Ç', 'z ')"
        try await fixture.database.run("INSERT INTO t SELECT CONCAT(\(prefixes), n), n FROM \(numbers(20_000))")
        let chunks = try await fixture.chunks(of: fixture.table(), range: 1000)
        #expect(chunks.count == 21)
        let order = try await fixture.database.run("SELECT n FROM t ORDER BY id").compactMap {
            $0[0].flatMap { Int64($0) }
        }
        #expect(order.count == 20_000)
        #expect(integers(chunks, "n") == order)
    }

    @Test func aCopyGoesOnBehindItsLastKey() async throws {
        let fixture = try await MySQLFixture("CREATE TABLE t (a INT, b VARCHAR(20), c INT, PRIMARY KEY (b, a))")
        try await fixture.database.run("INSERT INTO t SELECT n % 100, CONCAT('k', n DIV 100), n FROM \(numbers(5000))")
        let table = try await fixture.table()
        let all = try await fixture.chunks(of: table, range: 500)
        #expect(Set(integers(all, "c")) == Set(1...5000))
        let third = all[3]
        let rest = try await fixture.chunks(of: table, after: third.lastKey, range: 500)
        // The chunk that says what was seen is not repeated.
        #expect(rest.map(\.rows.count) == Array(repeating: 500, count: 7))
        #expect(integers(Array(all[...3]) + rest, "c") == integers(all, "c"))
        let (first, last) = (
            try #require(MySQLCopyPosition(all[0].lastKey)), try #require(MySQLCopyPosition(rest[6].lastKey))
        )
        #expect(first.seen == last.seen)
    }

    @Test(arguments: [
        "id FLOAT PRIMARY KEY", "id ENUM('1', '20', '3', '4', '5', '6', '7') PRIMARY KEY", "id BIT(20) PRIMARY KEY",
        "id INT",
        "id VARCHAR(200) CHARACTER SET utf8mb4, PRIMARY KEY (id(2))",
    ])
    func aTableWithoutAnOrderedKeyIsCopiedByOneQuery(_ column: String) async throws {
        let fixture = try await MySQLFixture("CREATE TABLE t (\(column))", "INSERT INTO t VALUES (1), (3), (5), (7)")
        let chunks = try await fixture.chunks(of: fixture.table(), range: 2)
        #expect(chunks.map(\.rows.count) == [0, 4])
        #expect(MySQLCopyPosition(chunks[1].lastKey)?.lastKey == nil)
        #expect(Set(chunks[1].rows.map { $0["id"] }).count == 4)
    }

    @Test func aTableThatIsAlteredDuringItsCopyIsAnotherOne() async throws {
        let fixture = try await MySQLFixture("CREATE TABLE t (id INT PRIMARY KEY)")
        try await fixture.database.run("INSERT INTO t SELECT n FROM \(numbers(300))")
        let error = await #expect(throws: ReplicationSourceError.self) {
            try await fixture.chunks(of: fixture.table(), range: 100) { count in
                if count == 2 { try await fixture.database.run("ALTER TABLE t ADD COLUMN a INT DEFAULT 7") }
            }
        }
        #expect(error?.code == .tablesChanged)
        let rows = try await fixture.copied(fixture.table())
        #expect(rows.count == 300 && rows.allSatisfy { $0["a"] == .integer(7) })
    }

    @Test func aTableThatIsDroppedDuringItsCopyIsGone() async throws {
        let fixture = try await MySQLFixture("CREATE TABLE t (id INT PRIMARY KEY)")
        try await fixture.database.run("INSERT INTO t SELECT n FROM \(numbers(300))")
        let error = await #expect(throws: ReplicationSourceError.self) {
            try await fixture.chunks(of: fixture.table(), range: 100) { count in
                if count == 2 { try await fixture.database.run("DROP TABLE t") }
            }
        }
        #expect(error?.code == .tablesChanged)
    }

    @Test func largeRowsMakeSmallChunks() async throws {
        let fixture = try await MySQLFixture("CREATE TABLE t (id INT PRIMARY KEY, body LONGTEXT)")
        try await fixture.database.run("INSERT INTO t SELECT n, REPEAT('x', 1000000) FROM \(numbers(20))")
        let chunks = try await fixture.chunks(of: fixture.table())
        #expect(integers(chunks) == Array(1...20))
        #expect(chunks.map(\.rows.count) == [0, 6, 6, 6, 2])
    }
}
