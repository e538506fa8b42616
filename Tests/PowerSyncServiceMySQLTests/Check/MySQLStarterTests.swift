import MySQLTestSupport
import PowerSyncMySQLConnection
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// What a project over a server begins with, over a server.
@Suite(.timeLimit(.minutes(2))) struct MySQLStarterTests {
    @Test func theAccountOfAProjectMayDoAllThatItNeeds() async throws {
        let server = try await TestMySQLServer()
        let starter = try #require(MySQLSourceModule.serverStarter(password: "Ps1-of_its-own"))
        let administrator = try await server.address.open()
        defer { administrator.close() }
        for statement in starter.setUp.split(separator: ";\n").filter({ $0.contains { !$0.isWhitespace } }) {
            try await administrator.execute(String(statement))
        }
        let address = "mysql://powersync:Ps1-of_its-own@127.0.0.1:\(server.port)/powersync_app?sslmode=disable"
        #expect(starter.steps.contains { $0.contains(address.replacing(":\(server.port)", with: "")) })
        var settings = MySQLSettings(uri: address)
        _ = settings.readParameters()
        let connection = try await MySQLConnection.open(try settings.connection(), logger: TestMySQL.logger)
        defer { connection.close() }
        var plan = try MySQLFixture.plan(["lists", "todos"])
        plan.defaultSchema = "powersync_app"
        let findings = try await MySQLCheck.findings(settings, on: connection, plan: plan)
        #expect(findings.filter { $0.severity == .error } == [])
        #expect(
            try await MySQLCatalogue.read(for: plan, settings, connection).tables.map(\.hasIncarnation) == [true, true]
        )
    }
}
