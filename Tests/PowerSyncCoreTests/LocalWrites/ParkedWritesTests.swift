import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

@Suite struct ParkedWritesTests {
    private let database: LocalTestDatabase
    private let now = SyncInstant(microseconds: 1_000)

    init() throws {
        database = try LocalTestDatabase(.items())
    }

    /// Queues three transactions: 1 creates a (1) and b (2), 2 changes b (3), a (4) and makes c (5), 3 deletes a (6).
    private func addTransactions() throws {
        try database.write("INSERT INTO items(id, col) VALUES ('a', '1'), ('b', '1')")
        try database.write(
            """
            UPDATE items SET col = '2' WHERE id = 'b';
            UPDATE items SET col = '2' WHERE id = 'a';
            INSERT INTO items(id, col) VALUES ('c', '2');
            """
        )
        try database.write("DELETE FROM items WHERE id = 'a'")
    }

    @discardableResult
    private func park(_ rejection: RejectedWrites.Rejection) throws -> RejectedWrites.SetAside {
        try database.queue.write { try RejectedWrites.setAside($0, rejection, .park, at: now) }
    }

    /// `id of the entry: id of the row` of what is in the queue.
    private func queue() throws -> [String] {
        try database.rows("SELECT id || ': ' || (data ->> 'id') FROM ps_crud ORDER BY id")
    }

    /// The same of what is kept aside, with what keeps it there.
    private func rejected() throws -> [String] {
        try database.queue.read { try RejectedWrites.all($0) }.map { "\($0.write.id): \($0.write.rowID) \($0.kind)" }
    }

    private func parkTriggers() throws -> Int64? {
        try database.integer("SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'ps_crud'")
    }

    @Test func headTransactionTakesLaterWritesOfItsRowsAlong() throws {
        try addTransactions()
        let setAside = try park(.head(reason: "no"))
        #expect(setAside.rejected.map(\.id) == [1, 2])
        #expect(setAside.waiting == 3)
        #expect(try queue() == ["5: c"])
        #expect(try rejected() == ["1: a parked", "2: b parked", "3: b waiting", "4: a waiting", "6: a waiting"])
        let entries = try database.queue.read { try RejectedWrites.all($0) }
        #expect(entries.allSatisfy { $0.reason == "no" && $0.rejectedAt == now })
    }

    @Test func namedWriteTakesOnlyItsRowAlong() throws {
        try addTransactions()
        #expect(try park(.writes(reasons: [4: "no", 99: "gone"])).waiting == 1)
        // What was written to the row before stays in front of it.
        #expect(try queue() == ["1: a", "2: b", "3: b", "5: c"])
        #expect(try rejected() == ["4: a parked", "6: a waiting"])
    }

    @Test func whatWasWrittenBeforeARejectedWriteStaysInTheQueue() throws {
        try addTransactions()
        // The earlier write of a comes after the rejected one of b.
        #expect(try park(.writes(reasons: [2: "no", 6: "no"])).waiting == 1)
        #expect(try queue() == ["1: a", "4: a", "5: c"])
        #expect(try rejected() == ["2: b parked", "3: b waiting", "6: a parked"])
    }

    @Test func rowsOfOtherTablesWithTheSameIDAreOthers() throws {
        try database.write(
            """
            INSERT INTO powersync_crud(op, id, type, data) VALUES ('PUT', 'a', 'items', '{}'), ('PUT', 'a', 'notes', '{}'),
              ('PATCH', 'a', 'notes', '{"x":1}'), ('PATCH', 'a', 'items', '{"x":1}');
            """
        )
        #expect(try park(.writes(reasons: [1: "no"])).waiting == 1)
        #expect(try queue() == ["2: a", "3: a"])
        #expect(try park(.writes(reasons: [2: "no"])).waiting == 1)
        #expect(try queue().isEmpty)
        try database.queue.write { try RejectedWrites.restore($0, [4]) }
        #expect(try database.rows("SELECT data ->> 'type' FROM ps_crud ORDER BY id") == ["items", "items"])
        #expect(try rejected() == ["2: a parked", "3: a waiting"])
    }

    @Test(
        arguments: [(4, ["first", "second", "first", "first"]), (6, ["first", "first", "second", "first"])]
            as [(Int64, [String])]
    )
    func whatWaitsHasTheReasonOfTheFirstRejectedWrite(second: Int64, reasons: [String]) throws {
        try addTransactions()
        try park(.writes(reasons: [1: "first", second: "second"]))
        try database.write("INSERT INTO items(id, col) VALUES ('a', '3')")
        let entries = try database.queue.read { try RejectedWrites.all($0) }
        #expect(entries.map(\.write.id) == [1, 4, 6, 7])
        #expect(entries.map(\.reason) == reasons)
    }

