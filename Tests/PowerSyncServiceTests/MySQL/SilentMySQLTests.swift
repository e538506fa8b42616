import Hummingbird
import MySQLTestSupport
import PowerSyncMySQLConnection
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// A MySQL server that says nothing any more: what operators are told, and that nothing waits for it.
@Suite(.timeLimit(.minutes(2))) struct SilentMySQLTests {
    @Test func lagAndReadinessTellOfItAndStoppingDoesNotWaitForIt() async throws {
        let proxy = try await MySQLProxy(to: try TestMySQL.shared().port)
        let scenario = try await MySQLScenario(
            proxy: proxy,
            connection: { connection in
                // Statements have their minute.
                connection.heartbeat = .milliseconds(100)
                connection.logTimeout = .milliseconds(500)
                connection.connectTimeout = .milliseconds(500)
            }
        )
        let probes = Probes(Timing())
        probes.didStart()
        let signs = SignsOfLife(probes: probes, replicates: true, logger: scenario.log.logger)
        let (statistics, reports) = (ReplicationStatistics(), ChangeSignal())
        var plan = try plan(scenario.config)
        plan.defaultSchema = scenario.database.name
        _ = try await scenario.storage.deploy(scenario.config, plan: plan)
        let replicator = Replicator(
            storage: scenario.storage,
            source: scenario.source,
            streamsChanged: ChangeSignal(),
            statistics: statistics,
            logger: scenario.log.logger,
            report: { report, stream in
                signs.report(report, of: stream)
                reports.advance()
            },
            touch: { reports.advance() }
        )
        @Sendable func reported(_ isExpected: () -> Bool) async throws {
            while true {
                let seen = reports.version
                if isExpected() { return }
                try await reports.wait(after: seen)
            }
        }
        let silent = try await replicator.whileRunning {
            try await scenario.database.run("INSERT INTO lists VALUES ('a', 'u', 'x')")
            try await scenario.caughtUp()
            try await reported { statistics.counts.lag != nil }
            #expect(probes.body["source_fails_since"] == nil)

            proxy.freeze()
            try await reported { probes.body["source_fails_since"] != nil }
            // Clients get what there is; how old it is, nobody knows.
            #expect(probes.response(to: .readiness).status == .ok)
            #expect(statistics.counts.lag == nil)
            #expect(signs.failure?.finding.message.contains("Nothing has come from the server for") == true)

            try await proxy.thaw()
            try await scenario.database.run("INSERT INTO lists VALUES ('b', 'u', 'x')")
            try await reported { probes.body["source_fails_since"] == nil }
            try await scenario.caughtUp()

            proxy.freeze()
            return ContinuousClock.now
        }
        #expect(ContinuousClock.now - silent < .seconds(5))
        try await proxy.stop()
    }
}
