import Foundation
import MySQLTestSupport
import TestSupport
import Testing

/// `powersync demo --source` on a MySQL or MariaDB server: what it shows, and what it leaves behind.
@Suite(.timeLimit(.minutes(5))) struct MySQLDemoTests {
    private static let isSlow = ProcessInfo.processInfo.environment["POWERSYNC_SLOW"] != nil

    /// What a demo could touch by mistake is in the database whose address it gets.
    private func makeDatabase() async throws -> TestMySQLDatabase {
        try await TestMySQLDatabase("CREATE TABLE notes (id VARCHAR(10) PRIMARY KEY)", "INSERT INTO notes VALUES ('n')")
    }

    /// All tables of the demo's schema and of a database, with their schemas.
    private func contents(_ database: TestMySQLDatabase) async throws -> [[String?]] {
        try await database.run(
            """
            SELECT SCHEMA_NAME, TABLE_NAME FROM information_schema.SCHEMATA
            LEFT JOIN information_schema.TABLES ON TABLE_SCHEMA = SCHEMA_NAME
            WHERE SCHEMA_NAME IN ('powersync_demo', '\(database.name)') ORDER BY 1, 2
            """
        )
    }

    private func arguments(_ uri: String) -> [String] {
        ["demo", "--rows", "1000", "--plain", "--source", "\(uri)?sslmode=disable"]
    }

    private func expectAllSteps(_ database: TestMySQLDatabase, _ before: [[String?]]) async throws -> CommandRun {
        let run = try await CommandRun(arguments(database.uri), in: try TemporaryFolder())
        #expect(run.status == 0, "\(run)")
        #expect(run.text.contains("All six steps happened"))
        #expect(run.text.contains("MySQL \(database.name) at 127.0.0.1:"))
        #expect(run.text.hasSuffix("Everything that the demo has made on the server is gone."))
        #expect(try await contents(database) == before)
        return run
    }

    @Test func allStepsHappenAndNothingIsLeft() async throws {
        let database = try await makeDatabase()
        let before = try await contents(database)
        #expect(before == [[database.name, "notes"]])
        for _ in 0..<(Self.isSlow ? 2 : 1) { _ = try await expectAllSteps(database, before) }
    }

    @Test(arguments: isSlow ? [(SIGINT, Int32(130)), (SIGTERM, Int32(143))] : [(SIGINT, Int32(130))])
    func aSignalEndsItAndNothingIsLeft(_ signal: Int32, _ status: Int32) async throws {
        let database = try await makeDatabase()
        let before = try await contents(database)
        let demo = try RunningCommand(arguments(database.uri))
        try await demo.wait(for: "2. ")
        #expect(try await contents(database) != before)
        demo.signal(signal)
        #expect(await demo.waitForExit() == status, "\(demo.said)")
        #expect(try await contents(database) == before)
    }

    @Test(.enabled(if: isSlow)) func aRunAfterAKilledOneTakesAwayWhatThatHasLeft() async throws {
        let database = try await makeDatabase()
        let before = try await contents(database)
        let killed = try RunningCommand(arguments(database.uri))
        try await killed.wait(for: "4. A bulk load")
        killed.signal(SIGKILL)
        _ = await killed.waitForExit()
        #expect(try await contents(database) != before)
        let run = try await expectAllSteps(database, before)
        #expect(run.text.contains("what a demo left here that was killed is taken away"))
    }

    @Test func whatIsNotOfADemoStays() async throws {
        let database = try await makeDatabase()
        try await database.run("CREATE DATABASE powersync_demo")
        try await database.run("CREATE TABLE powersync_demo.mine (id INT)")
        let before = try await contents(database)
        let run = try await CommandRun(arguments(database.uri), in: try TemporaryFolder())
        #expect(run.status == 1, "\(run)")
        #expect(run.text.contains("the server has a schema powersync_demo that no demo has made; use another server"))
        #expect(try await contents(database) == before)
        try await database.run("DROP DATABASE powersync_demo")
    }

    @Test func anAccountThatLacksSomethingIsRefusedWithTheGrant() async throws {
        let database = try await makeDatabase()
        let before = try await contents(database)
        let account = try await TestAccount(password: "p")
        let uri = "mysql://\(account.name):p@127.0.0.1:\(database.server.port)/\(database.name)"
        try await database.run("GRANT SELECT ON \(database.name).* TO '\(account.name)'@'%'")
        let poor = try await CommandRun(arguments(uri), in: try TemporaryFolder())
        #expect(poor.status == 1, "\(poor)")
        #expect(poor.text.contains("GRANT REPLICATION SLAVE ON *.* TO '\(account.name)'@'%';"), "\(poor)")
        try await account.grantReplication(of: database)
        let run = try await CommandRun(arguments(uri), in: try TemporaryFolder())
        #expect(run.status == 1, "\(run)")
        #expect(run.text.contains("GRANT ALL ON powersync_demo.* TO '\(account.name)'@'%';"), "\(run)")
        #expect(try await contents(database) == before)
    }

    @Test func aServerThatIsNotThereIsNamedWithoutThePassword() async throws {
        let run = try await CommandRun(arguments("mariadb://me:hunter2@127.0.0.1:1/app"), in: try TemporaryFolder())
        #expect(run.status == 1, "\(run)")
        #expect(run.text.contains("there is no connection to MySQL app at 127.0.0.1:1 as me"))
        #expect(run.text.contains("Check hostname and port"))
        #expect(!(run.text + run.errors).contains("hunter2"))
    }
}
