import GRDB
import PowerSyncCore
import Testing

@testable import PowerSyncClient

private typealias News = ChangeListener.News

@Suite struct ChangeTrackerTests {
    private let tracker = ChangeTracker()
    private let writer: DatabaseQueue

    init() throws {
        writer = try DatabaseQueue()
        try writer.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE a (x, y);
                    CREATE TABLE b (x, y);
                    CREATE TABLE ps_crud (id INTEGER PRIMARY KEY, data TEXT);
                    CREATE VIEW v AS SELECT x FROM a;
                    CREATE TRIGGER v_insert INSTEAD OF INSERT ON v BEGIN
                        INSERT INTO a (x) VALUES (NEW.x);
                    END;
                    CREATE VIRTUAL TABLE texts USING fts5(x);
                    """
            )
        }
        try writer.writeWithoutTransaction { db in
            try SQLFunctions.install(on: db)
            tracker.observe(db)
        }
    }

    private func region(_ sql: String) throws -> ChangeListener.Interest {
        .region(try writer.read { try $0.makeStatement(sql: sql).databaseRegion })
    }

    /// A listener for a query; it is told nothing of what has happened so far.
    private func listener(_ query: String) throws -> ChangeListener {
        let listener = ChangeListener()
        tracker.add(listener, interest: try region(query))
        writer.writeWithoutTransaction { tracker.confirmListeners($0) }
        return listener
    }

    private func write(_ sql: String) throws {
        try writer.writeWithoutTransaction { try $0.execute(sql: sql) }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let query: String
        let write: String
        let tables: Set<String>

        var testDescription: String { "\(query) after \(write)" }
    }

    static let cases = [
        Case(query: "SELECT * FROM a", write: "INSERT INTO a VALUES (1, 1)", tables: ["a"]),
        Case(query: "SELECT * FROM a", write: "INSERT INTO v VALUES (1)", tables: ["a"]),
        Case(query: "SELECT * FROM v", write: "INSERT INTO A VALUES (1, 1)", tables: ["a"]),
        Case(query: "SELECT * FROM v", write: "INSERT INTO v VALUES (1)", tables: ["a"]),
        Case(query: "SELECT b.x FROM a JOIN b", write: "INSERT INTO b VALUES (1, 1)", tables: ["b"]),
        Case(query: "SELECT count(*) FROM a", write: "UPDATE a SET y = 2", tables: ["a"]),
        Case(query: "SELECT * FROM a", write: "DELETE FROM a", tables: ["a"]),
        Case(query: "SELECT * FROM texts", write: "INSERT INTO texts VALUES ('a')", tables: ["texts"]),
        Case(query: "SELECT x FROM a", write: "BEGIN; UPDATE a SET y = 2; UPDATE a SET x = 2; COMMIT", tables: ["a"]),
        Case(query: "SELECT * FROM a", write: "BEGIN; SAVEPOINT s; DELETE FROM a; RELEASE s; COMMIT", tables: ["a"]),
        Case(query: "SELECT * FROM a", write: "INSERT INTO b VALUES (1, 1)", tables: []),
        Case(query: "SELECT * FROM a", write: "INSERT INTO texts VALUES ('a')", tables: []),
        // A table is changed as a whole, whatever the columns.
        Case(query: "SELECT x FROM a", write: "UPDATE a SET y = 2", tables: ["a"]),
        Case(query: "SELECT * FROM a", write: "UPDATE a SET x = 2 WHERE x = 5", tables: []),
        Case(query: "SELECT * FROM a", write: "UPDATE a SET x = 2 WHERE x = 5; DELETE FROM b", tables: []),
        Case(query: "SELECT * FROM a", write: "BEGIN; DELETE FROM a; ROLLBACK", tables: []),
        Case(
            query: "SELECT * FROM a",
            write: "BEGIN; SAVEPOINT s; DELETE FROM a; ROLLBACK TO s; RELEASE s; COMMIT",
            tables: []
        ),
    ]

    @Test(arguments: cases)
    func listenerHearsOfWhatItsQueryReads(_ example: Case) throws {
        try write("INSERT INTO a VALUES (0, 0); INSERT INTO b VALUES (0, 0)")
        let listener = try listener(example.query)
        try write(example.write)
        let news = listener.takeNews()
        #expect(news.tables == example.tables && !news.mayBeAny)
        #expect((news.lastCertain > 0) == !example.tables.isEmpty)
        #expect(listener.takeNews().isEmpty)
    }

    @Test func tablesOfOneListenerAreToldApart() throws {
        let listener = try listener("SELECT * FROM a, b")
        try write("DELETE FROM a; INSERT INTO b VALUES (1, 1)")
        #expect(listener.takeNews().tables == ["b"])
    }

    @Test func tablesAreKnownByNameWhateverTheCase() throws {
        let listener = ChangeListener()
        tracker.add(listener, interest: .tables(["a", "no_such_table"]))
        try write("INSERT INTO A VALUES (1, 1)")
        #expect(listener.takeNews().tables == ["a"])
        try write("INSERT INTO b VALUES (1, 1)")
        #expect(listener.takeNews().isEmpty)
    }

    @Test func whoseInterestsAreUnknownHearsOfEverything() throws {
        let listener = ChangeListener()
        tracker.add(listener)
        try write("INSERT INTO b VALUES (1, 1)")
        #expect(listener.takeNews() == News(mayBeAny: true, lastPossible: 1))
    }

    @Test
    func announcementOfTheEngineReachesAllListenersOfTheTablesAndNoOthers() throws {
        let first = try listener("SELECT * FROM a")
        let second = try listener("SELECT * FROM b")
        let other = try listener("SELECT * FROM ps_crud")
        let region = try writer.read { try $0.makeStatement(sql: "SELECT * FROM a, b").databaseRegion }
        try writer.write { try Announcements.tell($0, ["a", "b"], in: region) }
        #expect(first.takeNews() == News(tables: ["a"], lastCertain: 1))
        #expect(second.takeNews().tables == ["b"])
        #expect(other.takeNews().isEmpty)
        try writer.write { try Announcements.tell($0, nil, in: .fullDatabase) }
        for listener in [first, second, other] {
            #expect(listener.takeNews() == News(mayBeAny: true, lastPossible: 2))
        }
    }

    @Test
    func announcementOfSomebodyElseMayConcernEverybodyHoweverNarrowItIs() throws {
        let listeners = [try listener("SELECT * FROM a"), try listener("SELECT * FROM b")]
        try writer.write { try $0.notifyChanges(in: Table("a")) }
        for listener in listeners { #expect(listener.takeNews() == News(mayBeAny: true, lastPossible: 1)) }
    }

    @Test func announcementsThatAreRolledBackAreNotHeard() throws {
        let listener = try listener("SELECT * FROM a")
        try writer.writeWithoutTransaction { db in
            try db.inTransaction {
                try db.notifyChanges(in: .fullDatabase)
                return .rollback
            }
        }
        #expect(listener.takeNews().isEmpty)
    }

    /// A listener that is added during a transaction hears of what it may have changed, and of nothing else.
    @Test
    func lateListenerHearsOfTheCommit() throws {
        let (concerned, other, unknown) = (ChangeListener(), ChangeListener(), ChangeListener())
        try writer.write { db in
            try db.execute(sql: "INSERT INTO a VALUES (1, 1)")
            tracker.add(concerned, interest: .tables(["a"]))
            tracker.add(other, interest: .tables(["b"]))
            tracker.add(unknown)
            tracker.track(.tables(["b"]), for: unknown)
            #expect(concerned.takeNews().isEmpty)
        }
        #expect(concerned.takeNews() == News(tables: ["a"], lastPossible: 1))
        #expect(other.takeNews().isEmpty)
        #expect(unknown.takeNews().isEmpty)
        try write("INSERT INTO b VALUES (1, 1)")
        #expect(concerned.takeNews().isEmpty)
        #expect(other.takeNews().lastCertain == 2)
    }

    /// A listener that is added late hears of statements that had been executed before the transaction as well.
    @Test
    func lateListenerHearsOfKnownStatements() throws {
        let (concerned, other) = (ChangeListener(), ChangeListener())
        try write("INSERT INTO a VALUES (0, 0); INSERT INTO b VALUES (0, 0)")
        try writer.write { db in
            try db.execute(sql: "INSERT INTO a VALUES (1, 1)")
            tracker.add(concerned, interest: .tables(["a"]))
            tracker.add(other, interest: .tables(["b"]))
        }
        #expect(concerned.takeNews().tables == ["a"])
        #expect(other.takeNews().isEmpty)
    }

    @Test
    func updatesOfOneTableReachTheQueriesOfAllOfItsColumns() throws {
        try write("INSERT INTO a VALUES (0, 0)")
        let (ofX, ofY) = (try listener("SELECT x FROM a"), try listener("SELECT y FROM a"))
        try write("UPDATE a SET y = 2")
        #expect(ofX.takeNews() == News(tables: ["a"], lastCertain: 2))
        #expect(ofY.takeNews() == News(tables: ["a"], lastCertain: 2))
    }

    @Test(.timeLimit(.minutes(1)))
    func commitsThatAppendToTheUploadQueueAreToldOfWhomeverAndNoOthers() async throws {
        var changes = tracker.uploadQueueChanges().makeAsyncIterator()
        try write("INSERT INTO ps_crud (data) VALUES ('x')")
        #expect(await changes.next() != nil)
        tracker.announce(["a", "ps_crud"])
        #expect(await changes.next() != nil)
        try write("DELETE FROM ps_crud; INSERT INTO a VALUES (1, 1)")
        tracker.announce(["a"])
        tracker.finish()
        #expect(await changes.next() == nil)
    }

    @Test
    func listenerWithNewInterestsLooksAgainAtOnceAndAfterAnOpenTransaction() throws {
        let listener = try listener("SELECT * FROM a")
        let b = try region("SELECT * FROM b")
        try writer.write { db in
            try db.execute(sql: "INSERT INTO b VALUES (1, 1)")
            tracker.track(b, for: listener)
            #expect(listener.takeNews() == .anything)
            tracker.track(b, for: listener)
            #expect(listener.takeNews().isEmpty)
        }
        #expect(listener.takeNews() == News(tables: ["b"], lastPossible: 1))
        try write("INSERT INTO a VALUES (1, 1)")
        #expect(listener.takeNews().isEmpty)
    }

    @Test
    func preparingAStatementIsNoChangeOfOtherTables() throws {
        let listener = try writer.writeWithoutTransaction { db in
            _ = try db.makeStatement(sql: "DELETE FROM b")
            let listener = ChangeListener()
            tracker.add(listener, interest: .tables(["a"]))
            return listener
        }
        try write("INSERT INTO b VALUES (1, 1)")
        #expect(listener.takeNews().isEmpty)
    }

    @Test
    func deleteThatWasPreparedBeforeAnybodyListenedIsHeardOf() throws {
        func deleteAll() throws {
            try writer.write { db in
                try db.execute(sql: "INSERT INTO a VALUES (1, 1)")
            }
            try writer.write { db in try db.cachedStatement(sql: "DELETE FROM a").execute() }
        }
        try deleteAll()
        let listener = try listener("SELECT * FROM a")
        writer.writeWithoutTransaction { tracker.confirmListeners($0) }
        #expect(listener.takeNews().isEmpty)
        try write("INSERT INTO a VALUES (1, 1)")
        _ = listener.takeNews()
        try writer.write { db in try db.cachedStatement(sql: "DELETE FROM a").execute() }
        #expect(listener.takeNews().tables == ["a"])
    }

    /// Until a listener is confirmed, a DELETE that was prepared before may have deleted rows unnoticed.
    @Test
    func unconfirmedListenerHearsOfPossibleDeletions() throws {
        func delete() throws {
            try writer.write { db in try db.cachedStatement(sql: "DELETE FROM a").execute() }
        }
        // Reading makes SQLite compile its statements anew.
        let interest = try region("SELECT * FROM a")
        try delete()
        let listener = ChangeListener()
        tracker.add(listener, interest: interest)
        try write("INSERT INTO a VALUES (1, 1); INSERT INTO b VALUES (1, 1)")
        #expect(listener.takeNews().lastCertain == 2)
        try delete()
        #expect(listener.takeNews() == News(tables: ["a"], lastPossible: 4))
        try write("DELETE FROM b")
        writer.writeWithoutTransaction { tracker.confirmListeners($0) }
        #expect(listener.takeNews().isEmpty)
        try write("DELETE FROM a WHERE x = 5")
        #expect(listener.takeNews().isEmpty)
    }

    @Test
    func ofManyListenersOneWriteConcernsTheRightOnesOnly() throws {
        try writer.write { db in
            for index in 0..<200 { try db.execute(sql: "CREATE TABLE t\(index) (x)") }
        }
        let listeners = try (0..<200).map { try listener("SELECT * FROM t\($0)") }
        try write("BEGIN; INSERT INTO t7 VALUES (1); INSERT INTO t9 VALUES (1); COMMIT")
        let concerned = listeners.indices.filter { !listeners[$0].takeNews().isEmpty }
        #expect(concerned == [7, 9])
    }

    @Test
    func whatOtherConnectionsHaveWrittenIsHeardOfByThoseWhomItConcerns() throws {
        let concerned = try listener("SELECT * FROM b, a")
        let other = try listener("SELECT * FROM b")
        tracker.announce(["A", "ps_crud"])
        #expect(concerned.takeNews() == News(tables: ["a"], lastPossible: News.unknownCommit))
        #expect(other.takeNews().isEmpty)
    }

    @Test
    func whileACommitIsUnderWayAReaderMaySeeItOrNot() throws {
        final class Witness: TransactionObserver {
            let tracker: ChangeTracker
            var seen: [SeenCommits] = []
            init(_ tracker: ChangeTracker) { self.tracker = tracker }
            func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
            func databaseDidChange(with event: DatabaseEvent) {}
            func databaseWillCommit() { seen.append(tracker.seenCommits) }
            func databaseDidCommit(_ db: Database) { seen.append(tracker.seenCommits) }
            func databaseDidRollback(_ db: Database) {}
        }
        let seen = try writer.writeWithoutTransaction { db in
            let witness = Witness(tracker)
            db.add(transactionObserver: witness)
            try db.execute(sql: "INSERT INTO a VALUES (1, 1)")
            return witness.seen
        }
        #expect(seen == [SeenCommits(contained: 0, possible: 1), SeenCommits(contained: 1, possible: 1)])
    }

    @Test func rowsOfWhatHasChangedAlreadyAreNotReported() throws {
        let listener = try listener("SELECT * FROM v")
        try writer.write { db in
            #expect(tracker.observes(eventsOfKind: .insert(tableName: "a")))
            try db.execute(sql: "INSERT INTO v VALUES (1)")
            for table in ["a", "v"] {
                #expect(!tracker.observes(eventsOfKind: .insert(tableName: table)), "\(table)")
            }
            // The answer decides how the statement deletes later on.
            #expect(tracker.observes(eventsOfKind: .delete(tableName: "a")))
        }
        #expect(listener.takeNews() == News(tables: ["a"], lastCertain: 1))
    }

    @Test func entriesThatAreRemovedFromTheUploadQueueAreNotReported() throws {
        let changes = tracker.uploadQueueChanges()
        #expect(tracker.observes(eventsOfKind: .insert(tableName: "ps_crud")))
        #expect(!tracker.observes(eventsOfKind: .delete(tableName: "ps_crud")))
        withExtendedLifetime(changes) {}
    }

    @Test func aListenerIsCalledForEachCommitOfInterest() throws {
        let calls = Shared(0)
        let listener = ChangeListener(onNews: { calls.value += 1 })
        tracker.add(listener, interest: .appendedEntries)
        try write("INSERT INTO a VALUES (1, 1)")
        #expect(calls.value == 0)
        try write("INSERT INTO ps_crud (data) VALUES ('x')")
        try write("INSERT INTO ps_crud (data) VALUES ('y')")
        #expect(calls.value == 2)
        tracker.remove(listener)
        try write("INSERT INTO ps_crud (data) VALUES ('z')")
        #expect(calls.value == 2)
    }

    @Test func removedListenersHearNothing() throws {
        let listener = try listener("SELECT * FROM a")
        tracker.remove(listener)
        try write("INSERT INTO a VALUES (1, 1)")
        tracker.announceAll()
        #expect(listener.takeNews().isEmpty)
    }

    @Test(.timeLimit(.minutes(1))) func finishedTrackerFinishesItsListeners() async throws {
        let early = try listener("SELECT * FROM a")
        tracker.finish()
        let late = ChangeListener()
        tracker.add(late)
        for listener in [early, late] {
            var signals = listener.signals.makeAsyncIterator()
            #expect(await signals.next() == nil)
        }
    }
}
