import GRDB
import PowerSyncSQLite

/// A savepoint of a publication, which GRDB's observers are not told of: nor are they of what is undone.
struct Savepoint {
    private let name: String
    private let db: Database

    /// Begins a savepoint inside the transaction.
    init(_ db: Database, _ name: String) throws {
        self.name = name
        self.db = db
        try PreparedStatement(db, sql: "SAVEPOINT \(name)").run()
    }

    /// Undoes what has happened since the savepoint began, which stays.
    func undo() throws {
        try PreparedStatement(db, sql: "ROLLBACK TO \(name)").run()
    }

    /// Ends the savepoint.
    func end() throws {
        try PreparedStatement(db, sql: "RELEASE \(name)").run()
    }
}
