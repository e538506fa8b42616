import PostgresTestSupport
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// Who keeps a slot from being made or used, and what a slot is told (docs/postgres.md "When things go wrong").
@Suite(.timeLimit(.minutes(2))) struct PostgresSlotTests {
    private static let table = "CREATE TABLE lists (id text PRIMARY KEY, owner text, name text)"

    @Test func anOpenTransactionAlsoOfAnotherDatabaseIsNamedWhileItHoldsUpTheMakingOfASlot() async throws {
        let scenario = try PostgresScenario()
        let other = try TestDatabase("CREATE TABLE t (id int)")
        let session = try other.connect()
        try session.run("SET application_name TO 'report'; BEGIN; INSERT INTO t VALUES (1)")
        try await scenario.replicating {
            let line = try await scenario.log.line(containing: "cannot be made before a transaction ends")
            for word in [
                "process ", "database \(other.name)", "application report", "open for ", "pg_terminate_backend(",
            ] {
                #expect(line.contains(word), "\(line)")
            }
            let findings = try await scenario.source.findings(for: plan(scenario.config))
            #expect(
                findings.contains { $0.place.table == nil && $0.message.contains("application report") },
                "\(findings)"
            )
            try session.run("COMMIT")
            try await scenario.caughtUp()
        }
        try scenario.source.close()
    }

    @Test func aPreparedTransactionIsNamedWithWhatEndsIt() async throws {
        let cluster = try TestCluster()
        try cluster.set("max_prepared_transactions", to: "5")
        try cluster.stop(.fast)
        try cluster.start()
        let database = try TestDatabase(server: cluster.uri, Self.table)
        try database.connect().run("BEGIN; INSERT INTO lists VALUES ('a'); PREPARE TRANSACTION 'it''s open'")
        let scenario = try PostgresScenario(database: database)
        try await scenario.replicating {
            let line = try await scenario.log.line(containing: "cannot be made before a transaction ends")
            #expect(line.contains("the prepared transaction 'it''s open' (database \(database.name)"), "\(line)")
            #expect(line.contains("COMMIT PREPARED 'it''s open'; or ROLLBACK PREPARED 'it''s open';"), "\(line)")
            try database.run("COMMIT PREPARED 'it''s open'")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a"])
        }
        try scenario.source.close()
        try database.disconnect()
    }

    @Test func whatTheServerMakesForAServiceThatWasKilledIsEndedAndMadeAgain() async throws {
        let scenario = try PostgresScenario()
        let database = scenario.database
        let slot = "half_\(database.name)"
        let (open, killed) = (try database.connect(), try database.connect())
        try open.run("BEGIN; INSERT INTO lists VALUES ('a')")
        let making = Task.detached {
            _ = try? killed.run("SELECT lsn FROM pg_create_logical_replication_slot('\(slot)', 'pgoutput')")
        }
        try database.waitUntil("EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '\(slot)')")
        async let prepared = scenario.source.prepareStream(slot, resumingAfter: nil, reached: nil)
        _ = try await scenario.log.line(containing: "for a process of the service that has ended", slot)
        await making.value
        try open.run("COMMIT")
        _ = try await prepared
        try await scenario.source.dropStream(slot)
        try scenario.source.close()
    }

    @Test func aSlotThatSomebodyElseUsesIsExplainedWithWhoThatIs() async throws {
        let scenario = try PostgresScenario()
        let slot = "used_\(scenario.database.name)"
        let position = try await scenario.source.prepareStream(slot, resumingAfter: nil, reached: nil)
        let other = PostgresSource(.init(connection: scenario.database.connectionString), logger: scenario.log.logger)
        let plan = try plan(scenario.config)
        try await other.withChanges(of: slot, after: position, tables: [], plan: plan) { _ in
            let error = await #expect(throws: ReplicationSourceError.self) {
                try await scenario.source.dropStream(slot)
            }
            let message = try #require(error?.message)
            for word in ["application powersync", "connected for ", "pg_terminate_backend(", "a copy of this storage"] {
                #expect(message.contains(word), "\(message)")
            }
        }
        try other.close()
        try scenario.database.waitUntil(
            "NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '\(slot)' AND active)"
        )
        try await scenario.source.dropStream(slot)
        try scenario.source.close()
    }

    @Test(arguments: ["publication \"powersync\" does not exist", "Publikation »powersync« existiert nicht"])
    func aPublicationThatIsYoungerThanTheChanges(_ message: String) async throws {
        let scenario = try PostgresScenario()
        let slot = "made_\(scenario.database.name)"
        let position = try await scenario.source.prepareStream(slot, resumingAfter: nil, reached: nil)
        let error = PostgresError(.server, message, sqlState: "42704", activity: "reading changes")
        let meaning = await scenario.source.explain(error, of: slot, position.history)
        #expect((meaning as? ReplicationSourceError)?.code == .historyLost, "\(meaning)")
        try scenario.database.run("DROP PUBLICATION powersync")
        let missing = await scenario.source.explain(error, of: slot, position.history)
        #expect(missing as? PostgresError == error)
        try await scenario.source.dropStream(slot)
        try scenario.source.close()
    }

    @Test func confirmedAtTheEnd() async throws {
        let scenario = try PostgresScenario()
        let database = scenario.database
        try await scenario.replicate()
        try database.run("INSERT INTO lists VALUES ('a')")
        // The first position is confirmed at once, and the next one only after a while.
        try await scenario.replicating {
            try await scenario.caughtUp()
            try database.run("INSERT INTO lists VALUES ('b')")
            try await scenario.caughtUp()
        }
        let head = try #require(scenario.storage.feed.current.flatMap { WALPosition($0.lsn) })
        try database.waitUntil(
            "NOT EXISTS (SELECT FROM pg_replication_slots WHERE active AND database = current_database())"
        )
        #expect(try confirmed(database) >= head)
        try scenario.source.close()
    }

    @Test func theLastChangeIsConfirmedSoonAfterItWasStoredWhileNothingElseHappens() async throws {
        let scenario = try PostgresScenario()
        let database = scenario.database
        try await scenario.replicating {
            try await scenario.caughtUp()
            try database.run("INSERT INTO lists VALUES ('b')")
            try await scenario.caughtUp()
            let head = try #require(scenario.storage.feed.current).lsn
            let position = try #require(WALPosition(head))
            // Without it, the next word is after ten seconds or the marker after a minute.
            let started = ContinuousClock.now
            try database.waitUntil(
                """
                EXISTS (SELECT FROM pg_replication_slots
                    WHERE database = current_database() AND confirmed_flush_lsn >= '\(position)')
                """
            )
            #expect(ContinuousClock.now - started < .seconds(8))
        }
        try scenario.source.close()
    }

    private func confirmed(_ database: TestDatabase) throws -> WALPosition {
        let rows = try database.run(
            "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE database = current_database()"
        )
        return try #require(rows.first?.first.flatMap { $0.flatMap { WALPosition($0) } })
    }
}
