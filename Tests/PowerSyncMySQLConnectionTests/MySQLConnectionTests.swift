import MySQLTestSupport
import NIOCore
import PowerSyncMySQLConnection
import Testing

/// Statements over a real server.
@Suite(.timeLimit(.minutes(1)))
struct MySQLConnectionTests {
    private let logger = TestMySQL.logger

    @Test func tellsWhichServerItIs() async throws {
        let connection = try await TestMySQL.shared().open()
        defer { connection.close() }
        #expect(connection.isMariaDB == !TestMySQL.isMySQL)
        #expect(try await connection.query("SELECT VERSION()").firstString == connection.serverVersion)
        #expect(try await connection.query("SELECT CONNECTION_ID()").firstString == "\(connection.connectionID)")
    }

    @Test func everySessionHasTheSameSettings() async throws {
        let connection = try await TestMySQL.shared().open()
        defer { connection.close() }
        let isolation = TestMySQL.isMySQL ? "@@transaction_isolation" : "@@tx_isolation"
        let row = try #require(
            try await connection.query(
                """
                SELECT @@time_zone z, @@sql_mode m, @@net_write_timeout w, @@collation_connection c, @@character_set_results r, \
                \(isolation) i
                """
            ).rows.first
        )
        #expect(row.string("z") == "+00:00")
        #expect(row.string("m") == "")
        #expect(row.integer("w") == 3_600)
        #expect(row.string("c") == "utf8mb4_general_ci")
        #expect(row.string("r") == "utf8mb4")
        #expect(row.string("i") == "REPEATABLE-READ")
    }

    @Test func answersHaveColumnsAndValues() async throws {
        let database = try await TestMySQLDatabase(
            "CREATE TABLE t (id INT UNSIGNED NOT NULL PRIMARY KEY, b BLOB, s TEXT)"
        )
        try await database.run("INSERT INTO t VALUES (1, x'00FF', 'é🎉'), (2, NULL, '')")
        let connection = try await database.open()
        defer { connection.close() }
        let result = try await connection.query("SELECT id, b, s AS text FROM t ORDER BY id")
        #expect(result.columns.map(\.name) == ["id", "b", "text"])
        #expect(result.columns.map(\.type) == [3, 252, 252])
        #expect(result.columns.map(\.collation) == [63, 63, 45])
        #expect(result.columns[0].flags & 33 == 33)
        #expect(result.rows[0]["b"] == ByteBuffer(bytes: [0x00, 0xFF]))
        #expect(result.rows[0].string("text") == "é🎉")
        #expect(result.rows[1].values == [ByteBuffer(string: "2"), nil, ByteBuffer()])
        #expect(result.rows[1]["nothing"] == nil)
        #expect(try await connection.query("SELECT id FROM t WHERE id = 0").rows.isEmpty)
        #expect(try await connection.query("DELETE FROM t").columns.isEmpty)
    }

    @Test func aServersErrorLeavesTheConnection() async throws {
        let connection = try await TestMySQL.shared().open()
        defer { connection.close() }
        let error = await #expect(throws: MySQLConnectionError.self) {
            try await connection.execute("SELECT * FROM nothing.nowhere")
        }
        // Unknown table, or database, by the server.
        #expect([1049, 1146].contains(error?.serverCode))
        #expect(error?.sqlState?.prefix(3) == "42S" || error?.sqlState == "42000")
        #expect(error?.isRetryable == false)
        #expect(connection.isUsable)
        #expect(try await connection.query("SELECT 1").firstString == "1")
    }

    @Test func anErrorAmongRowsLeavesTheConnection() async throws {
        let database = try await TestMySQLDatabase(
            "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9))",
            "INSERT INTO t VALUES (1, '{}'), (2, 'x')"
        )
        let connection = try await database.open()
        defer { connection.close() }
        // Of two rows, it is the second for which the subquery has more than one.
        await #expect(throws: MySQLConnectionError.self) {
            try await connection.withRows("SELECT id, (SELECT id FROM t b WHERE b.id <= a.id) FROM t a ORDER BY id") {
                rows in
                while try await rows.next() != nil {}
            }
        }
        #expect(connection.isUsable)
        #expect(try await connection.query("SELECT 1").firstString == "1")
    }

    @Test func messagesHaveNoValues() async throws {
        let database = try await TestMySQLDatabase("CREATE TABLE t (id VARCHAR(20) PRIMARY KEY)")
        try await database.run("INSERT INTO t VALUES ('secret value')")
        for statement in ["INSERT INTO t VALUES ('secret value')", "SELEC 'secret value'"] {
            let error = await #expect(throws: MySQLConnectionError.self) { try await database.run(statement) }
            let text = "\(try #require(error))"
            #expect(!text.contains("secret"), "\(text)")
            #expect(text.contains("…"), "\(text)")
        }
    }

    @Test func rowsThatAreLeftCloseTheConnection() async throws {
        let connection = try await TestMySQL.shared().open()
        let first = try await connection.withRows(series(100_000)) { rows in try await rows.next()?.first ?? nil }
        #expect(first.map { String(buffer: $0) } == "1")
        #expect(!connection.isUsable)
        let error = await #expect(throws: MySQLConnectionError.self) { try await connection.query("SELECT 1") }
        #expect(error?.code == .closed)
    }

    @Test func twoCallsAtATimeAreAnError() async throws {
        let connection = try await TestMySQL.shared().open()
        defer { connection.close() }
        let error = await #expect(throws: MySQLConnectionError.self) {
            try await connection.withRows("SELECT 1") { _ in _ = try await connection.query("SELECT 2") }
        }
        #expect(error?.code == .busy)
    }

    @Test func manyRowsArriveInOrder() async throws {
        let connection = try await TestMySQL.shared().open()
        defer { connection.close() }
        let isInOrder = try await connection.withRows(series(50_000)) { rows in
            var expected = 0
            while let row = try await rows.next() {
                expected += 1
                guard row[0].map({ String(buffer: $0) }) == "\(expected)" else { return false }
            }
            return expected == 50_000
        }
        #expect(isInOrder)
        #expect(connection.isUsable)
    }

    // A row is a packet of more than 16 MiB, which the wire cuts; its first value has a length whose first byte is that of an end.
    @Test func rowsOfMoreThanAPacketAreWhole() async throws {
        let connection = try await TestMySQL.shared().open()
        defer { connection.close() }
        let sizes = [17 << 20, (1 << 24) - 1 - 9, (1 << 24) - 1, 40 << 20, 3, 0]
        let values = sizes.map { "SELECT REPEAT('x', \($0)) AS s" }.joined(separator: " UNION ALL ")
        let seen = try await connection.withRows(values) { rows in
            var seen: [Int] = []
            while let row = try await rows.next() { seen.append(row[0]?.readableBytes ?? -1) }
            return seen
        }
        #expect(seen.sorted() == sizes.sorted())
        #expect(connection.isUsable)
    }

    @Test func aStatementOfMoreThanAPacketIsWhole() async throws {
        let connection = try await TestMySQL.shared().open()
        defer { connection.close() }
        for size in [(1 << 24) - 1 - 18, 20 << 20] {
            let sql = "SELECT LENGTH('\(String(repeating: "y", count: size))')"
            #expect(try await connection.query(sql).firstString == "\(size)")
        }
    }

    // The server of this test gives up a client that does not read for a second.
    @Test func theServerWaitsForAReaderThatPauses() async throws {
        let server = try await TestMySQLServer("--net-write-timeout=1")
        let connection = try await server.address.open()
        defer { connection.close() }
        let other = try await server.address.open()
        defer { other.close() }
        let count = try await connection.withRows("SELECT REPEAT('z', 1000) FROM (\(series(30_000))) s") { rows in
            _ = try await rows.next()
            // Thirty megabytes are more than all buffers hold.
            #expect(try await other.query("SELECT SLEEP(3)").firstString == "0")
            var count = 1
            while try await rows.next() != nil { count += 1 }
            return count
        }
        #expect(count == 30_000)
    }

    /// A statement for rows with the numbers from 1.
    private func series(_ count: Int) -> String {
        let digits = (0...9).map { "SELECT \($0) AS d" }.joined(separator: " UNION ALL ")
        let powers = [1, 10, 100, 1_000, 10_000, 100_000].filter { $0 < count }
        let sum = powers.map { "\($0) * t\($0).d" }.joined(separator: " + ")
        let tables = powers.map { "(\(digits)) t\($0)" }.joined(separator: ", ")
        return "SELECT \(sum) + 1 AS n FROM \(tables) WHERE \(sum) < \(count) ORDER BY n"
    }
}
