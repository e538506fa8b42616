import GRDB
import PowerSyncBackend
import PowerSyncUpload
import TestSupport
import Testing

/// The page "Asynchronous back ends".
@Suite(.timeLimit(.minutes(1))) struct AsynchronousBackendTests {
    private struct Killed: Error {}

    /// Applies, and dies before it answers.
    private struct DyingApplier: UploadApplier {
        let applier: any UploadApplier

        func apply(_ request: UploadRequest, for user: BackendUser) async throws -> UploadResponse {
            _ = try await applier.apply(request, for: user)
            throw Killed()
        }
    }

    private func checkpoints(_ scenario: UploadScenario) async throws -> [String] {
        try await scenario.database.read { db in
            try String.fetchAll(
                db,
                sql: "SELECT user_id || ' ' || client_id || ' ' || checkpoint FROM checkpoints ORDER BY 1"
            )
        }
    }

    @Test func aNumberIsWrittenWhenItsUploadIsThroughAndEachWriteIsAppliedOnce() async throws {
        let scenario = try UploadScenario(schema: UploadScenario.schema + queueTables) { write, _ in
            write.entry.id == "c" ? .reject("Not this one.") : .apply
        }
        let queue = QueuedUploads(database: scenario.database)
        let anna = BackendUser(id: "anna")
        func request(_ entries: UploadEntry...) -> UploadRequest { UploadRequest(clientID: "c1", entries: entries) }

        let first = request(UploadScenario.put(1, "a"), UploadScenario.put(2, "b"))
        let answer = try await queue.apply(first, for: anna)
        #expect(answer == UploadResponse(appliedThrough: 2, writeCheckpoint: "1"))
        // The answer was lost.
        #expect(try await queue.apply(first, for: anna).writeCheckpoint == "2")
        let second = request(UploadScenario.put(3, "c"), UploadScenario.put(4, "d"))
        #expect(try await queue.apply(second, for: anna).writeCheckpoint == "3")
        #expect(try await scenario.log().isEmpty)
        #expect(try await checkpoints(scenario).isEmpty)

        // It dies behind what it has done: nothing is told yet.
        await #expect(throws: Killed.self) {
            try await applyNext(of: scenario.database, with: DyingApplier(applier: scenario.applier))
        }
        #expect(try await scenario.log() == ["+a", "+b"])
        #expect(try await checkpoints(scenario).isEmpty)
        #expect(try await applyNext(of: scenario.database, with: scenario.applier))
        #expect(try await checkpoints(scenario) == ["anna c1 1"])
        #expect(try await applyNext(of: scenario.database, with: scenario.applier))
        #expect(try await checkpoints(scenario) == ["anna c1 2"])
        #expect(try await scenario.log() == ["+a", "+b"])
        #expect(try await applyNext(of: scenario.database, with: scenario.applier))
        #expect(try await checkpoints(scenario) == ["anna c1 3"])
        #expect(try await scenario.log() == ["+a", "+b", "+d"])
        let refused = try await scenario.database.read { db in
            try String.fetchAll(db, sql: "SELECT row_id || ': ' || reason FROM refused_writes")
        }
        #expect(refused == ["c: Not this one."])
        #expect(try await applyNext(of: scenario.database, with: scenario.applier) == false)
        // Numbers are never given twice, also when the queue is empty.
        #expect(try await queue.apply(request(UploadScenario.put(5, "e")), for: anna).writeCheckpoint == "4")
    }
}
