import PostgresTestSupport
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// Tables with partitions that the sync config names (docs/postgres.md "Tables").
@Suite(.timeLimit(.minutes(1))) struct PostgresPartitionTests {
    /// Partitions of several columns orders, and one with partitions of its own.
    private static let schema = """
        CREATE TABLE orders (id text, region text, name text, body text, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
        CREATE TABLE orders_eu PARTITION OF orders FOR VALUES IN ('eu');
        CREATE TABLE us (gone int, body text, name text, region text NOT NULL, id text NOT NULL, PRIMARY KEY (id, region));
        ALTER TABLE us DROP gone;
        ALTER TABLE orders ATTACH PARTITION us FOR VALUES IN ('us');
        CREATE TABLE asia PARTITION OF orders FOR VALUES IN ('asia') PARTITION BY HASH (id);
        CREATE TABLE asia_0 PARTITION OF asia FOR VALUES WITH (MODULUS 1, REMAINDER 0);
        INSERT INTO orders VALUES ('a', 'eu', 'one'), ('b', 'us', 'one'), ('c', 'asia', 'one')
        """

    private static func scenario(
        viaRoot: Bool,
        query: String = "SELECT id, name FROM orders"
    ) throws -> PostgresScenario {
        let scenario = try PostgresScenario(
            Self.schema,
            config: "config: {edition: 3}\nstreams: {all: {query: '\(query)'}}",
            catalogueInterval: .milliseconds(50)
        )
        try scenario.database.run("ALTER PUBLICATION powersync SET (publish_via_partition_root = \(viaRoot))")
        return scenario
    }

    /// The names of the rows, by id.
    private static func names(_ scenario: PostgresScenario) async throws -> [String] {
        try await scenario.rows().values.sorted()
    }

    private static func row(_ id: String, _ name: String) -> String { #"{"id":"\#(id)","name":"\#(name)"}"# }

    @Test(arguments: [false, true])
    func rowsOfPartitionsAreThoseOfTheirTable(viaRoot: Bool) async throws {
        let scenario = try Self.scenario(viaRoot: viaRoot)
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(Set(try await scenario.rows().keys) == ["orders/a", "orders/b", "orders/c"])
            try scenario.database.run(
                """
                UPDATE orders SET name = 'two'; DELETE FROM orders WHERE id = 'a';
                INSERT INTO orders VALUES ('d', 'eu', 'new'), ('e', 'asia', 'new'); INSERT INTO us (id, region, name) VALUES ('f', 'us', 'new')
                """
            )
            try await scenario.caughtUp()
            #expect(
                try await Self.names(scenario) == [
                    Self.row("b", "two"), Self.row("c", "two"), Self.row("d", "new"), Self.row("e", "new"),
                    Self.row("f", "new"),
                ]
            )
            try scenario.database.run("TRUNCATE us")
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.ids() == ["c", "d", "e"])
            try scenario.database.run("TRUNCATE orders")
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.ids() == [])
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test(arguments: [false, true])
    func aRowThatMovesToAnotherPartitionIsOnePut(viaRoot: Bool) async throws {
        let scenario = try Self.scenario(viaRoot: viaRoot)
        try await scenario.replicating {
            try await scenario.caughtUp()
            for (region, name) in [("us", "two"), ("asia", "three"), ("eu", "four")] {
                let before = try #require(scenario.storage.feed.current)
                try scenario.database.run("UPDATE orders SET region = '\(region)', name = '\(name)' WHERE id = 'a'")
                try await scenario.caughtUp()
                let (stream, checkpoint) = (
                    try #require(try await scenario.stream()), try #require(scenario.storage.feed.current)
                )
                let kinds = try await scenario.storage.allOperations("all|0[]", of: stream, at: checkpoint)
                    .filter { $0.opID > before.opID }.map { "\($0.kind) \($0.id)" }
                #expect(kinds == ["REMOVE a", "PUT a"])
                #expect(try await scenario.rows()["orders/a"] == Self.row("a", name))
            }
            #expect(try await scenario.ids() == ["a", "b", "c"])
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test(arguments: [false, true])
    func partitionsAreAttachedDetachedAndMadeLater(viaRoot: Bool) async throws {
        let scenario = try Self.scenario(viaRoot: viaRoot)
        @Sendable func copies() -> Int {
            scenario.log.lines.count { $0.contains("A table of the source has been copied") }
        }
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(copies() == (viaRoot ? 1 : 3))
            let before = copies()
            try scenario.database.run(
                "CREATE TABLE africa PARTITION OF orders FOR VALUES IN ('africa'); INSERT INTO orders VALUES ('g', 'africa', 'one')"
            )
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.ids() == ["a", "b", "c", "g"])
            // Only the new partition.
            #expect(copies() == before + 1)
            try scenario.database.run("UPDATE orders SET name = 'two' WHERE id = 'g'")
            try await scenario.caughtUp()
            #expect(try await scenario.rows()["orders/g"] == Self.row("g", "two"))

            try scenario.database.run("ALTER TABLE orders DETACH PARTITION us")
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.ids() == ["a", "c", "g"])
            try scenario.database.run(
                "UPDATE us SET name = 'apart'; INSERT INTO us (id, region, name) VALUES ('h', 'us', 'apart')"
            )
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "c", "g"])
            try scenario.database.run("ALTER TABLE orders ATTACH PARTITION us FOR VALUES IN ('us')")
            try await scenario.caughtUpWithTables()
            #expect(
                try await Self.names(scenario) == [
                    Self.row("a", "one"), Self.row("b", "apart"), Self.row("c", "one"), Self.row("g", "two"),
                    Self.row("h", "apart"),
                ]
            )
            if !viaRoot { #expect(copies() == before + 2) }
            try scenario.database.run("DROP TABLE africa; DROP TABLE asia")
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.ids() == ["a", "b", "h"])
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test(arguments: [false, true])
    func largeValuesOfPartitionsThatAnUpdateLeavesAsTheyAre(viaRoot: Bool) async throws {
        let scenario = try Self.scenario(viaRoot: viaRoot, query: "SELECT id, name, length(body) AS size FROM orders")
        try scenario.database.run(
            """
            ALTER TABLE orders ALTER body SET STORAGE EXTERNAL; ALTER TABLE us ALTER body SET STORAGE EXTERNAL;
            ALTER TABLE asia_0 ALTER body SET STORAGE EXTERNAL; UPDATE orders SET body = repeat('x', 10000)
            """
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            try scenario.database.run("UPDATE orders SET name = 'two'")
            try await scenario.caughtUp()
            #expect(
                try await Self.names(scenario)
                    == ["a", "b", "c"].map { #"{"id":"\#($0)","name":"two","size":10000}"# }
            )
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func thePublicationBeginsAndEndsToPublishPartitionsAsTheirRoot() async throws {
        let scenario = try Self.scenario(viaRoot: false)
        try await scenario.replicating {
            try await scenario.caughtUp()
            for viaRoot in [true, false] {
                try scenario.database.run(
                    """
                    ALTER PUBLICATION powersync SET (publish_via_partition_root = \(viaRoot));
                    UPDATE orders SET name = 'via \(viaRoot)'; INSERT INTO orders VALUES ('\(viaRoot)', 'eu', 'via \(viaRoot)')
                    """
                )
                try await scenario.caughtUpWithTables()
                #expect(try await scenario.rows().values.allSatisfy { $0.contains("via") })
            }
            #expect(try await scenario.ids() == ["a", "b", "c", "true", "false"])
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func aPartitionThatIsNamedItselfKeepsItsName() async throws {
        let scenario = try PostgresScenario(
            Self.schema,
            config: """
                config: {edition: 3}
                streams: {all: {queries: ['SELECT id, name FROM orders', 'SELECT id, name FROM "orders_%"']}}
                """
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(Set(try await scenario.rows().keys) == ["orders_eu/a", "orders/b", "orders/c"])
            #expect(scenario.log.lines.contains { $0.contains("the sync config reads public.orders_eu, too") })
        }
    }
}
