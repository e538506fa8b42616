import Foundation
import MySQLTestSupport
import NIOConcurrencyHelpers
import PowerSyncMySQLConnection
import PowerSyncProtocol
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// Random changes of rows and tables, with kills of the service and of the server, compared with what plain SQL says.
///
/// `make soak` plays thousands of steps.
@Suite(.timeLimit(.minutes(30))) struct MySQLModelTests {
    private static let isSlow = ProcessInfo.processInfo.environment["POWERSYNC_SLOW"] != nil
    private static let seeds: [UInt64] = isSlow ? Array(1...13) : [1, 2]
    private static let rounds = isSlow ? 50 : 3

    /// Tables with keys of several kinds; `counters` is in every transaction that the model watches.
    private static let tables = [
        "CREATE TABLE counters (id INT PRIMARY KEY, n INT)", "INSERT INTO counters VALUES (1, 0), (2, 0)",
        "CREATE TABLE numbers (id INT PRIMARY KEY, a VARCHAR(40), b DECIMAL(8,2))",
        "CREATE TABLE texts (id VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY, a TEXT, b DATETIME(6))",
        "CREATE TABLE pairs (id INT, k VARCHAR(10), a INT, PRIMARY KEY (id, k))",
        """
        CREATE TABLE children (id INT PRIMARY KEY, parent INT,
            FOREIGN KEY (parent) REFERENCES parents (id) ON DELETE CASCADE ON UPDATE CASCADE)
        """,
        "CREATE TABLE plain (id INT, a VARCHAR(10))",
        "CREATE TABLE flags (id TINYINT PRIMARY KEY, e ENUM('a', 'b', 'c'), s SET('x', 'y'), j JSON, d DOUBLE)",
    ]

    private static let config = """
        config: {edition: 3}
        streams:
          all:
            queries:
              - SELECT * FROM counters
              - SELECT * FROM numbers
              - SELECT * FROM texts
              - SELECT id || k AS id, a FROM pairs
              - SELECT * FROM children
              - SELECT id || '-' || a AS id FROM plain
              - SELECT * FROM flags
          counts:
            auto_subscribe: true
            query: SELECT * FROM counters
        """

    /// What plain SQL says of each table: the id of a row, and the values of some columns as clients have them.
    private static let plain: [(table: String, columns: [String], sql: String)] = [
        ("counters", ["n"], "SELECT id, n FROM counters"),
        ("numbers", ["a", "b"], "SELECT id, a, b FROM numbers"),
        (
            "texts", ["a", "b"],
            "SELECT id, a, CONCAT(LEFT(DATE_FORMAT(b, '%Y-%m-%dT%H:%i:%s.%f'), 23), 'Z') FROM texts"
        ),
        ("pairs", ["a"], "SELECT CONCAT(id, k), a FROM pairs"),
        ("children", ["parent"], "SELECT id, parent FROM children"),
        ("plain", [], "SELECT DISTINCT CONCAT(id, '-', a) FROM plain"),
        (
            "flags", ["e", "s", "j"],
            """
            SELECT id, e, CONCAT('[', IF(s = '', '', CONCAT('"', REPLACE(s, ',', '","'), '"')), ']'), j FROM flags
            """
        ),
    ]

    private struct Statements {
        var random: SeededGenerator
        var columns = 0
        /// The numbers of the columns that were added to `numbers`.
        var added: [Int] = []
        var transactions = 0

        mutating func number(_ limit: Int) -> Int { random.number(below: limit) }

        /// A change of rows.
        mutating func change() -> String {
            let id = number(30)
            let text = "CHAR(\(65 + number(2) * 32 + id % 26))"
            switch number(17) {
            case 0:
                return "INSERT IGNORE INTO numbers (id, a, b) VALUES (\(id), 'n\(number(100))', \(number(1000)) / 8)"
            case 1:
                return """
                    INSERT IGNORE INTO texts (id, a, b)
                    VALUES (CONCAT(\(text), 'é'), REPEAT('x', \(number(3000))), '2024-01-02 03:04:05.00\(number(9))')
                    """
            case 2:
                return "INSERT IGNORE INTO pairs (id, k, a) VALUES (\(id % 5), CONCAT('k', \(number(4))), \(number(9)))"
            case 3: return "UPDATE numbers SET a = CONCAT(LEFT(a, 30), '+') WHERE id % 7 = \(number(7))"
            case 4: return "UPDATE IGNORE numbers SET id = id + \(number(5)) WHERE id = \(id)"
            case 5: return "UPDATE texts SET id = UPPER(id), b = NULL WHERE id = CONCAT(\(text), 'é')"
            case 6: return "UPDATE pairs SET a = a + 1 WHERE id = \(id % 5)"
            case 7: return "DELETE FROM numbers WHERE id = \(id)"
            case 8: return "DELETE FROM texts WHERE id = CONCAT(\(text), 'é')"
            case 9: return "INSERT IGNORE INTO parents VALUES (\(id % 6))"
            case 10:
                return
                    "INSERT IGNORE INTO children VALUES (\(id), (SELECT MAX(id) FROM parents WHERE id <= \(number(6))))"
            case 11: return "DELETE FROM parents WHERE id = \(id % 6)"
            case 12: return "INSERT INTO plain VALUES (\(id % 4), '\(number(3))')"
            case 13: return "DELETE FROM plain WHERE id = \(id % 4) LIMIT 1"
            case 14: return "UPDATE IGNORE parents SET id = \(number(6)) WHERE id = \(id % 6)"
            case 15:
                return """
                    INSERT IGNORE INTO flags VALUES (\(id), \(number(4)), \(number(4)), JSON_OBJECT('a', \(id), 'b', 'é'), \(number(99)) / 7)
                    """
            default:
                return
                    "UPDATE flags SET e = \(number(4)), j = JSON_SET(j, '$.c', \(number(9))), d = -d WHERE id % 3 = \(number(3))"
            }
        }

        /// Both counters are the same outside of a transaction.
        mutating func counted() -> [String] {
            transactions += 1
            return [
                "BEGIN", "UPDATE counters SET n = \(transactions) WHERE id = 1", change(), change(),
                "UPDATE counters SET n = \(transactions) WHERE id = 2", "COMMIT",
            ]
        }

        mutating func table() -> String { ["numbers", "texts", "pairs", "flags"][number(4)] }

        /// A transaction, or a change of a table.
        mutating func next() -> [String] {
            columns += 1
            switch number(28) {
            case 0:
                added.append(columns)
                return ["ALTER TABLE numbers ADD c\(columns) INT DEFAULT \(number(9))"]
            case 1: return ["ALTER TABLE pairs ADD unread\(columns) INT DEFAULT 1 \(number(2) == 0 ? "FIRST" : "")"]
            case 2: return ["TRUNCATE \(table())", change()]
            case 3:
                return [
                    "CREATE TABLE other LIKE numbers", "INSERT INTO other SELECT * FROM numbers",
                    "RENAME TABLE numbers TO old, other TO numbers", change(), "DROP TABLE old",
                ]
            case 4: return ["FLUSH BINARY LOGS"]
            case 5:
                return [
                    "XA START 'x'", change(), "XA END 'x'", "XA PREPARE 'x'",
                    number(2) == 0 ? "XA COMMIT 'x'" : "XA ROLLBACK 'x'",
                ]
            case 6: return ["BEGIN", change(), "SAVEPOINT s", change(), "ROLLBACK TO s", change(), "COMMIT"]
            case 7: return ["BEGIN", change(), change(), "ROLLBACK"]
            case 8:
                return [
                    "SET SESSION binlog_row_image = '\(["MINIMAL", "NOBLOB"][number(2)])'", change(), change(),
                    "SET SESSION binlog_row_image = 'FULL'",
                ]
            case 9: return ["OPTIMIZE TABLE \(table())"]
            case 10: return ["ALTER TABLE texts MODIFY a \(["TEXT", "MEDIUMTEXT", "VARCHAR(4000)"][number(3)])"]
            case 11:
                return [
                    "SET SESSION binlog_format = 'STATEMENT'", "UPDATE numbers SET b = b + 1 WHERE id < \(number(30))",
                    "SET SESSION binlog_format = 'ROW'",
                ]
            case 12: return ["ALTER TABLE flags ADD INDEX i\(columns) (d)", "ALTER TABLE flags DROP INDEX i\(columns)"]
            case 13: return ["REPLACE INTO parents VALUES (\(number(6)))"]
            case 14:
                guard let column = added.popLast() else { return counted() }
                return ["ALTER TABLE numbers DROP c\(column)"]
            case 15:
                guard let column = added.popLast() else { return counted() }
                added.append(columns)
                return ["ALTER TABLE numbers RENAME COLUMN c\(column) TO c\(columns)"]
            default: return counted()
            }
        }
    }

    @Test(arguments: seeds)
    func anyChangesEndWithTheRowsOfTheSource(_ seed: UInt64) async throws {
        var statements = Statements(random: SeededGenerator(seed: seed))
        // Of a server that is killed, all commits are there: they are given to the system when they are confirmed.
        let server = try await TestMySQLServer("--innodb-flush-log-at-trx-commit=2")
        var scenario = try await MySQLScenario(
            ["CREATE TABLE parents (id INT PRIMARY KEY)"] + Self.tables,
            config: Self.config,
            on: server
        )
        for round in 0..<Self.rounds {
            let before = (0..<4).map { _ in statements.next() }
            let during = (0..<12).map { _ in statements.next() }
            let ends = statements.number(4)
            // While nothing is replicated, and while it is.
            for transaction in before { try await scenario.database.runInOneSession(transaction) }
            try await scenario.replicating { [scenario] in
                try await scenario.expectingWholeTransactions("seed \(seed), round \(round)") {
                    for (step, transaction) in during.enumerated() {
                        try await scenario.database.runInOneSession(transaction)
                        if step % 4 == 0 { try await scenario.caughtUp() }
                        guard step == 6, ends == 0 else { continue }
                        server.crash()
                        try await server.start()
                    }
                    // In one of four rounds, the service ends before it has caught up.
                    if ends != 1 { try await scenario.caughtUp() }
                }
            }
            if ends != 1 {
                try await scenario.expectSameRowsAsAFreshCopy("seed \(seed), round \(round)")
                try await scenario.expectSameRows(as: Self.plain, "seed \(seed), round \(round)")
            }
            scenario = try scenario.reopened()
        }
        try await scenario.replicate()
        try await scenario.expectSameRowsAsAFreshCopy("seed \(seed), at the end")
        try await scenario.expectSameRows(as: Self.plain, "seed \(seed), at the end")
        try scenario.source.close()
    }
}

