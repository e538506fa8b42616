import GRDB
import PowerSyncProtocol
import PowerSyncRules
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// When checkpoints are made, and which stream is served (docs/service.md "Checkpoints").
///
/// Case numbers in the names.
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

    @Test("flushed operations are not visible")
    func flushDoesNotPublish() async throws {
        var scenario = try await StorageScenario(Self.first)
        let table = try await scenario.table("test")
        let before = try scenario.checkpoint
        try await scenario.save(.insert(["id": "a"]), of: table)
        try await scenario.writer.flush()
        #expect(try scenario.checkpoint == before)
        #expect(try await scenario.operations("g|0[]").isEmpty)
    }

    @Test("the first checkpoint waits for the snapshot")
    func firstCheckpointWaitsForTheSnapshot() async throws {
        var scenario = try await StorageScenario(Self.first, isActive: false)
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

    @Test("commits without operations")
    func emptyCommitAdvancesThePositionIfWanted() async throws {
        var scenario = try await StorageScenario(Self.first)
        let before = try scenario.checkpoint
        #expect(try await scenario.writer.commit(.at(5), createsEmptyCheckpoints: false) == .unchanged)
        #expect(try scenario.checkpoint == before)

        let result = try await scenario.writer.commit(.at(5), createsEmptyCheckpoints: true)
        #expect(result == .created(StorageCheckpoint(streamID: before.streamID, opID: before.opID, lsn: .at(5))))
    }

    @Test("replay after a restart does not show the past")
    func replayFromAnOlderPositionIsBlockedUntilItCatchesUp() async throws {
        var scenario = try await StorageScenario(Self.first)
        _ = try await scenario.writer.commit(.at(20), createsEmptyCheckpoints: true)
        try await scenario.reopen()
        #expect(scenario.writer.resumePosition == .at(20))
        #expect(try await scenario.writer.commit(.at(15), createsEmptyCheckpoints: true) == .blocked)
        guard case .created = try await scenario.writer.commit(.at(20), createsEmptyCheckpoints: true) else {
            Issue.record("blocked")
            return
        }
    }

    @Test("operations stored before a crash are published by the next commit")
    func operationsOfACrashedWriterArePublished() async throws {
        var scenario = try await StorageScenario(Self.first, isActive: false)
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

    @Test func unflushedChangesVanishWithTheProcess() async throws {
        var scenario = try await StorageScenario(Self.first)
        let table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "a"]), of: table)
        try await scenario.reopen()
        _ = try await scenario.writer.commit(.at(5), createsEmptyCheckpoints: true)
        #expect(try await scenario.operations("g|0[]").isEmpty)
    }

    @Test func flushedChangesAreRepeatedAfterACrash() async throws {
        var scenario = try await StorageScenario(Self.first)
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

    @Test func sameTextIsNotDeployedAgain() async throws {
        let scenario = try await StorageScenario(Self.first)
        let again = try await scenario.storage.deploy(Self.first, plan: try plan(Self.first))
        #expect(again.id == scenario.stream.id)
        #expect(again.slotName == scenario.stream.slotName)
    }

    @Test func aTextThatDiffersInACommentIsDeployedAgain() async throws {
        let scenario = try await StorageScenario(Self.first)
        let text = Self.first + "\n# a comment\n"
        #expect(try await scenario.storage.deploy(text, plan: try plan(text)).id != scenario.stream.id)
    }

    @Test("the old stream serves until the new one is active")
    func secondConfigTakesOverAtItsFirstCheckpoint() async throws {
        var scenario = try await StorageScenario(Self.first)
        let active = try #require(try await scenario.storage.activeStream())
        let next = try await scenario.storage.deploy(Self.second, plan: try plan(Self.second))
        #expect(try await scenario.storage.streams().map(\.state) == [.active, .processing])
        #expect(next.bucketPrefix == "2#")

        var connection = scenario.storage.checkpoints(of: active).makeAsyncIterator()
        #expect(try await connection.next()?.streamID == active.id)
        try await scenario.commit()
        #expect(try await connection.next()?.streamID == active.id)

        var writer = try await scenario.storage.writer(of: next.id)
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

    @Test("a third config replaces the second before it is active")
    func thirdConfigStopsTheSecond() async throws {
        let scenario = try await StorageScenario(Self.first)
        _ = try await scenario.storage.deploy(Self.second, plan: try plan(Self.second))
        _ = try await scenario.storage.deploy(Self.third, plan: try plan(Self.third))
        #expect(try await scenario.storage.streams().map(\.state) == [.active, .stop, .processing])
    }

    @Test func lostHistoryKeepsTheOldStreamServing() async throws {
        let scenario = try await StorageScenario(Self.first)
        let next = try await scenario.storage.restart(scenario.stream.id)
        #expect(next.content == Self.first)
        #expect(next.slotName != scenario.stream.slotName)
        #expect(try await scenario.storage.streams().map(\.state) == [.errored, .processing])
        #expect(try await scenario.storage.activeStream()?.id == scenario.stream.id)
        // The config that is deployed at the next start is the one that is already being processed.
        #expect(try await scenario.storage.deploy(Self.first, plan: try plan(Self.first)).id == next.id)
    }

    @Test func deletedStreamLeavesNoRows() async throws {
        var scenario = try await StorageScenario(
            """
            config:
              edition: 3
            streams:
              d:
                query: SELECT * FROM docs WHERE grp IN (SELECT grp FROM m WHERE uid = auth.user_id())
            """
        )
        let docs = try await scenario.table("docs")
        let m = try await scenario.table("m")
        try await scenario.save(.insert(["id": "d1", "grp": "g1"]), of: docs)
        try await scenario.save(.insert(["id": "m1", "uid": "u1", "grp": "g1"]), of: m)
        try await scenario.commit()
        try await scenario.storage.pool.write { [id = scenario.stream.id] db in
            try StreamRecord.setState(.stop, of: id, db)
        }
        try await scenario.storage.deleteData(of: scenario.stream.id)
        for table in [
            "buckets", "operations", "lookups", "parameter_entries", "row_states", "segments",
            "superseded_operations", "superseded_entries", "source_tables",
        ] {
            let count = try await scenario.storage.pool.read { db in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)")
            }
            #expect(count == 0, "\(table)")
        }
    }

    @Test func fileOfANewerServiceIsRefused() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("buckets.db")
        let storage = try SQLiteBucketStorage(path: path)
        try await storage.pool.write { db in
            try db.execute(sql: "PRAGMA user_version = \(SQLiteStorageSchema.version + 1)")
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
