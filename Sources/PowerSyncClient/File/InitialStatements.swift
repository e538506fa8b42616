import GRDB
import PowerSyncSQLite

/// The statements of the app that run first on every connection.
enum InitialStatements {
    /// Runs the statements.
    ///
    /// A key for a library without a cipher is refused: SQLite ignores pragmas that it does not know, and the file would not
    /// be encrypted.
    ///
    /// - Throws: GRDB's `DatabaseError`, or ``PowerSyncError/operationFailed(message:underlyingError:)`` with a
    ///   ``MissingCipherError`` below it.
    static func run(_ texts: [String], _ db: Database) throws {
        for text in texts {
            let statements = try db.allStatements(sql: text)
            while let statement = try statements.next() {
                if setsKey(statement.sql) { _ = try CipherLibrary.of(db) }
                try statement.execute()
            }
        }
    }

    private static let keyPragmas: Set<String> = ["key", "rekey", "hexkey", "hexrekey", "textkey", "textrekey"]

    /// Whether a statement sets the key of a file, or changes it.
    static func setsKey(_ sql: String) -> Bool {
        var tokens = SQLTokens(sql)
        guard tokens.next()?.isKeyword("PRAGMA") == true, var name = tokens.next()?.name else { return false }
        var next = tokens.next()
        if next?.isSymbol(".") == true {
            // The first name is that of the schema.
            name = tokens.next()?.name ?? ""
            next = tokens.next()
        }
        guard let next, next.isSymbol("=") || next.isSymbol("(") else { return false }
        return keyPragmas.contains(name.lowercased())
    }
}
