import GRDB

/// Writes through a view with prepared statements on a connection without GRDB.
final class ViewWriter {
    /// Kept open: the functions prepare statements of their own.
    private let database: PlainDatabase
    private let begin: PlainStatement
    private let commit: PlainStatement
    private let insert: PlainStatement
    private let update: PlainStatement
    private let delete: PlainStatement

    /// Prepares the statements.
    init(_ db: PlainDatabase) throws {
        database = db
        try db.installFunctions()
        begin = try db.prepare("BEGIN IMMEDIATE")
        commit = try db.prepare("COMMIT")
        insert = try db.prepare("INSERT INTO lists(id, owner, number, title, done) VALUES (?1, 'user-1', 1, ?2, 0)")
        update = try db.prepare("UPDATE lists SET owner = 'user-2' WHERE id = ?1")
        delete = try db.prepare("DELETE FROM lists WHERE id = ?1")
    }

    /// Writes rows in one transaction.
    func write(_ operation: LocalWriteBenchmarks.Operation, _ rows: ArraySlice<Workload.Row>) throws {
        try begin.run()
        for row in rows {
            switch operation {
            case .insert:
                insert.bind(row.id, at: 1)
                insert.bind(row.data, at: 2)
                try insert.run()
            case .update:
                update.bind(row.id, at: 1)
                try update.run()
            case .delete:
                delete.bind(row.id, at: 1)
                try delete.run()
            }
        }
        try commit.run()
    }
}