    @Test func onlyForgettingAParkedWriteClosesTheGate() throws {
        try addTransactions()
        try park(.writes(reasons: [1: "no"]))
        try database.queue.write { db in
            try RejectedWrites.record(db, 2, reason: "skipped", at: now)
            try LocalWriteGate.setTarget(db, WriteCheckpoint(7))
            #expect(try RejectedWrites.remove(db, [2]) == 1)
            #expect(try LocalWriteGate.target(db) == WriteCheckpoint(7))
            #expect(try RejectedWrites.remove(db, [1]) == 1)
            #expect(try LocalWriteGate.target(db) == LocalWriteGate.pendingTarget)
        }
    }

    @Test func writesThatHaveLeftTheQueueAreNotSetAside() throws {
        try addTransactions()
        #expect(try park(.writes(reasons: [99: "gone"])).rejected.isEmpty)
        #expect(try queue().count == 6)
        #expect(try parkTriggers() == 0)
    }

    @Test func newWritesOfAParkedRowJoinTheOthers() throws {
        try addTransactions()
        try park(.writes(reasons: [1: "no"]))
        try database.write("INSERT INTO items(id, col) VALUES ('a', '3'), ('d', '3')")
        #expect(try queue() == ["2: b", "3: b", "5: c", "8: d"])
        #expect(try rejected() == ["1: a parked", "4: a waiting", "6: a waiting", "7: a waiting"])
        #expect(try database.texts("SELECT col FROM items WHERE id = 'a'") == ["3"])
    }

    @Test func joiningIsUndoneWithTheTransaction() throws {
        try addTransactions()
        try park(.writes(reasons: [1: "no"]))
        try database.run("BEGIN; INSERT INTO items(id, col) VALUES ('a', '3'); ROLLBACK;")
        #expect(try rejected().count == 3)
        try database.run(
            "BEGIN; SAVEPOINT s; INSERT INTO items(id, col) VALUES ('a', '3'); ROLLBACK TO s; COMMIT;"
        )
        #expect(try rejected().count == 3)
    }

    @Test func plainSQLiteLeavesARowParked() throws {
        try addTransactions()
        try park(.writes(reasons: [1: "no"]))
        // As another implementation would, and an entry of an app's own trigger that is no JSON.
        try database.write(
            """
            INSERT INTO ps_crud(tx_id, data) VALUES (9, '{"op":"DELETE","id":"a","type":"items"}');
            INSERT INTO ps_crud(tx_id, data) VALUES (9, '{"op":"DELETE","id":"a","type":"others"}');
            INSERT INTO ps_crud(tx_id, data) VALUES (9, 'malformed'), (9, NULL);
            """
        )
        #expect(try rejected().last == "7: a waiting")
        #expect(try database.rows("SELECT id FROM ps_crud WHERE tx_id = 9") == ["8", "9", "10"])
    }

    @Test func secondRejectionOfAnotherRowJoinsTheFirst() throws {
        try addTransactions()
        try park(.writes(reasons: [1: "first"]))
        try park(.writes(reasons: [2: "second"]))
        #expect(try queue() == ["5: c"])
        let entries = try database.queue.read { try RejectedWrites.all($0) }
        #expect(entries.map(\.reason) == ["first", "second", "second", "first", "first"])
    }

    @Test func everythingIsPutBackInOrderAndInItsTransactions() throws {
        try addTransactions()
        let texts = try database.entries()
        try park(.head(reason: "no"))
        try database.write("INSERT INTO items(id, col) VALUES ('d', '4')")
        try database.queue.write { db in
            try LocalWriteGate.setTarget(db, WriteCheckpoint(7))
            try RejectedWrites.restoreParked(db)
        }
        #expect(try rejected().isEmpty)
        #expect(try queue() == ["5: c", "7: d", "8: a", "9: b", "10: b", "11: a", "12: a"])
        #expect(try database.transactionIDs() == [2, 4, 5, 5, 6, 6, 7])
        #expect(try database.entries().suffix(5) == [texts[0], texts[1], texts[2], texts[3], texts[5]])
        #expect(try database.queue.read { try LocalWriteGate.target($0) } == LocalWriteGate.pendingTarget)
        // Nothing is parked any more.
        try database.write("INSERT INTO items(id, col) VALUES ('a', '5')")
        #expect(try queue().last == "13: a")
        #expect(try database.transactionIDs().last == 8)
        #expect(try parkTriggers() == 0)
    }

    @Test func parkedRowIsPutBackAsAWhole() throws {
        try addTransactions()
        try park(.head(reason: "no"))
        try database.queue.write { try RejectedWrites.restore($0, [6]) }
        #expect(try queue() == ["5: c", "7: a", "8: a", "9: a"])
        #expect(try rejected() == ["2: b parked", "3: b waiting"])
        try database.write("UPDATE items SET col = '3' WHERE id = 'b'")
        #expect(try rejected().last == "10: b waiting")
    }

