import PostgresTestSupport
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// Random transactions and changes of tables, with interruptions: after each life of the service its rows are those of the
/// database.
@Suite(.timeLimit(.minutes(10))) struct PostgresModelTests {
    private static let schema = """
        CREATE TABLE lists (id text PRIMARY KEY, name text, body text, slug text NOT NULL UNIQUE DEFAULT random());
        ALTER TABLE lists ALTER body SET STORAGE EXTERNAL;
        CREATE TABLE pairs (a int, b text, value float, PRIMARY KEY (a, b));
        CREATE TABLE loose (id text, value int);
        ALTER TABLE loose REPLICA IDENTITY FULL
        """
    private static let config = """
        config:
          edition: 3
        streams:
          all:
            queries:
              - SELECT * FROM lists
              - SELECT a || '/' || b AS id, a, b, value FROM pairs
              - SELECT * FROM loose
              - SELECT * FROM "part_%"
        """

    @Test(arguments: (1...20 as ClosedRange<UInt64>).one(in: 3))
    func bucketsEndWithTheRowsOfTheDatabase(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        var scenario = try PostgresScenario(
            Self.schema,
            config: Self.config,
            catalogueInterval: .milliseconds(30)
        )
        for _ in 0..<4 {
            // Some happens before the service starts.
            for _ in 0..<random.number(below: 4) { write(to: scenario, &random) }
            let steps = (0..<random.number(below: 12)).map { _ in random.next() }
            try await scenario.replicating { [scenario] in
                for seed in steps {
                    var random = SeededGenerator(seed: seed)
                    write(to: scenario, &random)
                    switch random.number(below: 12) {
                    case 0: try await scenario.caughtUp()
                    case 1: try await scenario.caughtUpWithTables()
                    case 2: try scenario.database.disconnectEverybody()
                    case 3 where random.number(below: 3) == 0: try scenario.database.dropSlots()
                    default: break
                    }
                }
            }
            scenario = try scenario.reopened()
            try await scenario.replicating { [scenario] in try await scenario.caughtUpWithTables() }
            try await expectSameRows(scenario, "seed \(seed)")
        }
    }

    /// Compares with the rows that the database has now.
    private func expectSameRows(_ scenario: PostgresScenario, _ comment: Comment) async throws {
        let checkpoint = try #require(scenario.storage.feed.current)
        let stream = try #require(try await scenario.storage.streams().first { $0.id == checkpoint.streamID })
        var plan = stream.plan
        plan.defaultSchema = PostgresSource.defaultSchema
        var expected: [String: String] = [:]
        for descriptor in try await scenario.source.tables(for: plan) {
            var reader = try await scenario.source.snapshot(of: descriptor, after: nil)
            while let chunk = try await reader.next() {
                for row in chunk.rows {
                    for found in plan.evaluate(row, of: descriptor.name, bucketPrefix: stream.bucketPrefix) {
                        expected["\(found.table)/\(found.id)"] = found.data
                    }
                }
            }
        }
        #expect(try await scenario.rows() == expected, comment)
    }

    // MARK: Statements

    /// Runs a random transaction, or a change of a table; what fails leaves nothing.
    private func write(to scenario: PostgresScenario, _ random: inout SeededGenerator) {
        let statements: [String]
        if random.number(below: 3) == 0 {
            statements = alteration(&random)
        } else {
            let changes = (0...random.number(below: 5)).map { _ in change(&random) }
            // With savepoints, so that one that fails does not undo the others.
            let parts = changes.map { "BEGIN \($0); EXCEPTION WHEN OTHERS THEN NULL; END;" }
            statements = ["DO $do$ BEGIN \(parts.joined(separator: " ")) END $do$"]
        }
        for statement in statements { _ = try? scenario.database.run(statement) }
    }

    private func change(_ random: inout SeededGenerator) -> String {
        let id = "l\(random.number(below: 6))"
        let other = "l\(random.number(below: 6))"
        let number = random.number(below: 4)
        let body = "repeat('\(random.number(below: 3))', 3000)"
        return switch random.number(below: 21) {
        case 0...3: "INSERT INTO lists (id, name, body) VALUES ('\(id)', 'n\(number)', \(body))"
        case 4, 5: "UPDATE lists SET name = 'm\(number)' WHERE id = '\(id)'"
        case 6: "UPDATE lists SET body = \(body) WHERE id = '\(id)'"
        case 7: "UPDATE lists SET id = '\(other)' WHERE id = '\(id)'"
        case 8: "DELETE FROM lists WHERE id = '\(id)'"
        case 9: "UPDATE lists SET name = name || '+'"
        case 10, 11: "INSERT INTO pairs (a, b, value) VALUES (\(number), '\(id)', \(number).5)"
        case 12: "UPDATE pairs SET b = '\(other)', value = value + 1 WHERE a = \(number) AND b = '\(id)'"
        case 13: "DELETE FROM pairs WHERE a = \(number)"
        case 14, 15:
            // Rows with one id are equal.
            "INSERT INTO loose (id, value) SELECT '\(id)', coalesce((SELECT min(value) FROM loose WHERE id = '\(id)'), \(number))"
        case 16: "UPDATE loose SET value = value + 1 WHERE id = '\(id)'"
        case 17:
            random.number(below: 2) == 0
                ? "DELETE FROM loose WHERE id = '\(id)'"
                : "DELETE FROM loose WHERE ctid = (SELECT min(ctid) FROM loose WHERE id = '\(id)')"
        case 19: "UPDATE lists SET slug = slug || '.' WHERE id <= '\(id)'"
        case 18: "INSERT INTO part_\(number) (id) VALUES ('p\(id)')"
        default: random.number(below: 3) == 0 ? "TRUNCATE lists, pairs" : "DELETE FROM lists"
        }
    }

    private func alteration(_ random: inout SeededGenerator) -> [String] {
        let number = random.number(below: 4)
        switch random.number(below: 22) {
        case 0: return ["ALTER TABLE lists ADD COLUMN c\(number) text DEFAULT 'c'"]
        case 1: return ["ALTER TABLE lists ADD COLUMN c\(number) float DEFAULT random()"]
        case 2: return ["ALTER TABLE lists DROP COLUMN c\(number)"]
        case 3: return ["ALTER TABLE lists DROP COLUMN name; ALTER TABLE lists ADD COLUMN name text DEFAULT 'new'"]
        case 4:
            return [
                "ALTER TABLE lists RENAME name TO title", change(&random), "ALTER TABLE lists RENAME title TO name",
            ]
        case 5:
            return [
                "ALTER TABLE lists RENAME id TO key", "UPDATE lists SET name = 'k'; DELETE FROM lists WHERE key < 'l2'",
                "ALTER TABLE lists RENAME key TO id",
            ]
        case 6: return ["ALTER TABLE lists ALTER name TYPE text USING name || '!'"]
        case 7:
            return [
                "ALTER TABLE lists SET UNLOGGED", change(&random), change(&random), "ALTER TABLE lists SET LOGGED",
                change(&random),
            ]
        case 8:
            return [
                "DROP TABLE lists",
                "CREATE TABLE lists (id text PRIMARY KEY, name text, body text, slug text NOT NULL UNIQUE DEFAULT random())",
                change(&random),
                "ALTER TABLE lists ALTER body SET STORAGE EXTERNAL",
            ]
        case 9: return ["ALTER TABLE lists RENAME TO away", change(&random), "ALTER TABLE away RENAME TO lists"]
        case 10: return ["ALTER TABLE lists REPLICA IDENTITY FULL"]
        case 11: return ["ALTER TABLE lists REPLICA IDENTITY DEFAULT"]
        case 12: return ["VACUUM FULL lists"]
        case 13: return ["CREATE TABLE part_\(number) (id text PRIMARY KEY, x int)"]
        case 14: return ["DROP TABLE part_\(number)"]
        case 15:
            return ["ALTER TABLE pairs DROP CONSTRAINT pairs_pkey; ALTER TABLE pairs ADD PRIMARY KEY (b, a)"]
        case 16:
            return [
                "ALTER TABLE pairs ALTER value TYPE numeric", change(&random),
                "ALTER TABLE pairs ALTER value TYPE float",
            ]
        case 17:
            return [
                "DROP PUBLICATION powersync; CREATE PUBLICATION powersync FOR TABLE lists WHERE (id < 'l3'), loose",
                change(&random), "DROP PUBLICATION powersync; CREATE PUBLICATION powersync FOR ALL TABLES",
            ]
        case 18, 19: return ["ALTER TABLE lists REPLICA IDENTITY USING INDEX lists_slug_key", change(&random)]
        case 20:
            return ["ALTER PUBLICATION powersync SET (publish = 'insert, update, delete, truncate')", change(&random)]
        default: return ["TRUNCATE loose"]
        }
    }
}
