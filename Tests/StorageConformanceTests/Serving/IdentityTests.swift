import GRDB
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Users, clients and tables are who their bytes say, wherever they are told apart.
@Suite struct IdentityTests {
    @Test(arguments: EqualTexts.pairs)
    func thePairsAreEqualForSwift(_ pair: EqualTexts) {
        #expect(pair.first == pair.second)
        #expect(!pair.first.utf8.elementsEqual(pair.second.utf8))
    }

    @Test(arguments: EqualTexts.pairs)
    func oneUserDoesNotTakeTheStreamsOfAnother(_ pair: EqualTexts) throws {
        let streams = UserStreams(limit: 1)
        let first = try streams.enter(StreamClient(userID: pair.first))
        let second = try streams.enter(StreamClient(userID: pair.second), with: try streams.reserve(pair.second))
        #expect(streams.userCount == 2)
        #expect(throws: UserStreams.Overflow(limit: 1)) { _ = try streams.reserve(pair.first) }
        withExtendedLifetime((first, second)) {}
    }

    @Test(arguments: EqualTexts.pairs)
    func oneUserIsNotWokenByTheWritesOfAnother(_ pair: EqualTexts) {
        let checkpoint = StorageCheckpoint(streamID: ReplicationStreamID(rawValue: 1), opID: OpID(1), lsn: .at(1))
        var board = DispatchBoard(streamID: checkpoint.streamID)
        _ = board.publish(checkpoint, CommitChanges(changes: .unknown))
        let (first, second) = (SessionID(rawValue: 1), SessionID(rawValue: 2))
        board.add(first, userKey: pair.first)
        board.add(second, userKey: pair.second)
        #expect(board.expectWriteCheckpoint(of: pair.second, at: .at(1)) == [second])
        board.remove(first)
        #expect(board.expectWriteCheckpoint(of: pair.first, at: .at(1)) == [])
    }

    @Test(arguments: EqualTexts.pairs, TestedStorage.distinct)
    func oneUserDoesNotCountTheWritesOfAnother(_ pair: EqualTexts, _ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(
            "config: {edition: 3}\nstreams:\n  g:\n    query: SELECT * FROM test\n",
            on: kind
        )
        _ = try await scenario.writer.commit(.at(1), createsEmptyCheckpoints: true)
        let storage = scenario.storage
        #expect(try await storage.createWriteCheckpoint(userKey: pair.first, head: .at(1)).rawValue == 1)
        #expect(try await storage.createWriteCheckpoint(userKey: pair.first, head: .at(1)).rawValue == 2)
        #expect(try await storage.createWriteCheckpoint(userKey: pair.second, head: .at(9)).rawValue == 1)
        let checkpoint = try scenario.checkpoint
        #expect(try await storage.visibleWriteCheckpoint(userKey: pair.first, at: checkpoint)?.rawValue == 2)
        #expect(try await storage.visibleWriteCheckpoint(userKey: pair.second, at: checkpoint) == nil)
    }

    @Test(arguments: EqualTexts.pairs)
    func tablesAndStoredNamesAreTheirBytes(_ pair: EqualTexts) throws {
        let names = [pair.first, pair.second].map { SourceTableName(schema: "s", name: $0) }
        let schemas = [pair.first, pair.second].map { SourceTableName(schema: $0, name: "n") }
        #expect(Set(names).count == 2 && Set(schemas).count == 2)
        try DatabaseQueue().write { db in
            try db.execute(sql: "CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)")
            var table = try NameTable(db)
            #expect(try table.id(of: pair.first) != table.id(of: pair.second))
        }
    }
}
