package import GRDB

extension Database {
    /// Runs `body` in a transaction, which is rolled back when it throws.
    ///
    /// - Parameters:
    ///   - kind: How the transaction begins.
    ///   - body: What to do in it.
    /// - Returns: The result of `body`.
    /// - Throws: What `body` throws, or why the transaction could not begin or be committed. Its observers know of the rollback then.
    package func transaction<Result>(
        _ kind: TransactionKind,
        _ body: (Database) throws -> Result
    ) throws -> Result {
        var result: Result?
        var isOver = false
        do {
            try inTransaction(kind) {
                defer { isOver = !isInsideTransaction }
                result = try body(self)
                return .commit
            }
        } catch {
            if isOver || result != nil && Database.endedTransaction(error) { tellObserversOfRollback() }
            throw error
        }
        guard let result else { preconditionFailure("GRDB ran a transaction without its body") }
        return result
    }

    /// Whether SQLite has rolled back by itself when COMMIT failed.
    ///
    /// Where it has not, and where an observer has refused the commit with an error of its own, GRDB rolls back, and tells observers.
    private static func endedTransaction(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return false }
        return ![.SQLITE_BUSY, .SQLITE_CONSTRAINT, .SQLITE_INTERRUPT].contains(error.resultCode)
    }

    /// Tells observers that the transaction is over, behind an error of SQLite that has ended it.
    ///
    /// When the disk is full, the file cannot be read or memory is short, SQLite rolls back by itself, and GRDB tells no observer: what
    /// `afterNextTransaction` was given would be done after the next commit, whatever that is. An empty transaction tells them.
    private func tellObserversOfRollback() {
        guard !isInsideTransaction else { return }
        try? beginTransaction(.deferred)
        try? rollback()
    }
}
