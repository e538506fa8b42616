import GRDB
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

struct QueueOwnerTests {
    private let database: LocalTestDatabase

    init() throws {
        database = try LocalTestDatabase()
    }

    private func claim(_ user: String) throws -> Int {
        try database.queue.write { try QueueOwner.claim($0, for: user) }
    }

    private func owner() throws -> String? {
        try database.queue.read { try KeyValueStore.text($0, .queueOwner) }
    }

    private func write() throws {
        try database.queue.write { try $0.execute(sql: "INSERT INTO items(id, col) VALUES (uuid(), 'x')") }
    }

    @Test func theFirstUserOwnsWhatWasWrittenBefore() throws {
        try write()
        #expect(try claim("a") == 0)
        #expect(try owner() == "a")
        #expect(try database.queue.read { try QueueOwner.isOwned($0, by: "a") })
        #expect(try !database.queue.read { try QueueOwner.isOwned($0, by: "b") })
    }

    @Test func anotherUserOwnsTheQueueWhenItIsEmptyAndNotBefore() throws {
        #expect(try claim("a") == 0)
        try write()
        try write()
        #expect(try claim("b") == 2)
        #expect(try owner() == "a")
        try database.queue.write { try $0.execute(sql: "DELETE FROM ps_crud") }
        #expect(try claim("b") == 0)
        #expect(try owner() == "b")
    }

    /// It is counted for each user.
    @Test func theLastNumberOfTheBackendIsOfItsUserAlone() throws {
        func awaited() throws -> WriteCheckpoint? {
            try write()
            return try database.queue.write { db in
                try db.execute(sql: "DELETE FROM ps_crud")
                let sequence = try #require(try UploadQueue.sequence(db))
                return try LocalWriteGate.awaitLastOwn(db, ifSequenceIs: sequence)
            }
        }
        #expect(try claim("a") == 0)
        try write()
        try database.queue.write { try UploadQueue.complete($0, through: 1, writeCheckpoint: WriteCheckpoint(7)) }
        #expect(try claim("a") == 0)
        #expect(try awaited() == WriteCheckpoint(7))
        #expect(try claim("b") == 0)
        #expect(try awaited() == nil)
    }

    @Test(arguments: [[], .soft, .localTables] as [ClearOptions]) func clearingForgetsTheOwner(
        options: ClearOptions
    ) throws {
        #expect(try claim("a") == 0)
        try write()
        try database.queue.write { try LocalData.clear($0, options) }
        #expect(try owner() == nil)
        try write()
        #expect(try claim("b") == 0)
    }
}