extension TestMySQLDatabase {
    /// Runs statements in a session that is closed afterwards.
    fileprivate func runInOneSession(_ statements: [String]) async throws {
        let session = try await open()
        defer { session.close() }
        for statement in statements { try await session.execute(statement) }
    }
}

extension MySQLScenario {
    /// Checks that no checkpoint that clients see while `body` runs has a part of a transaction.
    fileprivate func expectingWholeTransactions(
        _ comment: Comment,
        while body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let looks = NIOLockedValueBox(0)
        try await looking(at: "counts|0[]") { rows in
            let counts = [1, 2].compactMap { rows["counters/\($0)"]?.split(separator: "\"n\":").last }
            #expect(counts.count == 2 && counts[0] == counts[1], comment)
            looks.withLockedValue { $0 += 1 }
        } while: {
            try await body()
        }
        #expect(looks.withLockedValue(\.self) > 0, comment)
    }

    /// Checks that the bucket has what queries answer.
    ///
    /// - Parameters:
    ///   - queries: For each table the names of some columns, and a query for the ids of rows with the values of these columns.
    ///   - comment: When this is.
    /// - Throws: Errors of the server and of the storage.
    fileprivate func expectSameRows(
        as queries: [(table: String, columns: [String], sql: String)],
        _ comment: Comment
    ) async throws {
        let synced = try await rows()
        var count = 0
        for (table, columns, sql) in queries {
            let answers = try await database.run(sql)
            count += answers.count
            for answer in answers {
                let id = "\(table)/\(answer[0] ?? "")"
                let row = try synced[id].map { try JSONObject(parsing: $0) }
                let values = columns.map { row?[$0].flatMap { Self.text($0) } }
                #expect(row != nil && values == Array(answer.dropFirst()), "\(comment), \(id)")
            }
        }
        #expect(synced.count == count, comment)
    }

    /// A value of a row as SQL prints it; `nil` for `NULL`.
    private static func text(_ value: ExactJSON) -> String? {
        switch value {
        case .string(let text): text
        case .integer(let number): "\(number)"
        default: nil
        }
    }
}
