import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

@Suite struct RejectedWritesTests {
    private let database: LocalTestDatabase
    private let now = SyncInstant(microseconds: 1_000)

    init() throws {
        database = try LocalTestDatabase(.items())
    }

    /// Adds a transaction of two writes.
    private func addTransaction() throws {
        try database.write("INSERT INTO items(id, col) VALUES ('a', '1'), ('b', '2')")
    }

    /// Rejects a write and completes it, and all before it.
    private func reject(_ id: Int64) throws {
        try database.queue.write { db in
            try RejectedWrites.record(id, reason: "no", at: now, db)
            try UploadQueue.complete(through: id, writeCheckpoint: nil, db)
        }
    }

    private func rejected() throws -> [RejectedWrites.Entry] {
        try database.queue.read { try RejectedWrites.all($0) }
    }

    @Test func databaseWithoutRejectionsHasNoTable() throws {
        #expect(try rejected().isEmpty)
        try database.queue.write { db in
            try RejectedWrites.restore([1], db)
            #expect(try RejectedWrites.remove([1], db) == 0)
            #expect(try !db.tableExists(RejectedWrites.table))
        }
    }

    @Test func rejectedWriteIsKeptAsItWas() throws {
        try addTransaction()
        let queued = try database.queue.read { try UploadQueue.nextTransaction(after: nil, $0) }
        try reject(2)
        #expect(try rejected() == [RejectedWrites.Entry(write: queued[1], reason: "no", rejectedAt: now)])
        #expect(try database.queue.read { try UploadQueue.firstID($0) } == nil)
    }

    @Test func writeThatHasLeftTheQueueIsNotKept() throws {
        try addTransaction()
        try database.queue.write { try UploadQueue.complete(through: 2, writeCheckpoint: nil, $0) }
        try reject(2)
        #expect(try rejected().isEmpty)
    }

    @Test func restoredWritesKeepTheirTransactionsAtTheEnd() throws {
        try addTransaction()
        try addTransaction2()
        let texts = try database.queue.read { try String.fetchAll($0, sql: "SELECT data FROM ps_crud ORDER BY id") }
        try reject(1)
        try reject(3)
        try database.queue.write { db in
            try LocalWriteGate.setTarget(WriteCheckpoint(7), db)
            try RejectedWrites.restore([3, 1, 99], db)
        }
        #expect(try rejected().isEmpty)
        let restored = try database.queue.read { db in
            [try UploadQueue.nextTransaction(after: 3, db), try UploadQueue.nextTransaction(after: 4, db)]
        }
        #expect(restored.map { $0.map(\.id) } == [[4], [5]])
        #expect(
            try database.queue.read { try String.fetchAll($0, sql: "SELECT data FROM ps_crud ORDER BY id") }
                == [texts[0], texts[2]]
        )
        #expect(try database.queue.read { try LocalWriteGate.target($0) } == LocalWriteGate.pendingTarget)
        // Ids of their own, also against the next transaction.
        try database.write("DELETE FROM items")
        #expect(try database.transactionIDs() == [3, 4, 5, 5, 5])
    }

    @Test func restoredWritesWithoutTransactionStayApart() throws {
        try database.write(
            """
            INSERT INTO ps_crud(tx_id, data) VALUES (NULL, '{"op":"DELETE","type":"items","id":"1"}'),
              (NULL, '{"op":"DELETE","type":"items","id":"2"}'), (5, '{"op":"DELETE","type":"items","id":"3"}'),
              (5, '{"op":"DELETE","type":"items","id":"4"}'), (NULL, '{"op":"DELETE","type":"items","id":"5"}');
            """
        )
        try database.queue.write { db in
            for id in 1...5 as ClosedRange<Int64> { try RejectedWrites.record(id, reason: "no", at: now, db) }
            try UploadQueue.complete(through: 5, writeCheckpoint: nil, db)
            try RejectedWrites.restore([1, 2, 3, 4, 5], db)
        }
        #expect(try database.transactionIDs() == [1, 2, 3, 3, 4])
        try database.write("INSERT INTO items(id) VALUES ('a')")
        #expect(try database.transactionIDs().last == 5)
    }

    /// A write checkpoint from before the writes are put back cannot acknowledge them.
    @Test func restoringForgetsWhichWriteCheckpointsWereSeen() throws {
        try addTransaction()
        try reject(2)
        try database.queue.write { db in
            try LocalWriteGate.setTarget(WriteCheckpoint(7), db)
            try LocalWriteGate.setLastSeen(WriteCheckpoint(9), db)
            try LocalWriteGate.setLastApplied(WriteCheckpoint(8), db)
            try RejectedWrites.restore([2], db)
            #expect(try LocalWriteGate.lastSeen(db) == nil)
            #expect(try LocalWriteGate.lastApplied(db) == nil)
            #expect(try LocalWriteGate.target(db) == LocalWriteGate.pendingTarget)
        }
    }

    @Test func removingLeavesTheOthers() throws {
        try addTransaction()
        try reject(1)
        try reject(2)
        #expect(try database.queue.write { try RejectedWrites.remove([1], $0) } == 1)
        #expect(try rejected().map(\.write.id) == [2])
    }

    private func addTransaction2() throws {
        try database.write("INSERT INTO items(id, col) VALUES ('c', '3')")
    }

    @Test func restoringNothingLeavesTheGateOpen() throws {
        try addTransaction()
        try reject(2)
        try database.queue.write { db in
            try LocalWriteGate.setTarget(WriteCheckpoint(0), db)
            try RejectedWrites.restore([99], db)
            #expect(try LocalWriteGate.target(db) == nil)
        }
        #expect(try rejected().count == 1)
    }

    @Test func removedWriteIsGone() throws {
        try addTransaction()
        try reject(2)
        #expect(try database.queue.write { try RejectedWrites.remove([2, 99], $0) } == 1)
        #expect(try rejected().isEmpty)
    }

    @Test func clearingForgetsThem() throws {
        try addTransaction()
        try reject(2)
        try database.queue.write { try LocalData.clear($0, []) }
        #expect(try rejected().isEmpty)
        try addTransaction()
        try reject(4)
        try database.write("SELECT powersync_clear(0)")
        #expect(try rejected().isEmpty)
    }

    @Test func schemaChangesLeaveThemAlone() throws {
        try addTransaction()
        try reject(2)
        var other = ClientTable.items()
        other.name = "others"
        try database.apply(other)
        #expect(try rejected().count == 1)
    }
}
