import GRDB
import PostgresTestSupport
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// A table that has something wrong is left out, the others go on, and it is taken in again by itself (docs/postgres.md "Tables
/// that are left out").
@Suite(.timeLimit(.minutes(3))) struct PostgresFaultyTableTests {
    static let config = """
        config: {edition: 3}
        streams:
          all:
            queries:
              - SELECT * FROM a
              - SELECT * FROM b
        """

    let database: TestDatabase
    let role: String

    init() throws {
        database = try TestDatabase(
            """
            CREATE TABLE a (id text PRIMARY KEY); INSERT INTO a VALUES ('a1');
            CREATE TABLE b (id text PRIMARY KEY, name text); INSERT INTO b VALUES ('b1', 'old');
            CREATE TABLE spare (id text PRIMARY KEY)
            """
        )
        role = "role_\(database.name)"
        try database.run(
            """
            CREATE ROLE \(role) LOGIN REPLICATION BYPASSRLS; GRANT USAGE ON SCHEMA public TO \(role);
            GRANT SELECT ON a, b, spare TO \(role)
            """
        )
    }

    func ended() {
        _ = try? database.run("DROP OWNED BY \(role)")
        _ = try? database.run("DROP ROLE \(role)")
    }

    /// What replicates the database as the role.
    func scenario(config: String = Self.config, log: CollectedLog = CollectedLog()) throws -> PostgresScenario {
        var keywords = try #require(database.connectionString.keywords)
        keywords.append((name: "user", value: role))
        var settings = PostgresSource.Settings(connection: PostgresConnectionString(keywords: keywords))
        settings.heartbeatInterval = .milliseconds(50)
        let source = PostgresSource(settings, logger: log.logger)
        return try PostgresScenario(
            config: config,
            database: database,
            catalogueInterval: .milliseconds(50),
            source: source,
            log: log
        )
    }

    /// Does it, and returns what mends it.
    private func make(_ fault: TableFault) throws -> @Sendable () throws -> Void {
        if !fault.sql.isEmpty { try database.run(fault.sql(fault.sql, role)) }
        guard let statements = fault.session else {
            return { [database, role] in try database.run(fault.sql(fault.mending, role)) }
        }
        let session = try database.connect()
        try session.run("SET application_name TO 'migration'")
        try session.run(statements)
        return { try session.run(fault.mending) }
    }

    /// Waits until a line of the log names the fault.
    func named(_ fault: TableFault, in log: CollectedLog) async throws {
        let words = fault.words.map { fault.sql($0, role) }
        while true {
            let lines = log.lines
            if lines.contains(where: { line in line.hasPrefix("warning ") && words.allSatisfy(line.contains) }) {
                return
            }
            _ = try await log.line(containing: "", number: lines.count + 1)
        }
    }

    @Test(arguments: TableFault.all.filter { $0.session == nil })
    func atTheStart(_ fault: TableFault) async throws {
        defer { ended() }
        let scenario = try scenario()
        let mend = try make(fault)
        try await scenario.replicating { [database] in
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a1"])
            try await named(fault, in: scenario.log)
            try database.run("INSERT INTO a VALUES ('a2')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a1", "a2"])
            try mend()
            try await scenario.caughtUpWithTables()
            try database.run("UPDATE b SET name = 'new'")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a1", "a2", "b1"])
        }
        try await scenario.expectSameRowsAsAFreshCopy()
        try scenario.source.close()
    }

    @Test(arguments: TableFault.all.filter { $0.session == nil })
    func whileItRunsWhenTheTableIsToBeCopiedAgain(_ fault: TableFault) async throws {
        defer { ended() }
        let scenario = try scenario()
        try await scenario.replicating { [database, role] in
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a1", "b1"])
            try database.run("ALTER TABLE b ADD COLUMN w int; \(fault.sql(fault.sql, role))")
            try await named(fault, in: scenario.log)
            try database.run("INSERT INTO a VALUES ('a2')")
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.ids() == ["a1", "a2"])
            try database.run(fault.sql(fault.mending, role))
            try await scenario.caughtUpWithTables()
            try database.run("UPDATE b SET name = 'new', w = 1; INSERT INTO b VALUES ('b2', 'two', 2)")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a1", "a2", "b1", "b2"])
        }
        try await scenario.expectSameRowsAsAFreshCopy()
        try scenario.source.close()
    }

    @Test func aLockOnATableThatIsToBeCopiedAgainClientsKeepItsRowsTheOthersGoOn() async throws {
        defer { ended() }
        // Without it, nobody sees since when other roles do something.
        try database.run("GRANT pg_read_all_stats TO \(role)")
        let scenario = try scenario()
        try await scenario.replicating { [database] in
            try await scenario.caughtUp()
            // The second session waits for the first one, and has the table when that ends.
            let (first, second) = (try database.connect(), try database.connect())
            try first.run("BEGIN; ALTER TABLE b ADD COLUMN w int")
            try second.run("SET application_name TO 'migration'")
            async let locked: Void = Task.detached {
                try second.run("BEGIN; LOCK TABLE b IN ACCESS EXCLUSIVE MODE; UPDATE b SET name = 'new', w = 1")
            }.value
            try database.waitUntil("EXISTS (SELECT FROM pg_locks WHERE relation = 'b'::regclass AND NOT granted)")
            try first.run("COMMIT")
            _ = try await locked
            let line = try await scenario.log.line(containing: "left out", "public.b is locked by process")
            #expect(line.contains("application migration") && line.contains("open for"), "\(line)")
            try database.run("INSERT INTO a VALUES ('a2')")
            try await scenario.caughtUp()
            #expect(try await scenario.rows()["b/b1"] == #"{"id":"b1","name":"old"}"#)
            #expect(try await scenario.ids() == ["a1", "a2", "b1"])
            let plan = try plan(scenario.config)
            try second.run("SELECT pg_sleep(5)")
            let findings = try await scenario.source.findings(for: plan)
            #expect(findings.contains { $0.message.contains("public.b is locked by process") }, "\(findings)")
            try second.run("COMMIT")
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.rows()["b/b1"] == #"{"id":"b1","name":"new","w":1}"#)
        }
        try await scenario.expectSameRowsAsAFreshCopy()
        try scenario.source.close()
    }

    @Test func lockAtTheStart() async throws {
        defer { ended() }
        var scenario = try scenario()
        try await scenario.replicate()
        scenario = try scenario.reopened()
        try database.run("ALTER TABLE b ADD COLUMN w int; UPDATE b SET w = 1")
        let session = try database.connect()
        try session.run("SET application_name TO 'migration'; BEGIN; LOCK TABLE b IN ACCESS EXCLUSIVE MODE")
        try await scenario.replicating { [scenario, database] in
            _ = try await scenario.log.line(containing: "left out", "public.b is locked by", "application migration")
            try database.run("INSERT INTO a VALUES ('a2')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a1", "a2", "b1"])
            try session.run("COMMIT")
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.rows()["b/b1"] == #"{"id":"b1","name":"old","w":1}"#)
        }
        try await scenario.expectSameRowsAsAFreshCopy()
        try scenario.source.close()
    }

    @Test func lockBeforeTheSlot() async throws {
        defer { ended() }
        let scenario = try scenario()
        let session = try database.connect()
        try session.run("SET application_name TO 'migration'; BEGIN; LOCK TABLE b IN ACCESS EXCLUSIVE MODE")
        try await scenario.replicating {
            let line = try await scenario.log.line(containing: "cannot be made before a transaction ends")
            #expect(line.contains("application migration") && line.contains("pg_read_all_stats"), "\(line)")
            try session.run("COMMIT")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a1", "b1"])
        }
        try scenario.source.close()
    }

    @Test func changesOfATableThatIsLeftOutAreNotLostWhenItBecomesWhatItWasWhileTheServiceIsStopped() async throws {
        defer { ended() }
        let scenario = try scenario()
        let (first, second, third) = (try database.connect(), try database.connect(), try database.connect())
        try await scenario.replicating { [database] in
            try await scenario.caughtUp()
            // From one session to the next, the table is never free.
            func hand(_ statement: String, to next: Session, from last: Session) async throws {
                async let locked: Void = Task.detached {
                    try next.run("BEGIN; LOCK TABLE b IN ACCESS EXCLUSIVE MODE; \(statement)")
                }.value
                try database.waitUntil("EXISTS (SELECT FROM pg_locks WHERE relation = 'b'::regclass AND NOT granted)")
                try last.run("COMMIT")
                _ = try await locked
            }
            try first.run("BEGIN; ALTER TABLE b ADD COLUMN w int")
            try await hand("INSERT INTO b VALUES ('b2', 'two', 2)", to: second, from: first)
            _ = try await scenario.log.line(containing: "left out", "public.b is locked by process")
            try await hand("SELECT 1", to: third, from: second)
            try database.run("INSERT INTO a VALUES ('a2')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a1", "a2", "b1"])
        }
        let restarted = try scenario.reopened()
        try third.run("ALTER TABLE b DROP COLUMN w; COMMIT")
        try await restarted.replicate()
        #expect(try await restarted.ids() == ["a1", "a2", "b1", "b2"])
        try await restarted.expectSameRowsAsAFreshCopy()
        try restarted.source.close()
    }

    @Test func aNewSyncConfigWaitsForATableThatIsLockedWhileClientsAreServedFromTheOldOne() async throws {
        defer { ended() }
        let scenario = try scenario()
        let deployer = SyncConfigDeployer(storage: scenario.storage, logger: scenario.log.logger)
        let (signal, logger) = (deployer.streamsChanged, scenario.log.logger)
        let (storage, source) = (scenario.storage, scenario.source)
        let replicator = Replicator(storage: storage, source: source, streamsChanged: signal, logger: logger)
        let session = try database.connect()
        try await deployer.deploy(scenario.config)
        try await replicator.whileRunning { [database] in
            try await scenario.caughtUp()
            try session.run("BEGIN; LOCK TABLE b IN ACCESS EXCLUSIVE MODE")
            let deployment = try await deployer.deploy(Self.config + "\n      - SELECT * FROM spare")
            // Who has a table locked holds up the slot, too.
            _ = try await scenario.log.line(containing: "cannot be made before a transaction ends", "database ")
            try database.run("INSERT INTO a VALUES ('a2')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a1", "a2", "b1"])
            try session.run("COMMIT")
            _ = try await scenario.log.line(containing: "is active", "replication_stream=\(deployment.stream.id)")
            #expect(try await scenario.ids() == ["a1", "a2", "b1"])
        }
        try scenario.source.close()
    }

    @Test(arguments: TableFault.all.filter { ["a lock", "no grant"].contains($0.testDescription) })
    func whileTheTableIsCopied(_ fault: TableFault) async throws {
        defer { ended() }
        let session = try database.connect()
        try session.run("SET application_name TO 'migration'")
        try await inTheMiddleOfACopy(
            { [role] in try session.run(fault.session ?? fault.sql(fault.sql, role)) },
            waitsForTheCopy: fault.session != nil
        ) { [database, role] scenario in
            try await named(fault, in: scenario.log)
            try database.run("INSERT INTO a VALUES ('a2')")
            try await scenario.caughtUp()
            // Never a part of it.
            #expect(try await scenario.ids() == ["a1", "a2"])
            try session.run(fault.sql(fault.mending, role))
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.ids().count == 25003)
        }
    }

    /// Replicates a table of 25,001 rows, and does something when the copy has 10,000 of them.
    ///
    /// - Parameters:
    ///   - config: A sync config that reads `a` and `b`.
    ///   - change: What is done.
    ///   - waits: Whether that needs a lock: it has the table when the copy has come to the end of its transaction.
    ///   - body: What is to follow.
    /// - Throws: What `change` or `body` throws, or an error of the databases.
    func inTheMiddleOfACopy(
        config: String = Self.config,
        _ change: @escaping @Sendable () throws -> Void,
        waitsForTheCopy waits: Bool,
        then body: @escaping @Sendable (PostgresScenario) async throws -> Void
    ) async throws {
        try database.run("INSERT INTO b SELECT 'c' || n, 'c' || n FROM generate_series(1, 25000) n")
        var scenario = try scenario(config: config)
        let held = HeldSource(scenario.source)
        scenario.front = held
        held.hold("b", afterRows: 10_000)
        let seen = held.waitCount
        try await scenario.replicating { [scenario, database] in
            try await held.copyWaits(after: seen)
            async let changed: Void = Task.detached { try change() }.value
            if waits {
                try database.waitUntil("EXISTS (SELECT FROM pg_locks WHERE relation = 'b'::regclass AND NOT granted)")
            } else {
                try await changed
            }
            held.release()
            try await changed
            try await body(scenario)
        }
        try await scenario.expectSameRowsAsAFreshCopy()
        try scenario.source.close()
    }

    @Test func aTableThatAMigrationMakesWithoutAGrant() async throws {
        defer { ended() }
        let config = """
            config: {edition: 3}
            streams:
              all: {auto_subscribe: true, queries: [SELECT * FROM a, SELECT * FROM c]}
            """
        let scenario = try scenario(config: config)
        try await scenario.replicating { [database, role] in
            try await scenario.caughtUp()
            try database.run("CREATE TABLE c (id text PRIMARY KEY); INSERT INTO c VALUES ('c1')")
            try database.run("INSERT INTO a VALUES ('a2')")
            _ = try await scenario.log.line(
                containing: "left out",
                "Role \(role) may not read public.c. GRANT SELECT ON public.c TO \(role);"
            )
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a1", "a2"])
            try await scenario.caughtUpWithTables()
            #expect(scenario.log.lines.count { $0.contains("left out until") } == 1)
            #expect(scenario.log.lines.allSatisfy { !$0.hasPrefix("error ") })
            try database.run("GRANT SELECT ON c TO \(role)")
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.ids() == ["a1", "a2", "c1"])
        }
        try await scenario.expectSameRowsAsAFreshCopy()
        try scenario.source.close()
    }

    @Test func aGrantThatIsTakenAwayFromATableThatWasCopiedItsChangesAreInTheLogUntilARowIsToBeRead() async throws {
        defer { ended() }
        let scenario = try scenario()
        try database.run("ALTER TABLE b ALTER name SET STORAGE EXTERNAL; ALTER TABLE b ADD note text")
        try database.run("UPDATE b SET name = repeat('x', 5000)")
        try await scenario.replicating { [database, role] in
            try await scenario.caughtUp()
            try database.run("REVOKE SELECT ON b FROM \(role); INSERT INTO b VALUES ('b2', 'small')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a1", "b1", "b2"])
            // The large value is not in the log.
            try database.run("UPDATE b SET note = 'x' WHERE id = 'b1'; INSERT INTO a VALUES ('a2')")
            _ = try await scenario.log.line(containing: "left out", "GRANT SELECT ON public.b TO \(role);")
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.ids() == ["a1", "a2"])
            try database.run("GRANT SELECT ON b TO \(role)")
            try await scenario.caughtUpWithTables()
            #expect(try await scenario.ids() == ["a1", "a2", "b1", "b2"])
        }
        try await scenario.expectSameRowsAsAFreshCopy()
        try scenario.source.close()
    }
}
