#if DEBUG
import Foundation
import GRDB
import GRDBSQLite
import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncSQLite

extension StatementRunner {
    /// So many statements are remembered.
    private static let seenLimit = 10_000
    /// The statements that have been looked at, by database.
    private static let seen = NIOLockedValueBox<Set<String>>([])

    /// Says at `debug` when a query reads a whole table for each row of another one, though it has an index; once for each database and
    /// statement.
    ///
    /// The columns of a view are expressions, and the indexes of its table are on these expressions. On the right side of a `LEFT JOIN`
    /// a column may be NULL, so SQLite does not take the expression of the index for the column:
    ///
    /// ```
    /// EXPLAIN QUERY PLAN SELECT … FROM lists LEFT JOIN todos ON todos.list_id = lists.id
    /// SCAN ps_data__lists
    /// SCAN ps_data__todos LEFT-JOIN
    /// ```
    ///
    /// SQLite 3.40 to 3.54 say so with these words; of a plan that is written in another way nothing is said. Builds for release do not look.
    func hintAtSlowJoins(of sql: String) {
        guard Self.mentionsJoin(sql) else { return }
        let isNew = Self.seen.withLockedValue { seen in
            if seen.count >= Self.seenLimit { seen = [] }
            return seen.insert("\(database)\n\(sql)").inserted
        }
        // The hint is no reason for the query to fail.
        guard isNew, let scanned = try? scannedTables(sql) else { return }
        for table in scanned {
            guard let index = try? index(of: table, for: sql) else { continue }
            logger.debug(
                "A LEFT JOIN reads all rows of \(table) for each row before it, and does not use the index \(index). The article "
                    + "Slow queries has two ways to write it: \(sql)",
                tag: LogTag.database
            )
        }
    }

    /// Whether the word occurs, for less than Foundation's search takes: most queries have none.
    private static func mentionsJoin(_ sql: String) -> Bool {
        let word = StaticString("join")
        return word.withUTF8Buffer { word in
            var count = 0
            for byte in sql.utf8 {
                let letter = byte | 0x20
                count = unsafe letter == word[count] ? count + 1 : (letter == word[0] ? 1 : 0)
                if count == word.count { return true }
            }
            return false
        }
    }

    /// The file, or the connection of a database in memory.
    private var database: String {
        let path = unsafe sqlite3_db_filename(db.sqliteConnection, "main").map { unsafe String(cString: $0) } ?? ""
        return path.isEmpty ? unsafe "\(String(describing: db.sqliteConnection))" : path
    }

    private func scannedTables(_ sql: String) throws -> [String] {
        let steps = try PreparedStatement(db, sql: "EXPLAIN QUERY PLAN \(sql)")
        defer { steps.reset() }
        var tables: [String] = []
        while try steps.step() {
            let words =
                unsafe steps.text(at: 3).map { unsafe String(decoding: $0, as: UTF8.self) }?.split(separator: " ") ?? []
            guard words.first == "SCAN", words.last == "LEFT-JOIN", words[1].hasPrefix("ps_data_") else { continue }
            if !tables.contains(String(words[1])) { tables.append(String(words[1])) }
        }
        return tables
    }

    /// The first index of a table whose first column the query names.
    private func index(of table: String, for sql: String) throws -> String? {
        let indexes = try GRDB.Row.fetchAll(
            db,
            sql:
                "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL ORDER BY name",
            arguments: [table]
        )
        for index in indexes {
            let declaration: String = index["sql"]
            guard let column = declaration.firstMatch(of: /'\$\."?([^'"]+)"?'/)?.output.1 else { continue }
            if sql.range(of: column, options: .caseInsensitive) != nil { return index["name"] }
        }
        return nil
    }
}
#endif
