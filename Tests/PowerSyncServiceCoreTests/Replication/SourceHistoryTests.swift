import Foundation
import GRDB
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// A source that is no longer the one that was replicated: clients get what it has now
/// (docs/service.md "What a source promises").
@Suite(.timeLimit(.minutes(1))) struct SourceHistoryTests {
    private func insert(_ ids: Range<Int>, into path: String) async throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        let connection = try DatabaseQueue(path: path, configuration: configuration)
        try await connection.write { db in
            for id in ids { try db.execute(sql: "INSERT INTO lists VALUES (?, 'u1', 'n')", arguments: ["r\(id)"]) }
        }
        try connection.close()
    }

    private func ids(_ scenario: SourceScenario) async throws -> Set<String> {
        try await scenario.source.pool.read { db in
            try Set(String.fetchAll(db, sql: "SELECT 'lists/' || id FROM lists"))
        }
    }

    /// Copies the file of a scenario's source, or its storage.
    private func backUp(_ database: DatabasePool, of scenario: SourceScenario) throws -> String {
        let path = scenario.folder.path("backup.db")
        let backup = try DatabaseQueue(path: path)
        try database.backup(to: backup)
        try backup.close()
        return path
    }

    /// Closes a scenario, and puts a file in the place of one of its own.
    private func close(_ scenario: SourceScenario, replacing name: String, by path: String) throws {
        try scenario.source.close()
        try scenario.storage.close()
        let file = scenario.folder.path(name)
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + suffix) }
        try FileManager.default.copyItem(atPath: path, toPath: file)
    }

    /// A source of 50 rows that was restored from a backup after 30 more were replicated, and got new rows since.
    private func restored(newRows: Int) async throws -> SourceScenario {
        let scenario = try SourceScenario()
        let source = scenario.folder.path("source.db")
        try await insert(0..<50, into: source)
        try await scenario.replicate()
        let backup = try backUp(scenario.source.pool, of: scenario)
        try await insert(50..<80, into: source)
        try await scenario.replicate()
        try close(scenario, replacing: "source.db", by: backup)
        try await insert(100..<100 + newRows, into: source)
        return try SourceScenario(schema: [], folder: scenario.folder)
    }

    @Test(arguments: [0, 10, 30, 60])
    func restoredBackupIsCopiedAgain(newRows: Int) async throws {
        let scenario = try await restored(newRows: newRows)
        let lost = scenario.storage.feed.current?.streamID
        _ = try await scenario.replicating { try await scenario.published { $0.streamID != lost } }
        #expect(try await Set(scenario.rows().keys) == ids(scenario))
        #expect(try await ids(scenario).count == 50 + newRows)
    }

    @Test(arguments: [0, 10, 30, 60])
    func writeCheckpointIsNotDatedByTheLostHistory(newRows: Int) async throws {
        let scenario = try await restored(newRows: newRows)
        let served = try #require(scenario.storage.feed.current)
        try await insert(200..<201, into: scenario.folder.path("source.db"))
        let number = try await WriteCheckpointIssuer(storage: scenario.storage, source: scenario.source)
            .create(userKey: "u")
        #expect(try await scenario.storage.visibleWriteCheckpoint(userKey: "u", at: served) == nil)

        let next = try await scenario.replicating { try await scenario.published { $0.streamID != served.streamID } }
        #expect(try await scenario.storage.visibleWriteCheckpoint(userKey: "u", at: next) == number)
        #expect(try await scenario.rows().keys.contains("lists/r200"))
    }

    @Test func writeCheckpointKeepsTheHistory() async throws {
        var scenario = try SourceScenario()
        try await insert(0..<50, into: scenario.folder.path("source.db"))
        try await scenario.replicate()
        let history = try await scenario.source.head().history
        scenario = try scenario.reopened()
        _ = try await WriteCheckpointIssuer(storage: scenario.storage, source: scenario.source).create(userKey: "u")
        #expect(try await scenario.source.head().history == history)
    }

    @Test(arguments: [1, 30, 300])
    func olderStorageIsBroughtUpToDate(newRows: Int) async throws {
        var scenario = try SourceScenario()
        let source = scenario.folder.path("source.db")
        try await insert(0..<50, into: source)
        try await scenario.replicate()
        let backup = try backUp(scenario.storage.pool, of: scenario)
        try await insert(50..<50 + newRows, into: source)
        let connection = try scenario.foreignConnection()
        try await connection.write { db in try db.execute(sql: "DELETE FROM lists WHERE id IN ('r1', 'r50')") }
        try connection.close()
        // The source need not keep the changes any longer.
        try await scenario.replicate()
        try close(scenario, replacing: "buckets.db", by: backup)
        scenario = try SourceScenario(schema: [], folder: scenario.folder)
        try await scenario.replicate()
        #expect(try await Set(scenario.rows().keys) == ids(scenario))
        #expect(try await ids(scenario).count == 48 + newRows)
    }

    @Test(arguments: [0, 20, 200])
    func rollbackWhileRunningIsNoticed(newRows: Int) async throws {
        let scenario = try SourceScenario()
        let source = scenario.folder.path("source.db")
        try await insert(0..<50, into: source)
        try await scenario.replicating {
            try await scenario.caughtUp()
            let backup = try backUp(scenario.source.pool, of: scenario)
            try await insert(50..<80, into: source)
            try await scenario.caughtUp()

            let lost = scenario.storage.feed.current?.streamID
            let destination = try scenario.foreignConnection()
            let origin = try DatabaseQueue(path: backup)
            try origin.backup(to: destination)
            try destination.close()
            try await insert(100..<100 + newRows, into: source)
            scenario.source.signal.advance()
            try await scenario.published { $0.streamID != lost }
            try await scenario.caughtUp()
        }
        #expect(try await Set(scenario.rows().keys) == ids(scenario))
        #expect(try await ids(scenario).count == 50 + newRows)
    }

    @Test(arguments: [
        // The source is restored to before, and to after, what was replicated of it.
        false, true,
    ])
    func writeCheckpointsSurviveALostHistory(isBackupReplicated: Bool) async throws {
        var scenario = try SourceScenario()
        let source = scenario.folder.path("source.db")
        try await insert(0..<5, into: source)
        try await scenario.replicate()
        let backup = try backUp(scenario.source.pool, of: scenario)
        try await insert(5..<30, into: source)
        if !isBackupReplicated { try await scenario.replicate() }
        try await insert(30..<50, into: source)
        // Not replicated before the source is lost: its position is far beyond all that follow.
        let issuer = WriteCheckpointIssuer(storage: scenario.storage, source: scenario.source)
        let before = try await issuer.create(userKey: "u")
        let seen = try #require(scenario.storage.feed.current)
        #expect(try await scenario.storage.visibleWriteCheckpoint(userKey: "u", at: seen) == nil)

        try close(scenario, replacing: "source.db", by: backup)
        scenario = try SourceScenario(schema: [], folder: scenario.folder)
        let running = scenario
        let next = try await running.replicating { try await running.published { $0.streamID != seen.streamID } }
        #expect(try await scenario.storage.visibleWriteCheckpoint(userKey: "u", at: next) == before)
        #expect(try await Set(scenario.rows().keys) == ids(scenario))
    }
}
