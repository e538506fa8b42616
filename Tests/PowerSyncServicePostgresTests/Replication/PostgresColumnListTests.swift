import PostgresTestSupport
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// A publication whose list of columns goes or comes while it is replicated (docs/postgres.md "Changed tables").
@Suite(.timeLimit(.minutes(2))) struct PostgresColumnListTests {
    private static let rows = 20
    private static let tables = """
        CREATE TABLE lists (id text PRIMARY KEY, name text, note text);
        INSERT INTO lists SELECT 'l' || lpad(n::text, 6, '0'), 'one', 'note ' || n FROM generate_series(1, \(rows)) AS n
        """
    private static let withoutList = "ALTER PUBLICATION powersync SET TABLE lists"
    private static let withList = "ALTER PUBLICATION powersync SET TABLE lists (id, name)"

    /// A table of which some columns are published; `nil` where the server has no such lists.
    private func scenario(_ columns: String = "*") throws -> PostgresScenario? {
        let scenario = try PostgresScenario(
            Self.tables,
            config: "config: {edition: 3}\nstreams: {all: {query: 'SELECT \(columns) FROM lists'}}",
            catalogueInterval: .milliseconds(50)
        )
        guard try scenario.database.serverVersion >= 150_000 else { return nil }
        try scenario.database.run(
            "DROP PUBLICATION powersync; CREATE PUBLICATION powersync FOR TABLE lists (id, name)"
        )
        return scenario
    }

    /// Around a list that goes, or comes, rows change: before, in the same transaction, and after it.
    private static func statements(_ change: String) -> [String] {
        [
            "UPDATE lists SET name = 'before' WHERE id = 'l000001'",
            """
            BEGIN; UPDATE lists SET name = 'with' WHERE id IN ('l000002', 'l000003'); DELETE FROM lists WHERE id = 'l000004';
            \(change);
            UPDATE lists SET name = 'within', note = 'within' WHERE id IN ('l000003', 'l000005');
            INSERT INTO lists VALUES ('m', 'within', 'within'); COMMIT
            """,
            "UPDATE lists SET note = 'after' WHERE id IN ('l000001', 'l000002')",
        ]
    }

    @Test(arguments: [withoutList, withList], [false, true])
    func rowsAreWhatTheyAreWithTheOtherList(_ change: String, stops: Bool) async throws {
        guard var scenario = try scenario() else { return }
        if change == Self.withList { try scenario.database.run(Self.withoutList) }
        try await scenario.replicating { [scenario] in
            try await scenario.caughtUp()
            guard !stops else { return }
            for statement in Self.statements(change) { try scenario.database.run(statement) }
            try await scenario.caughtUpWithTables()
        }
        if stops {
            for statement in Self.statements(change) { try scenario.database.run(statement) }
            scenario = try scenario.reopened()
            try await scenario.replicating { [scenario] in try await scenario.caughtUpWithTables() }
        }
        #expect(try await scenario.rows()["lists/m"]?.contains("note") == (change == Self.withoutList))
        try await scenario.expectSameRowsAsAFreshCopy()
        // Rows are read again, and not copied.
        #expect(!scenario.log.lines.contains { $0.contains("has another form") })
    }

    @Test(arguments: [withoutList, withList])
    func rowsThatAreTheSameMakeNoOperations(_ change: String) async throws {
        guard let scenario = try scenario("id, name") else { return }
        if change == Self.withList { try scenario.database.run(Self.withoutList) }
        try await scenario.replicating {
            try await scenario.caughtUp()
            try scenario.database.run(change)
            try await scenario.caughtUpWithTables()
            #expect(try await Self.operations(scenario) == Self.rows)
            // The table is lost and found again, and a change was left out.
            try scenario.database.run(
                """
                BEGIN; ALTER PUBLICATION powersync DROP TABLE lists; UPDATE lists SET name = 'two' WHERE id = 'l000001';
                DELETE FROM lists WHERE id = 'l000002'; ALTER PUBLICATION powersync ADD TABLE lists; COMMIT
                """
            )
            try await scenario.caughtUpWithTables()
            #expect(try await Self.operations(scenario) == Self.rows + 2)
        }
        try await scenario.expectSameRowsAsAFreshCopy()
        #expect(!scenario.log.lines.contains { $0.contains("has another form") })
    }

    private static func operations(_ scenario: PostgresScenario) async throws -> Int {
        let (stream, checkpoint) = (
            try #require(try await scenario.stream()), try #require(scenario.storage.feed.current)
        )
        return try await scenario.storage.allOperations("all|0[]", of: stream, at: checkpoint).count
    }

    /// The first copy has read some rows without the column, and reads the others while all are published.
    @Test(arguments: [withoutList, withList])
    func theListChangesInTheMiddleOfACopy(_ change: String) async throws {
        guard var scenario = try scenario() else { return }
        if change == Self.withList { try scenario.database.run(Self.withoutList) }
        // A page has 5 MiB.
        try scenario.database.run(
            "INSERT INTO lists SELECT 'n' || lpad(n::text, 6, '0'), repeat('one', 3000), 'note' FROM generate_series(1, 700) AS n"
        )
        let held = HeldSource(scenario.source)
        scenario.front = held
        held.hold("lists", afterRows: 300)
        let seen = held.waitCount
        try await scenario.replicating { [scenario] in
            try await held.copyWaits(after: seen)
            for statement in Self.statements(change) { try scenario.database.run(statement) }
            held.release()
            try await scenario.caughtUpWithTables()
        }
        #expect(try await scenario.rows()["lists/m"]?.contains("note") == (change == Self.withoutList))
        try await scenario.expectSameRowsAsAFreshCopy()
    }
}
