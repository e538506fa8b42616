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
            try RejectedWrites.record(db, id, reason: "no", at: now)
            try UploadQueue.complete(db, through: id, writeCheckpoint: nil)
        }
    }

    private func rejected() throws -> [RejectedWrites.Entry] {
        try database.queue.read { try RejectedWrites.all($0) }
    }

    @Test func databaseWithoutRejectionsHasNoTable() throws {
        #expect(try rejected().isEmpty)
        try database.queue.write { db in
            try RejectedWrites.restore(db, [1])
            #expect(try RejectedWrites.remove(db, [1]) == 0)
            #expect(try !db.tableExists(RejectedWrites.table))
        }
    }

    @Test func rejectedWriteIsKeptAsItWas() throws {
        try addTransaction()
        let queued = try database.queue.read { try UploadQueue.nextTransaction($0, after: nil) }
        try reject(2)
        #expect(try rejected() == [RejectedWrites.Entry(write: queued[1], reason: "no", rejectedAt: now)])
        #expect(try database.queue.read { try UploadQueue.firstID($0) } == nil)
    }

    @Test func writeThatHasLeftTheQueueIsNotKept() throws {
        try addTransaction()
        try database.queue.write { try UploadQueue.complete($0, through: 2, writeCheckpoint: nil) }
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
            try LocalWriteGate.setTarget(db, WriteCheckpoint(7))
            try RejectedWrites.restore(db, [3, 1, 99])
        }
        #expect(try rejected().isEmpty)
        let restored = try database.queue.read { db in
            [try UploadQueue.nextTransaction(db, after: 3), try UploadQueue.nextTransaction(db, after: 4)]
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
            for id in 1...5 as ClosedRange<Int64> { try RejectedWrites.record(db, id, reason: "no", at: now) }
            try UploadQueue.complete(db, through: 5, writeCheckpoint: nil)
            try RejectedWrites.restore(db, [1, 2, 3, 4, 5])
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
            try LocalWriteGate.setTarget(db, WriteCheckpoint(7))
            try LocalWriteGate.setLastSeen(db, WriteCheckpoint(9))
            try LocalWriteGate.setLastApplied(db, WriteCheckpoint(8))
            try RejectedWrites.restore(db, [2])
            #expect(try LocalWriteGate.lastSeen(db) == nil)
            #expect(try LocalWriteGate.lastApplied(db) == nil)
            #expect(try LocalWriteGate.target(db) == LocalWriteGate.pendingTarget)
        }
    }

    /// A number of the backend's own stands for everything that it was sent.
    @Test(arguments: [RejectedWrites.Treatment.skip, .park])
    func numberCountsWhenNothingIsLeftInTheQueue(_ treatment: RejectedWrites.Treatment) throws {
        try addTransaction()
        try addTransaction2()
        func reject(_ ids: Int64...) throws -> WriteCheckpoint? {
            try database.queue.write { db in
                let reasons = Dictionary(uniqueKeysWithValues: ids.map { ($0, "no") })
                let number = WriteCheckpoint(7)
                _ = try RejectedWrites.setAside(
                    db,
                    .writes(reasons: reasons),
                    treatment,
                    writeCheckpoint: number,
                    at: now
                )
                return try LocalWriteGate.target(db)
            }
        }
        #expect(try reject(1, 3) == LocalWriteGate.pendingTarget)
        #expect(try reject(2) == WriteCheckpoint(7))
        // Of writes that have left the queue it says nothing.
        try database.queue.write { try LocalWriteGate.setTarget($0, LocalWriteGate.pendingTarget) }
        #expect(try reject(2) == LocalWriteGate.pendingTarget)
    }

    /// Nothing of these is awaited.
    @Test func numberOfInsertOnlyWritesCountsNothing() throws {
        let database = try LocalTestDatabase(.items(isInsertOnly: true))
        try database.write("INSERT INTO items(id, col) VALUES ('a', '1')")
        try database.queue.write { db in
            let number = WriteCheckpoint(7)
            _ = try RejectedWrites.setAside(db, .head(reason: "no"), .skip, writeCheckpoint: number, at: now)
            #expect(try LocalWriteGate.target(db) == nil)
            #expect(try UploadQueue.firstID(db) == nil)
        }
    }

    @Test func removingLeavesTheOthers() throws {
        try addTransaction()
        try reject(1)
        try reject(2)
        #expect(try database.queue.write { try RejectedWrites.remove($0, [1]) } == 1)
        #expect(try rejected().map(\.write.id) == [2])
    }

    private func addTransaction2() throws {
        try database.write("INSERT INTO items(id, col) VALUES ('c', '3')")
    }

    @Test func restoringNothingLeavesTheGateOpen() throws {
        try addTransaction()
        try reject(2)
        try database.queue.write { db in
            try LocalWriteGate.setTarget(db, WriteCheckpoint(0))
            try RejectedWrites.restore(db, [99])
            #expect(try LocalWriteGate.target(db) == nil)
        }
        #expect(try rejected().count == 1)
    }

    @Test func removedWriteIsGone() throws {
        try addTransaction()
        try reject(2)
        #expect(try database.queue.write { try RejectedWrites.remove($0, [2, 99]) } == 1)
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
