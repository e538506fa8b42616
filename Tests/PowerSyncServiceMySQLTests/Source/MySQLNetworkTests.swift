import Foundation
import MySQLTestSupport
import PowerSyncMySQLConnection
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// A network that drops packets, and a reader that pauses.
@Suite(.timeLimit(.minutes(15)))
struct MySQLNetworkTests {
    // In `make soak`, packets are dropped for two minutes, with the limits that connections have.
    @Test func aNetworkThatIsCutIsNoticedAndReplicationResumes() async throws {
        let isSlow = ProcessInfo.processInfo.environment["POWERSYNC_SLOW"] != nil
        let proxy = try await MySQLProxy(to: try TestMySQL.shared().port)
        let scenario = try await MySQLScenario(
            proxy: proxy,
            connection: { connection in
                guard !isSlow else { return }
                connection.heartbeat = .milliseconds(100)
                connection.logTimeout = .milliseconds(500)
                connection.statementTimeout = .milliseconds(500)
                connection.connectTimeout = .milliseconds(500)
            }
        )
        try await scenario.replicating {
            try await scenario.database.run("INSERT INTO lists VALUES ('a', 'u', 'before')")
            try await scenario.caughtUp()
            let count = proxy.accepted
            proxy.freeze()
            let start = ContinuousClock.now
            try await scenario.database.run("INSERT INTO lists VALUES ('b', 'u', 'meanwhile')")
            // A connection that is lost is replaced, and the one that replaces it is as silent.
            await proxy.accepted(count + 1)
            #expect(ContinuousClock.now - start < .seconds(40))
            #expect(scenario.log.lines.contains { $0.contains("Nothing has come from the server for") })
            try await scenario.database.run("DO SLEEP(\(isSlow ? 120 : 2))", timeout: .seconds(180))
            try await proxy.thaw()
            try await scenario.database.run("INSERT INTO lists VALUES ('c', 'u', 'after')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "b", "c"])
        }
        try await scenario.expectSameRowsAsAFreshCopy(of: "lists")
        try await proxy.stop()
    }

    // What is not read stays on the server, which keeps the connection.
    @Test(.enabled(if: ProcessMemory.isKnown))
    func aReaderThatPausesTakesLittleMemory() async throws {
        let isSlow = ProcessInfo.processInfo.environment["POWERSYNC_SLOW"] != nil
        let scenario = try await MySQLScenario { $0.binlogQueueMemoryLimit = 4 << 20 }
        let source = scenario.source
        var plan = try plan(scenario.config)
        plan.defaultSchema = scenario.database.name
        let position = try await source.prepareStream("paused", resumingAfter: nil, reached: nil)
        let tables = try await source.tables(for: plan).map {
            SourceTable(id: $0.relationID, descriptor: $0, isSnapshotDone: true, lastSnapshotKey: nil)
        }
        let batch = 1_000
        let batches = isSlow ? 3_000 : 120
        let seen = try await source.withChanges(of: "paused", after: position, tables: tables, plan: plan) { reader in
            _ = try await reader.next()
            let before = try ProcessMemory().own
            // Rows of half a kilobyte: sixty megabytes, or 1.5 GB.
            for number in 0..<batches {
                let values = (0..<batch).map { "('\(number * batch + $0)', NULL, REPEAT('x', 500))" }
                try await scenario.database.run("INSERT INTO lists VALUES \(values.joined(separator: ", "))")
            }
            #expect(try ProcessMemory().own - before < 36 << 20)
            let head = try await source.head()
            try await source.emitMarker()
            var rows = 0
            while true {
                for message in try await reader.next() {
                    switch message {
                    case .changes(let changes, _): rows += changes.count
                    case .commit(let lsn) where lsn >= head.lsn: return rows
                    default: break
                    }
                }
            }
        }
        #expect(seen == batch * batches)
        try await source.dropStream("paused")
        try source.close()
    }
}
