package import GRDB
import PowerSyncProtocol
import PowerSyncSQLite

/// A table of SQLite with ids of a type, a collation and a form.
package struct SQLiteIDTable: Sendable, CustomStringConvertible {
    /// The statement that makes it.
    package let sql: String

    package var description: String { sql }

    private init(_ column: String, _ options: [String], key: String = "") {
        let note = "note \(options.contains("STRICT") ? "TEXT" : "")"
        sql = "CREATE TABLE items (\(column), \(note)\(key)) \(options.joined(separator: ", "))"
    }

    /// The table of every type, collation and form.
    package static let all: [SQLiteIDTable] = {
        var tables: [SQLiteIDTable] = []
        let types = ["INTEGER", "TEXT", "REAL", "NUMERIC", "BLOB", ""]
        let strictTypes = ["INTEGER", "INT", "TEXT", "REAL", "BLOB", "ANY"]
        for type in ["INT", "VARCHAR(20)", "DOUBLE", "STRING", "UUID", "ANY"] {
            tables.append(Self("id \(type) PRIMARY KEY NOT NULL", []))
        }
        for collation in ["BINARY", "NOCASE", "RTRIM"] {
            func column(_ type: String) -> String { "id \(type) COLLATE \(collation) PRIMARY KEY NOT NULL" }
            for type in types { tables += [Self(column(type), []), Self(column(type), ["WITHOUT ROWID"])] }
            for type in strictTypes { tables.append(Self(column(type), ["STRICT"])) }
            // The key compares as another collation does than the column.
            tables.append(Self("id TEXT COLLATE \(collation)", [], key: ", PRIMARY KEY (id COLLATE NOCASE)"))
            tables.append(Self("id TEXT COLLATE \(collation)", [], key: ", PRIMARY KEY (id COLLATE BINARY)"))
        }
        return tables
    }()
}

extension Database {
    /// Stores a row, as any program does.
    package func insertItem(_ id: String, note: String) throws -> Bool {
        let statement = try PreparedStatement(self, sql: "INSERT INTO items (id, note) VALUES (?1, ?2)")
        statement.bind(id, at: 1)
        statement.bind(note, at: 2)
        do {
            try statement.run()
            return true
        } catch let error as DatabaseError where [.SQLITE_CONSTRAINT, .SQLITE_MISMATCH].contains(error.resultCode) {
            return false
        }
    }

    /// Whether SQLite finds a row when it compares the column with a text.
    package func findsItem(_ id: String) throws -> Bool {
        let statement = try PreparedStatement(self, sql: "SELECT 1 FROM items WHERE id = ?1")
        defer { statement.reset() }
        statement.bind(id, at: 1)
        return try statement.step()
    }

    /// The rows, with ids as the sync service sends them.
    package func items() throws -> [IDRow] {
        let statement = try PreparedStatement(self, sql: "SELECT id, note FROM items")
        var rows: [IDRow] = []
        while try statement.step() {
            let id: String
            switch statement.storageClass(at: 0) {
            case .integer: id = String(statement.integer(at: 0))
            case .real:
                let number = statement.double(at: 0)
                // Infinite numbers are no ids.
                id = number.isFinite ? RealText.plain(number) : "infinite"
            default: id = statement.string(at: 0) ?? ""
            }
            rows.append(IDRow(id, statement.string(at: 1) ?? ""))
        }
        return rows
    }
}
