import MySQLTestSupport
import PowerSyncMySQLConnection
import PowerSyncServiceCore
import Testing

@testable import PowerSyncServiceMySQL

/// How long a server is left alone that refuses what only an operator can change.
@Suite(.timeLimit(.minutes(1))) struct SourcePauseTests {
    private func refusal(_ settings: MySQLConnectionSettings) async throws -> ReplicationSourceError? {
        let database = try await TestMySQLDatabase()
        let source = MySQLSource(MySQLSettings(uri: database.uri), connecting: settings, logger: TestMySQL.logger)
        defer { try? source.close() }
        return await #expect(throws: ReplicationSourceError.self) { _ = try await source.head() }
    }

    @Test func aMissingPrivilegeIsAMinuteAndAWrongPasswordAQuarterOfAnHour() async throws {
        let account = try await TestAccount(password: "p")
        let poor = try await refusal(account.settings())
        #expect(poor?.pause == .seconds(60), "\(poor.map { "\($0)" } ?? "")")
        #expect(poor?.message.contains("privilege") == true, "\(poor.map { "\($0)" } ?? "")")
        var settings = account.settings()
        settings.password = "another"
        let wrong = try await refusal(settings)
        #expect(wrong?.pause == .seconds(900), "\(wrong.map { "\($0)" } ?? "")")
        // A server that is away is asked every few seconds.
        settings.port = 1
        #expect(try await refusal(settings)?.pause == nil)
    }
}