    @Test func rowStaysParkedUntilItsLastWriteIsRemoved() throws {
        try addTransactions()
        try park(.writes(reasons: [1: "no"]))
        try database.queue.write { _ = try RejectedWrites.remove($0, [1]) }
        try database.write("INSERT INTO items(id, col) VALUES ('a', '3')")
        #expect(try rejected() == ["4: a waiting", "6: a waiting", "7: a waiting"])
        try database.queue.write { db in
            try UploadQueue.complete(db, through: 7, writeCheckpoint: WriteCheckpoint(1))
            _ = try RejectedWrites.remove(db, [4, 6, 7])
            // The row is to be published, for which a checkpoint is needed.
            #expect(try LocalWriteGate.target(db) == LocalWriteGate.pendingTarget)
        }
        #expect(try rejected().isEmpty)
        try database.write("UPDATE items SET col = '4' WHERE id = 'a'")
        #expect(try queue() == ["8: a"])
    }

    /// Otherwise nobody would ask for what the service says about it.
    @Test func forgettingAParkedWriteHasItsRowPublishedAgain() throws {
        try addTransactions()
        try park(.head(reason: "no"))
        try database.write("DELETE FROM ps_updated_rows")
        try database.queue.write { _ = try RejectedWrites.remove($0, [1, 4, 6]) }
        #expect(try database.rows("SELECT row_type, row_id FROM ps_updated_rows WHERE row_id = 'a'") == ["items|a"])
    }

    @Test func skippedWriteLeavesTheOthersAlone() throws {
        try addTransactions()
        let setAside = try database.queue.write {
            try RejectedWrites.setAside($0, .head(reason: "no"), .skip, at: now)
        }
        #expect(setAside.rejected.map(\.id) == [1, 2])
        #expect(try queue() == ["3: b", "4: a", "5: c", "6: a"])
        #expect(try rejected() == ["1: a skipped", "2: b skipped"])
        try database.queue.write { try RejectedWrites.restoreParked($0) }
        #expect(try rejected().count == 2)
    }

    @Test func entriesThatTheAppDeletedBySQLHoldNothingBack() throws {
        try addTransactions()
        try park(.head(reason: "no"))
        try database.write("DELETE FROM \(RejectedWrites.table)")
        try database.write("INSERT INTO items(id, col) VALUES ('a', '3')")
        #expect(try queue() == ["5: c", "7: a"])
        #expect(try database.rows(ParkedWrites.rowsSQL).isEmpty)
    }

    /// A later write of their rows is in the queue, and stays there when another row is parked.
    @Test func entriesThatTheAppDeletedBySQLTakeNothingAlong() throws {
        try addTransactions()
        try park(.head(reason: "no"))
        try database.write("DELETE FROM \(RejectedWrites.table)")
        try database.write("INSERT INTO items(id, col) VALUES ('a', '3')")
        #expect(try park(.writes(reasons: [5: "no"])).waiting == 0)
        #expect(try queue() == ["7: a"])
        #expect(try rejected() == ["5: c parked"])
    }

    /// It says nothing about the row with the empty id.
    @Test func aDamagedWriteOfATableWithoutARowHoldsNothingBack() throws {
        try database.write(#"INSERT INTO ps_crud(tx_id, data) VALUES (0, '{"op":"DELETE","type":"items","id":7}')"#)
        try database.write("INSERT INTO items(id, col) VALUES ('', '1')")
        #expect(try park(.head(reason: "damaged")).waiting == 0)
        #expect(try queue() == ["2: "])
        #expect(try rejected() == ["1:  skipped"])
    }

    @Test func aRowMayHaveTheEmptyID() throws {
        try database.write("INSERT INTO items(id, col) VALUES ('', '1')")
        try database.write("UPDATE items SET col = '2' WHERE id = ''")
        #expect(try park(.head(reason: "no")).waiting == 1)
        #expect(try queue().isEmpty)
        #expect(try rejected() == ["1:  parked", "2:  waiting"])
    }

    /// Every local write looks for its row.
    @Test func parkedRowsAreFoundByAnIndex() throws {
        try addTransactions()
        try park(.head(reason: "no"))
        let plan = try database.rows(
            "EXPLAIN QUERY PLAN SELECT id FROM \(ParkedWrites.table) WHERE type = 'items' AND row_id = 'a'"
        )
        #expect(plan.contains { $0.contains("INDEX powersync_swift_parked_rows") }, "\(plan)")
    }

    @Test func clearingForgetsThem() throws {
        try addTransactions()
        try park(.head(reason: "no"))
        try database.write("SELECT powersync_clear(0)")
        #expect(try rejected().isEmpty)
        #expect(try database.texts("SELECT count(*) FROM \(ParkedWrites.table)") == ["0"])
        try database.write("INSERT INTO items(id, col) VALUES ('a', '1')")
        #expect(try queue() == ["7: a"])
    }

    @Test func failureLeavesEverythingAsItWas() throws {
        struct Failure: Error {}
        try addTransactions()
        #expect(throws: Failure.self) {
            try database.queue.write { db in
                _ = try RejectedWrites.setAside(db, .head(reason: "no"), .park, at: now)
                throw Failure()
            }
        }
        #expect(try queue().count == 6)
        #expect(try rejected().isEmpty)
        #expect(try parkTriggers() == 0)
    }
}
