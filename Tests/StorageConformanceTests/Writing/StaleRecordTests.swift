import GRDB
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// What compaction deletes beside operations (docs/service.md "Compaction").
@Suite(.timeLimit(.minutes(1))) struct StaleRecordTests {
    private static let config = """
        config:
          edition: 3
        streams:
          d:
            query: SELECT * FROM docs WHERE grp IN (SELECT grp FROM m WHERE uid = auth.user_id())
        """

    @Test(arguments: TestedStorage.durable)
    func parameterEntriesAreCompacted(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let m = try await scenario.table("m")
        try await scenario.save(.insert(["id": "m1", "uid": "u1", "grp": "g1"]), of: m)
        try await scenario.save(.insert(["id": "m2", "uid": "u1", "grp": "g2"]), of: m)
        for group in 0..<5 {
            try await scenario.save(.update(["id": "m1", "uid": "u1", "grp": .integer(Int64(group))]), of: m)
        }
        try await scenario.save(.update(["id": "m2", "uid": "u2", "grp": "g2"]), of: m)
        // A replayed insert is not noted as superseding anything.
        try await scenario.save(.insert(["id": "m3", "uid": "u3", "grp": "g3"]), of: m)
        try await scenario.save(.insert(["id": "m3", "uid": "u3", "grp": "g3"]), .delete(key: ["m3"]), of: m)
        try await scenario.commit()
        let result = try await scenario.storage.compact()
        #expect(result.deletedEntries > 0)
        #expect(try await scenario.lookUp(#"0["u1"]"#) == [ParameterRow(values: [.integer(4)])])
        #expect(try await scenario.lookUp(#"0["u2"]"#) == [ParameterRow(values: [.text("g2")])])
        #expect(try await scenario.lookUp(#"0["u3"]"#).isEmpty)
        #expect(try await scenario.rowCount("parameter_entries") == 2)
        try await scenario.save(.delete(key: ["m1"]), of: m)
        try await scenario.commit()
        #expect(try await scenario.lookUp(#"0["u1"]"#).isEmpty)
    }

    @Test(arguments: TestedStorage.durable)
    func oldCheckpointRequestsAreDeleted(_ kind: TestedStorage) async throws {
        let scenario = try await StorageScenario(Self.config, on: kind)
        let storage = scenario.storage
        _ = try await storage.recordCheckpointRequest(WriteCheckpoint(7), userKey: "requests", head: .at(0))
        _ = try await storage.createWriteCheckpoint(userKey: "counter", head: .at(0))
        #expect(try await storage.compact().deletedRequests == 0)
        try await makeRequestsOld(scenario)
        #expect(try await storage.compact().deletedRequests == 1)
        let again = try await storage.recordCheckpointRequest(WriteCheckpoint(1), userKey: "requests", head: .at(0))
        #expect(again == WriteCheckpoint(1))
        #expect(try await storage.createWriteCheckpoint(userKey: "counter", head: .at(0)) == WriteCheckpoint(2))
    }

    @Test(arguments: TestedStorage.durable)
    func checkpointRequestsThatWaitAreKept(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let storage = scenario.storage
        _ = try await storage.recordCheckpointRequest(WriteCheckpoint(7), userKey: "requests", head: .at(100))
        try await makeRequestsOld(scenario)
        #expect(try await storage.compact().deletedRequests == 0)
        _ = try await scenario.writer.commit(.at(100), createsEmptyCheckpoints: true)
        let checkpoint = try scenario.checkpoint
        #expect(try await storage.visibleWriteCheckpoint(userKey: "requests", at: checkpoint) == WriteCheckpoint(7))
        #expect(try await storage.compact().deletedRequests == 1)
    }

    private func makeRequestsOld(_ scenario: StorageScenario) async throws {
        if scenario.home.kind == .postgres {
            try scenario.home.run(
                "UPDATE write_checkpoints SET requested_at = '2001-01-01T00:00:00Z' WHERE requested_at IS NOT NULL"
            )
            return
        }
        try await scenario.storage.pool.write { db in
            try db.execute(
                sql: """
                    UPDATE write_checkpoints SET requested_at = unixepoch('2001-01-01T00:00:00Z')
                    WHERE requested_at IS NOT NULL
                    """
            )
        }
    }
}
