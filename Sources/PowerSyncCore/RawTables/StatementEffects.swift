import GRDB
import PowerSyncSQLite

/// What a statement can do besides reading, found without running it.
enum StatementEffects {
    /// The tables and views that a statement can write to, with its triggers and foreign key actions; its own comes first.
    ///
    /// SQLite's authorizer tells GRDB of the writes of each statement that is prepared, and GRDB asks its observers about them when
    /// the statement is executed: also for a statement with `EXPLAIN` before it, which writes nothing.
    ///
    /// - Returns: Their names in SQLite, whichever database they are in; none for a statement that does not write.
    /// - Throws: GRDB's `DatabaseError` when SQLite does not understand the statement.
    static func tables(_ db: Database, of sql: String) throws -> [String] {
        // GRDB would take `EXPLAIN COMMIT` for the end of the transaction.
        guard try !db.makeStatement(sql: sql).isReadonly else { return [] }
        let explanation = try db.makeStatement(sql: "EXPLAIN \(sql)")
        let observer = Observer()
        db.add(transactionObserver: observer)
        defer { db.remove(transactionObserver: observer) }
        explanation.setUncheckedArguments(StatementArguments())
        try explanation.execute()
        return observer.tables
    }

    /// The triggers that a statement can fire.
    ///
    /// `EXPLAIN` lists the program of the statement, followed by those of triggers, whose first instruction has their names:
    ///
    /// ```
    /// addr  opcode  p1  p2  p3  p4
    /// 0     Init    0   1   0   -- TRIGGER x
    /// ```
    static func triggers(_ db: Database, of sql: String) throws -> Set<String> {
        // Not a kept statement: EXPLAIN is not compiled anew when another connection has changed the schema.
        guard let connection = unsafe db.sqliteConnection,
            let steps = try unsafe PreparedStatement(preparing: "EXPLAIN \(sql)", on: unsafe connection)
        else { return [] }
        let mark = "-- TRIGGER "
        var triggers: Set<String> = []
        while try steps.step() {
            guard let text = unsafe steps.text(at: 5).map({ unsafe String(decoding: $0, as: UTF8.self) }),
                text.hasPrefix(mark)
            else {
                continue
            }
            triggers.insert(String(text.dropFirst(mark.count)))
        }
        return triggers
    }

    /// Notes the tables that GRDB asks about.
    private final class Observer: TransactionObserver {
        private(set) var tables: [String] = []

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
            if !tables.contains(eventKind.tableName) { tables.append(eventKind.tableName) }
            return false
        }

        func databaseDidChange(with event: DatabaseEvent) {}
        func databaseDidCommit(_ db: Database) {}
        func databaseDidRollback(_ db: Database) {}
    }
}
