import GRDB
import PowerSyncSQLite
import PowerSyncServiceCore

/// Numbers for texts that are stored again and again, inside one transaction.
///
/// Each text is looked up once in a transaction.
struct NameTable {
    private let select: PreparedStatement
    private let insert: PreparedStatement
    private let db: Database
    private var known: [ExactText: Int64] = [:]
    /// The texts that were asked for last: most operations that follow each other are of one table, which has an id and a name.
    private var last: (name: ExactText, id: Int64)?
    private var secondLast: (name: ExactText, id: Int64)?

    /// Prepares the statements.
    init(_ db: Database) throws {
        self.db = db
        select = try PreparedStatement(db, sql: "SELECT id FROM names WHERE name = ?")
        insert = try PreparedStatement(db, sql: "INSERT INTO names (name) VALUES (?)")
    }

    /// The number of a text; a new one when there is none.
    mutating func id(of name: String) throws -> Int64 {
        let key = ExactText(name)
        if let last, last.name == key { return last.id }
        if let secondLast, secondLast.name == key { return secondLast.id }
        let id = try find(key)
        (last, secondLast) = ((key, id), last)
        return id
    }

    private mutating func find(_ key: ExactText) throws -> Int64 {
        if let id = known[key] { return id }
        let name = key.text
        select.bind(name, at: 1)
        var id: Int64?
        while try select.step() { id = select.integer(at: 0) }
        if id == nil {
            insert.bind(name, at: 1)
            try insert.run()
        }
        let found = id ?? db.lastInsertedRowID
        known[key] = found
        return found
    }
}
