import PostgresTestSupport
import ServiceTestSupport
import Testing

@testable import PowerSyncServicePostgres

extension PostgresFaultyTableTests {
    /// When a fault comes about.
    enum Moment: CaseIterable { case start, running, copying }

    @Test(
        arguments: TableFault.warnings,
        Moment.allCases
    )
    func whatDoesNotKeepATableOutIsSaidWheneverItComesAbout(_ fault: TableFault, _ moment: Moment) async throws {
        defer { ended() }
        try database.run(
            "ALTER TABLE b ADD CONSTRAINT names UNIQUE (name); ALTER TABLE b ALTER name SET NOT NULL"
        )
        let config = """
            config: {edition: 3}
            streams:
              all:
                auto_subscribe: true
                queries: [SELECT * FROM a, "SELECT id, name FROM b"]
            """
        // A table that was rewritten is looked at, and copied again.
        let rewriting = "ALTER TABLE b ALTER id TYPE text USING id || ''"
        let change = "\(rewriting); \(fault.sql(fault.sql, role))"
        let goesOn: @Sendable (PostgresScenario) async throws -> Void = { [database, role] scenario in
            try await named(fault, in: scenario.log)
            try database.run("INSERT INTO a VALUES ('a2')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids().isSuperset(of: ["a1", "a2"]))
            // Without it the table is as others are.
            try database.run("\(fault.sql(fault.mending, role)); \(rewriting)")
            try await scenario.caughtUpWithTables()
            try database.run("INSERT INTO b (id, name) VALUES ('b2', 'two')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids().isSuperset(of: ["a1", "a2", "b1", "b2"]))
        }

        if moment == .copying {
            let session = try database.connect()
            return try await inTheMiddleOfACopy(
                config: config,
                { try session.run(change) },
                waitsForTheCopy: true,
                then: goesOn
            )
        }
        if moment == .start { try database.run(fault.sql(fault.sql, role)) }
        let scenario = try scenario(config: config)
        try await scenario.replicating { [database] in
            if moment == .running {
                try await scenario.caughtUp()
                try database.run(change)
            }
            try await goesOn(scenario)
        }
        try await scenario.expectSameRowsAsAFreshCopy()
        try scenario.source.close()
    }
}
