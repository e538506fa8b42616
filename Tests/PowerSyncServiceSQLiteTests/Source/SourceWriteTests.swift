import GRDB
import PowerSyncUpload
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Uploads of clients to the embedded source; what becomes of each write is tested with the applier.
@Suite struct SourceWriteTests {
    private func upload(_ table: String, _ data: JsonParam) -> UploadRequest {
        UploadRequest(
            clientID: "c1",
            entries: [UploadEntry(operationID: 1, op: .put, table: table, id: "a", data: data)]
        )
    }

    @Test func anUploadIsAppliedOnceAndReachesTheBuckets() async throws {
        let scenario = try SourceScenario()
        let upload = upload("lists", ["owner": .string("u1"), "name": .string("A")])
        for _ in 0..<2 {
            let response = try await scenario.source.apply(upload, for: "u1")
            #expect(response == UploadResponse(appliedThrough: 1))
        }
        try await scenario.replicating { try await scenario.caughtUp() }
        #expect(try await scenario.rows() == ["lists/a": #"{"id":"a","owner":"u1","name":"A"}"#])
    }

    @Test func whatIsRememberedAboutClientsIsNotReplicated() async throws {
        let scenario = try SourceScenario()
        _ = try await scenario.source.apply(upload("lists", [:]), for: "u1")
        let state = try await scenario.source.synchroniseCapture()
        #expect(state.tables.map(\.name) == ["lists"])
        #expect(state.unkeyedTables.isEmpty)
    }

    @Test(arguments: ["_ps_log", "_ps_upload_writes", "sqlite_sequence", "nope"])
    func tablesOfTheServiceCannotBeWritten(table: String) async throws {
        let scenario = try SourceScenario()
        let response = try await scenario.source.apply(upload(table, [:]), for: "u1")
        #expect(response.appliedThrough == nil)
        #expect(response.rejections.map(\.code) == [.unknownTable])
    }

    @Test func aTableThatWasJustMadeIsCaptured() async throws {
        let scenario = try SourceScenario()
        try await scenario.foreignConnection().write { db in
            try db.execute(sql: "CREATE TABLE fresh (id TEXT PRIMARY KEY)")
        }
        let response = try await scenario.source.apply(upload("fresh", [:]), for: "u1")
        #expect(response.appliedThrough == 1)
        let logged = try await scenario.source.pool.read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM _ps_log")
        }
        #expect(logged == 1)
    }
}
