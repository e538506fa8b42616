import GRDB
import PowerSyncCoreTestSupport
import Testing

@testable import PowerSyncCore

/// Which tables observers of a connection hear of.
@Suite struct AnnouncementTests {
    private final class Observer: AnnouncementObserver {
        private(set) var told: [[String]?] = []
        private(set) var isBeingTold = false
        let awaitsEndOfCommit = false

        func willAnnounce(_ tables: [String]?) {
            told.append(tables)
            isBeingTold = true
        }

        func didAnnounce() {
            isBeingTold = false
        }
    }

    @Test func observersHearOfTablesUntilTheyAreRemoved() throws {
        let database = try LocalTestDatabase()
        let (first, second) = (Observer(), Observer())
        try database.queue.write { db in
            Announcements.add(db, first)
            Announcements.add(db, second)
            try Announcements.tell(db, ["ps_data__items"], in: .fullDatabase)
            Announcements.remove(db, first)
            try Announcements.tell(db, nil, in: .fullDatabase)
        }
        #expect(first.told == [["ps_data__items"]])
        #expect(second.told == [["ps_data__items"], nil])
        #expect(!first.isBeingTold)
        #expect(!second.isBeingTold)
    }

    /// Both virtual tables of the queue hear of the commit.
    @Test func localWritesAreAnnouncedOnceForEachTransaction() throws {
        var log = ClientTable.items(isInsertOnly: true)
        log.name = "log"
        let database = try LocalTestDatabase(.items(), log)
        let observer = Observer()
        database.queue.writeWithoutTransaction { db in Announcements.add(db, observer) }
        try database.write("INSERT INTO items(id) VALUES ('a'); INSERT INTO log(id) VALUES ('b')")
        #expect(observer.told == [["ps_crud", "ps_tx", "ps_kv"]])
        try database.run("BEGIN; INSERT INTO items(id) VALUES ('lost'); ROLLBACK")
        #expect(observer.told.count == 1)
        // The write gate is closed already.
        try database.write("INSERT INTO log(id) VALUES ('c'); INSERT INTO items(id) VALUES ('d')")
        #expect(observer.told == [["ps_crud", "ps_tx", "ps_kv"], ["ps_crud", "ps_tx"]])
    }
}
