import Foundation
import GRDB
import Testing

@testable import PowerSyncClient

/// What watches need of GRDB; last looked at in version 7.10.
///
/// When one of these fails with another version, read ``ChangeTracker`` and `GRDB/Core/TransactionObserver.swift` again before
/// the version is accepted.
@Suite struct GRDBObservationTests {
    /// GRDB's `DatabaseEventKind`, comparable.
    private struct Kind: Equatable {
        let operation: DatabaseEvent.Kind
        let table: String

        init(_ kind: DatabaseEventKind) {
            table = kind.tableName
            operation =
                switch kind {
                case .insert: .insert
                case .update: .update
                case .delete: .delete
                }
        }
    }

    /// Writes down what it is told.
    private final class Witness: TransactionObserver {
        var asked: [Kind] = []
        var rows: [(operation: DatabaseEvent.Kind, table: String)] = []
        var unasked: [String] = []
        var announcements = 0
        /// Looks at the file from elsewhere.
        let count: () throws -> Int?
        var countBefore: Int?
        var countAfter: Int?

        init(count: @escaping () throws -> Int?) {
            self.count = count
        }

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
            asked.append(Kind(eventKind))
            return true
        }

        func databaseDidChange() { announcements += 1 }

        func databaseDidChange(with event: DatabaseEvent) {
            rows.append((event.kind, event.tableName))
            if !asked.contains(where: { $0.operation == event.kind && $0.table == event.tableName }) {
                unasked.append(event.tableName)
            }
        }

        func databaseWillCommit() throws { countBefore = try count() }
        func databaseDidCommit(_ db: Database) { countAfter = try? count() }
        func databaseDidRollback(_ db: Database) {}
    }

    private func withWitness(_ body: (Database, Witness) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).db").path
        defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
        let pool = try DatabasePool(path: path)
        try pool.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE a (x, y);
                    CREATE TABLE b (x);
                    CREATE TRIGGER a_insert AFTER INSERT ON a BEGIN INSERT INTO b VALUES (NEW.x); END;
                    """
            )
        }
        let other = try DatabaseQueue(path: path)
        let witness = Witness { try other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM a") } }
        try pool.writeWithoutTransaction { db in
            db.add(transactionObserver: witness)
            try body(db, witness)
        }
        try other.close()
        try pool.close()
    }

    @Test func kindsAreAskedForBeforeRowsAreReported() throws {
        try withWitness { db, witness in
            try db.execute(sql: "INSERT INTO a VALUES (1, 1), (2, 2); UPDATE a SET y = 3; DELETE FROM a")
            #expect(witness.unasked.isEmpty)
            #expect(witness.rows.map(\.table) == ["a", "b", "a", "b", "a", "a", "a", "a"])
            #expect(witness.asked.contains(Kind(.update(tableName: "a", columnNames: ["y"]))))
        }
    }

    @Test func kindsAreAskedForAgainWithEachExecution() throws {
        try withWitness { db, witness in
            let statement = try db.makeStatement(sql: "INSERT INTO b VALUES (1)")
            for _ in 0..<3 {
                witness.asked = []
                try statement.execute()
                #expect(witness.asked == [Kind(.insert(tableName: "b"))])
            }
        }
    }

    @Test func announcementsAreToldAsSuch() throws {
        try withWitness { db, witness in
            try db.inTransaction {
                try db.notifyChanges(in: Table("a"))
                return .commit
            }
            #expect(witness.announcements == 1)
        }
    }

    @Test func deletionsAreReportedRowByRowAfterAnObserverWasAdded() throws {
        try withWitness { db, witness in
            db.remove(transactionObserver: witness)
            _ = try db.cachedStatement(sql: "DELETE FROM b")
            db.add(transactionObserver: witness)
            try db.execute(sql: "INSERT INTO b VALUES (1), (2)")
            witness.rows = []
            try db.cachedStatement(sql: "DELETE FROM b").execute()
            #expect(witness.rows.map(\.operation) == [.delete, .delete])
        }
    }

    @Test func commitBecomesVisibleBetweenItsTwoCalls() throws {
        try withWitness { db, witness in
            try db.execute(sql: "INSERT INTO a VALUES (1, 1)")
            #expect(witness.countBefore == 0)
            #expect(witness.countAfter == 1)
        }
    }
}
