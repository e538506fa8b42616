import Foundation
import PostgresTestSupport
import TestSupport
import Testing

/// `powersync demo --postgres`: what it shows, and what it leaves behind.
@Suite(.timeLimit(.minutes(5))) struct PostgresDemoTests {
    private static let allHappened = "All six steps happened"

    /// What a demo could touch by mistake: somebody else's schemas, publication and slots.
    private func makeDatabase() throws -> TestDatabase {
        let database = try TestDatabase("CREATE SCHEMA app; CREATE TABLE app.notes (id text PRIMARY KEY)")
        try database.run("SELECT pg_create_logical_replication_slot('powersync_\(database.name)', 'pgoutput')")
        return database
    }

    /// Everything in the database that has a name.
    private func contents(_ database: TestDatabase) throws -> [[String?]] {
        try database.run(
            """
            SELECT 'schema', nspname::text FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%'
            UNION ALL SELECT 'relation', oid::regclass::text FROM pg_class
                WHERE relnamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname LIKE 'pg\\_%')
            UNION ALL SELECT 'publication', pubname::text FROM pg_publication
            UNION ALL SELECT 'slot', slot_name::text FROM pg_replication_slots WHERE database = current_database()
            ORDER BY 1, 2
            """
        )
    }

    private func arguments(_ uri: String) -> [String] {
        ["demo", "--rows", "1000", "--plain", "--postgres", "\(uri)?sslmode=disable"]
    }

    @Test func allStepsHappenTwiceAndNothingIsLeft() async throws {
        let database = try makeDatabase()
        let before = try contents(database)
        for _ in 0..<2 {
            let run = try await CommandRun(arguments(database.uri), in: try TemporaryFolder())
            #expect(run.status == 0, "\(run)")
            #expect(run.text.contains(Self.allHappened))
            #expect(run.text.contains("PostgreSQL \(database.name) at 127.0.0.1:"))
            #expect(run.text.hasSuffix("Everything that the demo has made on the server is gone."))
            #expect(try contents(database) == before)
        }
    }

    @Test(arguments: [(SIGINT, Int32(130)), (SIGTERM, Int32(143))])
    func aSignalEndsItAndNothingIsLeft(_ signal: Int32, _ status: Int32) async throws {
        let database = try makeDatabase()
        let before = try contents(database)
        let demo = try RunningCommand(arguments(database.uri))
        try await demo.wait(for: "3. Client B")
        #expect(try contents(database) != before)
        demo.signal(signal)
        #expect(await demo.waitForExit() == status, "\(demo.said)")
        #expect(try contents(database) == before)
    }

    @Test func aRunAfterAKilledOneTakesAwayWhatThatHasLeft() async throws {
        let database = try makeDatabase()
        let before = try contents(database)
        let killed = try RunningCommand(arguments(database.uri))
        try await killed.wait(for: "4. A bulk load")
        killed.signal(SIGKILL)
        _ = await killed.waitForExit()
        #expect(try contents(database) != before)
        let run = try await CommandRun(arguments(database.uri), in: try TemporaryFolder())
        #expect(run.status == 0, "\(run)")
        #expect(run.text.contains("what a demo left here that was killed is taken away"))
        #expect(run.text.contains(Self.allHappened))
        #expect(try contents(database) == before)
    }

    @Test func whatIsNotOfADemoStays() async throws {
        let database = try TestDatabase("CREATE SCHEMA powersync_demo; CREATE TABLE powersync_demo.mine (id text)")
        let before = try contents(database)
        let run = try await CommandRun(arguments(database.uri), in: try TemporaryFolder())
        #expect(run.status == 1, "\(run)")
        #expect(run.text.contains("the database has a schema powersync_demo that no demo has made"))
        #expect(try contents(database) == before)
    }

    @Test func aServerThatLacksSomethingIsRefusedWithASentence() async throws {
        let cluster = try TestCluster()
        try cluster.set("wal_level", to: "replica")
        try cluster.stop(.fast)
        try cluster.start()
        let database = try TestDatabase(server: cluster.uri)
        try database.run("CREATE ROLE guest LOGIN")
        let before = try contents(database)
        let asGuest = database.uri.replacingOccurrences(of: "postgres@", with: "guest@")
        for (uri, sentence) in [
            (database.uri, "wal_level is replica: changes of rows are not in the log."),
            (asGuest, "Role guest may not replicate."),
        ] {
            let run = try await CommandRun(arguments(uri), in: try TemporaryFolder())
            #expect(run.status == 1, "\(run)")
            #expect(run.text.contains(sentence), "\(run)")
        }
        try cluster.set("wal_level", to: "logical")
        try database.disconnect()
        try cluster.stop(.fast)
        try cluster.start()
        try database.run("ALTER ROLE guest REPLICATION")
        let run = try await CommandRun(arguments(asGuest), in: try TemporaryFolder())
        #expect(run.status == 1, "\(run)")
        #expect(run.text.contains(#"GRANT CREATE ON DATABASE "\#(database.name)" TO "guest";"#), "\(run)")
        #expect(try contents(database) == before)
    }

    @Test func aServerThatIsNotThereIsNamedWithoutThePassword() async throws {
        let run = try await CommandRun(
            arguments("postgresql://me:hunter2@127.0.0.1:1/app"),
            in: try TemporaryFolder()
        )
        #expect(run.status == 1, "\(run)")
        #expect(run.text.contains("there is no connection to PostgreSQL app at 127.0.0.1:1 as me"))
        #expect(run.text.contains("Check hostname and port"))
        #expect(!(run.text + run.errors).contains("hunter2"))
    }
}
