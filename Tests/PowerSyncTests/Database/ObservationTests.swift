import Foundation
import GRDB
import PowerSyncCore
import TestSupport
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct ObservationTests {
    @Test
    func grdbValueObservationOnAViewSeesWritesThroughItsTriggers() async throws {
        try await withFileDatabase { database in
            let writer = try await (try #require(database as? SyncedDatabase)).local.writer()
            let observation = ValueObservation.tracking { db in
                try String.fetchAll(db, sql: "SELECT name FROM users ORDER BY name")
            }
            var values = observation.values(in: writer).makeAsyncIterator()
            #expect(try await values.next() == [])
            try await database.insertUser("Ada", id: "1")
            while let names = try await values.next(), names != ["Ada"] {}
            try await database.execute("UPDATE users SET name = 'Bea' WHERE id = '1'")
            while let names = try await values.next(), names != ["Bea"] {}
            try await database.execute("DELETE FROM users")
            while let names = try await values.next(), names != [] {}
        }
    }

    @Test
    func grdbValueObservationOnAViewSeesRowsThatTheEngineAnnounces() async throws {
        try await withFileDatabase { database in
            let local = try #require(database as? SyncedDatabase).local
            let observation = ValueObservation.tracking { db in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM users") ?? 0
            }
            var values = observation.values(in: try await local.writer()).makeAsyncIterator()
            #expect(try await values.next() == 0)
            try await local.write { db in
                try db.execute(sql: "INSERT INTO ps_data__users (id, data) VALUES ('1', '{}')")
                try db.notifyChanges(in: GRDB.Table("ps_data__users"))
            }
            while let count = try await values.next(), count != 1 {}
        }
    }

    @Test
    func commitsThatAppendToTheUploadQueueAreAnnouncedOthersAreNot() async throws {
        let schema = PowerSyncClient.Schema(
            PowerSyncClient.Table(name: "users", columns: [.text("name")]),
            PowerSyncClient.Table(name: "logs", columns: [.text("text")], insertOnly: true),
            PowerSyncClient.Table(name: "drafts", columns: [.text("text")], localOnly: true)
        )
        try await withFileDatabase(schema) { database in
            let local = try #require(database as? SyncedDatabase).local
            var changes = local.uploadQueueChanges().makeAsyncIterator()
            // A local-only write and a rolled-back one first: if they counted, the first element would come too early.
            try await database.execute("INSERT INTO drafts (id, text) VALUES ('1', 'x')")
            _ = try? await database.writeTransaction { transaction in
                try transaction.execute(sql: "INSERT INTO users (id, name) VALUES ('0', 'x')", parameters: [])
                throw CancellationError()
            }
            let announced = Counter()
            let waiter = Task {
                await changes.next()
                announced.increment()
            }
            try await database.execute("INSERT INTO users (id, name) VALUES ('1', 'Ada')")
            await announced.wait(for: 1)
            await waiter.value

            var more = local.uploadQueueChanges().makeAsyncIterator()
            try await database.execute("INSERT INTO logs (id, text) VALUES ('1', 'x')")
            #expect(await more.next() != nil)
            try await database.close()
            #expect(await more.next() == nil)
        }
    }

    @Test
    func writeOfAnotherInstanceIsAnnouncedToTheUploadLoopOfThisOne() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("a.db").path
            let first = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: DefaultLogger(writers: []))
            let second = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: DefaultLogger(writers: []))
            try await first.waitForReady()
            var changes = try #require(first as? SyncedDatabase).local.uploadQueueChanges().makeAsyncIterator()
            try await second.insertUser("Ada")
            #expect(await changes.next() != nil)
            try await first.close()
            try await second.close()
        }
    }
}
