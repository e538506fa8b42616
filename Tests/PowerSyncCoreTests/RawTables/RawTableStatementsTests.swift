import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncSQLite
import Testing

@testable import PowerSyncCore

/// Statements of raw tables are worked out once, and again when something changes that they depend on.
@Suite struct RawTableStatementsTests {
    private let database: LocalTestDatabase
    private let statements = RawTableStatements()
    private let table = ClientRawTable(name: "t", structure: .init(tableName: "t"))

    init() throws {
        database = try LocalTestDatabase(schema: ClientSchema(rawTables: [table]))
        try database.run(
            """
            CREATE TABLE t (id TEXT PRIMARY KEY, name TEXT);
            CREATE TABLE children (id TEXT PRIMARY KEY, t TEXT REFERENCES t (id) ON DELETE SET NULL);
            PRAGMA foreign_keys = OFF;
            """
        )
    }

    private func statement(_ kind: RawTableStatements.Kind) throws -> RawTableStatement {
        try database.queue.writeWithoutTransaction { db in
            try statements.statement(kind, of: table, db)
        }
    }

    private func tables(_ names: String...) -> WrittenTables {
        .tables(Set(names.map { ExactText($0) }))
    }

    @Test func whatADeletionWritesFollowsTheForeignKeys() throws {
        #expect(try statement(.delete).written == tables("t"))
        try database.run("PRAGMA foreign_keys = ON")
        #expect(try statement(.delete).written == tables("t", "children"))
        try database.run("PRAGMA foreign_keys = OFF")
        #expect(try statement(.delete).written == tables("t"))
    }

    @Test func whatAStatementWritesFollowsTheTriggers() throws {
        #expect(try statement(.put).written == tables("t"))
        try database.run(
            "CREATE TRIGGER copy AFTER INSERT ON t BEGIN INSERT INTO children (id) VALUES (NEW.id); END"
        )
        #expect(try statement(.put).written == tables("t", "children"))
        try database.run("DROP TRIGGER copy")
        try database.run(
            """
            CREATE TEMP TABLE seen (id);
            CREATE TEMP TRIGGER see AFTER INSERT ON t BEGIN INSERT INTO seen VALUES (NEW.id); END;
            """
        )
        #expect(try statement(.put).written == .anything)
    }

    @Test(arguments: [
        ("DELETE FROM t WHERE id = ?; DELETE FROM children", "DELETE FROM children"),
        ("DELETE FROM t WHERE id = ?;; nonsense", "nonsense"),
    ])
    func severalStatementsAreRefused(sql: String, dropped: String) throws {
        let table = ClientRawTable(name: "t", delete: .init(sql: sql, parameters: [.id]))
        let error = #expect(throws: LocalDatabaseError.self) {
            try database.queue.writeWithoutTransaction { db in
                _ = try statements.statement(.delete, of: table, db)
            }
        }
        #expect(error?.message.contains("raw table t") == true)
        #expect(error?.message.contains(dropped) == true, "\(error?.message ?? "")")
    }

    @Test func commentsAfterAStatementAreNoOther() throws {
        let table = ClientRawTable(
            name: "t",
            delete: .init(sql: "DELETE FROM t WHERE id = ?; -- why\n ;", parameters: [.id])
        )
        try database.queue.writeWithoutTransaction { db in
            _ = try statements.statement(.delete, of: table, db)
        }
    }

    @Test func columnsFollowTheTable() throws {
        #expect(try statement(.put).parameters == [.id, .column("name")])
        try database.run("ALTER TABLE t ADD COLUMN age INTEGER")
        #expect(try statement(.put).parameters == [.id, .column("name"), .column("age")])
        #expect(try statement(.delete).parameters == [.id])
    }
}
