import GRDB
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// When checkpoints are made, and which stream is served (docs/service.md "Checkpoints").
@Suite struct CheckpointTests {
    private static let first = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """
    private static let second = first + "\n# another text\n"
    private static let third = first + "\n# yet another text\n"

    @Test(arguments: TestedStorage.durable)
    func flushDoesNotPublish(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.first, on: kind)
        let table = try await scenario.table("test")
        let before = try scenario.checkpoint
        try await scenario.save(.insert(["id": "a"]), of: table)
        try await scenario.writer.flush()
        #expect(try scenario.checkpoint == before)
        #expect(try await scenario.operations("g|0[]").isEmpty)
    }

    @Test(arguments: TestedStorage.durable)
    func firstCheckpointWaitsForTheSnapshot(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.first, on: kind, isActive: false)
        let table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "a"]), of: table)
        #expect(try await scenario.writer.commit(.at(5), createsEmptyCheckpoints: true) == .blocked)
        #expect(try await scenario.storage.activeStream() == nil)

        try await scenario.writer.markSnapshotDone(noCheckpointBefore: .at(7))
        #expect(try await scenario.writer.commit(.at(6), createsEmptyCheckpoints: true) == .blocked)

        let checkpoint = StorageCheckpoint(streamID: scenario.stream.id, opID: OpID(1), lsn: .at(7))
        #expect(try await scenario.writer.commit(.at(7), createsEmptyCheckpoints: true) == .created(checkpoint))
        #expect(try await scenario.storage.activeStream()?.id == scenario.stream.id)
        #expect(try await scenario.storage.streams().map(\.state) == [.active])
        #expect(try scenario.checkpoint == checkpoint)
    }

    @Test(arguments: TestedStorage.durable)
    func emptyCommitAdvancesThePositionIfWanted(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.first, on: kind)
        let before = try scenario.checkpoint
        #expect(try await scenario.writer.commit(.at(5), createsEmptyCheckpoints: false) == .unchanged)
        #expect(try scenario.checkpoint == before)

        let result = try await scenario.writer.commit(.at(5), createsEmptyCheckpoints: true)
        #expect(result == .created(StorageCheckpoint(streamID: before.streamID, opID: before.opID, lsn: .at(5))))
    }

    @Test(arguments: TestedStorage.durable)
    func replayFromAnOlderPositionIsBlockedUntilItCatchesUp(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.first, on: kind)
        _ = try await scenario.writer.commit(.at(20), createsEmptyCheckpoints: true)
        try await scenario.reopen()
        #expect(scenario.writer.resumePosition == .at(20))
        #expect(try await scenario.writer.commit(.at(15), createsEmptyCheckpoints: true) == .blocked)
        guard case .created = try await scenario.writer.commit(.at(20), createsEmptyCheckpoints: true) else {
            Issue.record("blocked")
            return
        }
    }

    @Test(arguments: TestedStorage.durable)
    func operationsOfACrashedWriterArePublished(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.first, on: kind, isActive: false)
        let table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "a"]), of: table, mode: .snapshot)
        scenario.writer.recordSnapshotProgress(SnapshotKey(["a"]), of: table)
        try await scenario.writer.flush()
        try await scenario.reopen()
        #expect(scenario.writer.sourceTables.map(\.lastSnapshotKey) == [SnapshotKey(["a"])])

        // The copy was complete: nothing is saved again.
        try await scenario.writer.markSnapshotDone(noCheckpointBefore: .at(9))
        #expect(try await scenario.writer.commit(.at(8), createsEmptyCheckpoints: true) == .blocked)
        try await scenario.reopen()
        _ = try await scenario.writer.commit(.at(9), createsEmptyCheckpoints: false)
        #expect(try await scenario.summary("g|0[]") == ["PUT a"])
    }

    @Test(arguments: TestedStorage.durable) func unflushedChangesVanishWithTheProcess(
        _ kind: TestedStorage
    ) async throws {
        var scenario = try await StorageScenario(Self.first, on: kind)
        let table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "a"]), of: table)
        try await scenario.reopen()
        _ = try await scenario.writer.commit(.at(5), createsEmptyCheckpoints: true)
        #expect(try await scenario.operations("g|0[]").isEmpty)
    }

    @Test(arguments: TestedStorage.durable) func flushedChangesAreRepeatedAfterACrash(
        _ kind: TestedStorage
    ) async throws {
        var scenario = try await StorageScenario(Self.first, on: kind)
        var table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "a"]), .insert(["id": "b"]), of: table)
        try await scenario.writer.flush()
        try await scenario.reopen()
        table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "a"]), .insert(["id": "b"]), .delete(key: ["b"]), of: table)
        _ = try await scenario.writer.commit(.at(5), createsEmptyCheckpoints: true)
        #expect(try await scenario.summary("g|0[]") == ["PUT a", "PUT b", "PUT a", "PUT b", "REMOVE b"])
        #expect(try await scenario.rows("g|0[]") == ["test/a": #"{"id":"a"}"#])
    }

    @Test(arguments: TestedStorage.durable) func sameTextIsNotDeployedAgain(_ kind: TestedStorage) async throws {
        let scenario = try await StorageScenario(Self.first, on: kind)
        let again = try await scenario.storage.deploy(Self.first, plan: try plan(Self.first))
        #expect(again.id == scenario.stream.id)
        #expect(again.sourceHandle == scenario.stream.sourceHandle)
    }

    @Test(arguments: TestedStorage.durable) func aTextThatDiffersInACommentIsDeployedAgain(
        _ kind: TestedStorage
    ) async throws {
        let scenario = try await StorageScenario(Self.first, on: kind)
        let text = Self.first + "\n# a comment\n"
        #expect(try await scenario.storage.deploy(text, plan: try plan(text)).id != scenario.stream.id)
    }

    @Test(arguments: TestedStorage.durable)
    func secondConfigTakesOverAtItsFirstCheckpoint(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.first, on: kind)
        let active = try #require(try await scenario.storage.activeStream())
        let next = try await scenario.storage.deploy(Self.second, plan: try plan(Self.second))
        #expect(try await scenario.storage.streams().map(\.state) == [.active, .processing])
        #expect(next.bucketPrefix == "2#")

        var connection = scenario.storage.checkpoints(of: active).makeAsyncIterator()
        #expect(try await connection.next()?.streamID == active.id)
        try await scenario.commit()
        #expect(try await connection.next()?.streamID == active.id)

        var writer = try await scenario.writer(of: next.id)
        try await writer.setResumePosition(.at(0))
        try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
        _ = try await writer.commit(.at(9), createsEmptyCheckpoints: true)
        #expect(try await connection.next() == nil)
        #expect(try await scenario.storage.streams().map(\.state) == [.stop, .active])
        #expect(try await scenario.storage.activeStream()?.id == next.id)
        await #expect(throws: BucketStorageError.self) { try await scenario.commit() }

        try await scenario.storage.deleteData(of: active.id)
        #expect(try await scenario.storage.streams().map(\.id) == [next.id])
    }

    @Test(arguments: TestedStorage.durable)
    func thirdConfigStopsTheSecond(_ kind: TestedStorage) async throws {
        let scenario = try await StorageScenario(Self.first, on: kind)
        _ = try await scenario.storage.deploy(Self.second, plan: try plan(Self.second))
        _ = try await scenario.storage.deploy(Self.third, plan: try plan(Self.third))
        #expect(try await scenario.storage.streams().map(\.state) == [.active, .stop, .processing])
    }

    @Test(arguments: TestedStorage.durable) func lostHistoryKeepsTheOldStreamServing(_ kind: TestedStorage) async throws
    {
        let scenario = try await StorageScenario(Self.first, on: kind)
        let next = try await scenario.storage.restart(scenario.stream.id)
        #expect(next.content == Self.first)
        #expect(next.sourceHandle != scenario.stream.sourceHandle)
        #expect(try await scenario.storage.streams().map(\.state) == [.errored, .processing])
        #expect(try await scenario.storage.activeStream()?.id == scenario.stream.id)
        // The config that is deployed at the next start is the one that is already being processed.
        #expect(try await scenario.storage.deploy(Self.first, plan: try plan(Self.first)).id == next.id)
    }

    @Test(arguments: TestedStorage.durable)
    func deletedStreamLeavesNoRows(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(
            """
            config:
              edition: 3
            streams:
              d:
                query: SELECT * FROM docs WHERE grp IN (SELECT grp FROM m WHERE uid = auth.user_id())
            """,
            on: kind
        )
        let docs = try await scenario.table("docs")
        let m = try await scenario.table("m")
        try await scenario.save(.insert(["id": "d1", "grp": "g1"]), of: docs)
        try await scenario.save(.insert(["id": "m1", "uid": "u1", "grp": "g1"]), of: m)
        try await scenario.commit()
        // Another text is deployed, and then the first one again.
        let stopped = scenario.stream.id
        let next = try await scenario.storage.deploy(Self.second, plan: try plan(Self.second))
        var writer = try await scenario.writer(of: next.id)
        try await writer.setResumePosition(.at(0))
        try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
        _ = try await writer.commit(.at(9), createsEmptyCheckpoints: true)
        try await scenario.storage.deleteData(of: stopped)
        var tables = ["buckets", "operations", "lookups", "parameter_entries", "row_states", "source_tables"]
        tables += ["superseded_operations", "superseded_entries"]
        if kind == .sqlite { tables.append("segments") }
        for table in tables { #expect(try await scenario.rowCount(table) == 0, "\(table)") }
        // Once more, as after an interruption.
        try await scenario.storage.deleteData(of: stopped)
    }

    @Test func fileOfANewerServiceIsRefused() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("buckets.db")
        let storage = try SQLiteBucketStorage(path: path)
        try await storage.pool.write { db in
            try db.execute(sql: "PRAGMA user_version = \(SQLiteStorageSchema.migrations.count + 1)")
        }
        try storage.close()
        #expect { try SQLiteBucketStorage(path: path) } throws: {
            ($0 as? BucketStorageError)?.code == .unsupportedVersion
        }
    }

    @Test func fileHasOneOwner() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("buckets.db")
        let owner = try SQLiteBucketStorage(path: path)
        #expect { try SQLiteBucketStorage(path: path) } throws: { error in
            guard let error = error as? BucketStorageError else { return false }
            return error.code == .inUse && error.message.contains(path)
        }
        try owner.close()
        _ = try SQLiteBucketStorage(path: path)
    }

    @Test func missingFolderIsNamed() throws {
        #expect { try SQLiteBucketStorage(path: "/nonexistent/folder/buckets.db") } throws: { error in
            guard let error = error as? BucketStorageError else { return false }
            return error.code == .cannotOpen && error.message.contains("/nonexistent/folder/buckets.db")
        }
    }
}
