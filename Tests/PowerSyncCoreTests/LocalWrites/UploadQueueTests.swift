import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

@Suite struct UploadQueueTests {
    private let database: LocalTestDatabase

    init() throws {
        var insertOnly = ClientTable.items(isInsertOnly: true)
        insertOnly.name = "log"
        database = try LocalTestDatabase(.items(), insertOnly)
    }

    /// Adds one transaction of some writes.
    private func add(_ count: Int, to table: String = "items") throws {
        try database.queue.write { db in
            for _ in 0..<count {
                try db.execute(sql: "INSERT INTO \(table)(id) VALUES (uuid())")
            }
        }
    }

    private func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try database.queue.read(body)
    }

    private func complete(through id: Int64, _ checkpoint: Int64? = nil) throws {
        try database.queue.write { db in
            try UploadQueue.complete(db, through: id, writeCheckpoint: checkpoint.map { WriteCheckpoint($0) })
        }
    }

    private func target() throws -> Int64? {
        try read { try LocalWriteGate.target($0)?.rawValue }
    }

    @Test func transactionsFollowEachOther() throws {
        for count in [5, 10, 15] {
            try add(count)
        }
        var groups: [[QueuedWrite]] = []
        while case let group = try read({ try UploadQueue.nextTransaction($0, after: groups.last?.last?.id) }),
            !group.isEmpty
        {
            groups.append(group)
        }
        #expect(groups.map(\.count) == [5, 10, 15])
        #expect(groups.map { Set($0.map(\.transactionID)) } == [[1], [2], [3]])
        try complete(through: try #require(groups[1].last).id)
        #expect(try read { try UploadQueue.nextTransaction($0, after: nil) } == groups[2])
    }

    @Test func removedEntrySplitsATransaction() throws {
        try add(5)
        try database.write("DELETE FROM ps_crud WHERE id = 3")
        #expect(try read { try UploadQueue.nextTransaction($0, after: nil) }.map(\.id) == [1, 2])
        #expect(try read { try UploadQueue.nextTransaction($0, after: 2) }.map(\.id) == [4, 5])
    }

    @Test func entriesWithoutTransactionStandAlone() throws {
        try database.write(
            """
            INSERT INTO ps_crud(data) VALUES ('{"op":"PUT","type":"a","id":"1","data":{}}'),
              ('{"op":"DELETE","type":"a","id":"2","old":{"x":1},"metadata":"m"}')
            """
        )
        #expect(
            try read { try UploadQueue.nextTransaction($0, after: nil) } == [
                QueuedWrite(id: 1, transactionID: nil, kind: .put, table: "a", rowID: "1", data: [:])
            ]
        )
        #expect(
            try read { try UploadQueue.nextTransaction($0, after: 1) } == [
                QueuedWrite(
                    id: 2,
                    transactionID: nil,
                    kind: .delete,
                    table: "a",
                    rowID: "2",
                    previousValues: ["x": 1],
                    metadata: "m"
                )
            ]
        )
    }

    @Test func batchesSayWhetherMoreFollows() throws {
        #expect(try read { try UploadQueue.batch($0) == nil })
        try add(100)
        let half = try #require(try read { try UploadQueue.batch($0, limit: 50) })
        #expect(half.writes.map(\.id) == Array(1...50))
        #expect(half.hasMore)
        let all = try #require(try read { try UploadQueue.batch($0) })
        #expect(all.writes.count == 100)
        #expect(!all.hasMore)
        #expect(try read { try UploadQueue.batch($0, limit: .max) }?.writes.count == 100)
        #expect(throws: LocalDatabaseError.self) { try read { try UploadQueue.batch($0, limit: 0) } }
    }

    @Test func countAndSizeFollowTheEntries() throws {
        #expect(try read { try UploadQueue.count($0) } == 0)
        #expect(try read { try UploadQueue.size($0) } == 0)
        #expect(try read { try UploadQueue.firstID($0) } == nil)
        #expect(try read { try UploadQueue.sequence($0) } == nil)
        try database.write("INSERT INTO ps_crud(data) VALUES ('é'), ('')")
        #expect(try read { try UploadQueue.count($0) } == 2)
        #expect(try read { try UploadQueue.size($0) } == 42)
        #expect(try read { try UploadQueue.firstID($0) } == 1)
        #expect(try read { try UploadQueue.sequence($0) } == 2)
    }

    @Test func positionAndSpanFollowTheIDs() throws {
        #expect(try read { try [Int(UploadQueue.position($0)), UploadQueue.span($0)] } == [1, 0])
        try add(3)
        #expect(try read { try [Int(UploadQueue.position($0)), UploadQueue.span($0)] } == [1, 3])
        try database.write("DELETE FROM ps_crud WHERE id = 2")
        #expect(try read { try [Int(UploadQueue.position($0)), UploadQueue.span($0)] } == [1, 3])
        try complete(through: 1)
        #expect(try read { try [Int(UploadQueue.position($0)), UploadQueue.span($0)] } == [3, 1])
        try complete(through: 3)
        #expect(try read { try [Int(UploadQueue.position($0)), UploadQueue.span($0)] } == [4, 0])
    }

    @Test(arguments: [(1, true), (2, true), (3, false), (4, false)])
    func batchesKnowWhetherTheyAreTheLast(limit: Int, hasMore: Bool) throws {
        try add(3)
        let batch = try #require(try read { try UploadQueue.batch($0, limit: limit) })
        #expect(batch.writes.count == min(limit, 3))
        #expect(batch.hasMore == hasMore)
    }

    @Test func completingMovesTheTarget() throws {
        try add(2)
        try complete(through: 1, 5)
        #expect(try target() == .max)
        try complete(through: 2)
        #expect(try target() == .max)
        try add(1)
        try complete(through: 3, 5)
        #expect(try target() == 5)
    }

    /// An upload that was left behind completes what another one has completed.
    @Test func completingWhatHasLeftTheQueueMovesNothing() throws {
        try add(1)
        try complete(through: 1, 5)
        for checkpoint in [nil, 4] as [Int64?] {
            try complete(through: 1, checkpoint)
            #expect(try target() == 5)
        }
    }

    /// What was uploaded last is in no checkpoint that an earlier target stands for.
    @Test func completingInsertOnlyWritesMovesATargetThatIsThere() throws {
        try add(1)
        try complete(through: 1, 5)
        try add(1, to: "log")
        #expect(try target() == 5)
        try complete(through: 2)
        #expect(try target() == .max)
    }

    @Test func completingInsertOnlyWritesSetsNoTarget() throws {
        try add(2, to: "log")
        #expect(try !read { try LocalWriteGate.isOpen($0) })
        try complete(through: 2, 7)
        #expect(try target() == nil)
        #expect(try read { try LocalWriteGate.isOpen($0) })
    }

    @Test func idsAreNotUsedAgain() throws {
        try add(3)
        try complete(through: 3)
        try add(1)
        #expect(try read { try UploadQueue.firstID($0) } == 4)
    }

    /// Whatever the encoding of the file, texts are read as UTF-8.
    @Test(arguments: LocalTestDatabase.encodings)
    func entriesAreReadInEachEncoding(_ encoding: String) throws {
        let database = try LocalTestDatabase(.items(), encoding: encoding)
        #expect(try database.texts("PRAGMA encoding") == [encoding])
        try database.write("INSERT INTO items(id, col) VALUES ('é', 'Brød')")
        try database.write("UPDATE items SET col = '麵包 🥖'")
        try database.write("DELETE FROM items")
        let writes = try #require(try database.queue.read { try UploadQueue.batch($0) }).writes
        func entry(_ id: Int64, _ kind: QueuedWrite.Kind, _ data: JSONObject?) -> QueuedWrite {
            QueuedWrite(id: id, transactionID: id, kind: kind, table: "items", rowID: "é", data: data)
        }
        #expect(
            writes == [entry(1, .put, ["col": "Brød"]), entry(2, .patch, ["col": "麵包 🥖"]), entry(3, .delete, nil)]
        )
        try database.queue.write { db in
            for write in writes {
                try RejectedWrites.record(db, write.id, reason: "no", at: SyncInstant(microseconds: 1))
            }
            try UploadQueue.complete(db, through: 3, writeCheckpoint: nil)
        }
        #expect(try database.queue.read { try RejectedWrites.all($0) }.map(\.write) == writes)
        try database.queue.write { try RejectedWrites.restore($0, writes.map(\.id)) }
        let restored = try #require(try database.queue.read { try UploadQueue.batch($0) }).writes
        #expect(restored.map(\.data) == writes.map(\.data))
        #expect(restored.map(\.damage) == [nil, nil, nil])
    }

    @Test func integersAreExact() throws {
        try database.write(
            #"INSERT INTO ps_crud(data) VALUES ('{"op":"PUT","type":"a","id":"1","data":{"n":9007199254740993,"r":1.0}}')"#
        )
        let write = try #require(try read { try UploadQueue.batch($0) }?.writes.first)
        #expect(write.data == ["n": .integer(9_007_199_254_740_993), "r": .double(1)])
    }
}
