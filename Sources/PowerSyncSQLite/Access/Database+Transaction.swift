package import GRDB

extension Database {
    /// Runs `body` in a transaction, which is rolled back when it throws.
    ///
    /// - Parameters:
    ///   - kind: How the transaction begins.
    ///   - body: What to do in it.
    /// - Returns: The result of `body`.
    /// - Throws: What `body` throws, or why the transaction could not begin or be committed.
    package func transaction<Result>(
        _ kind: TransactionKind,
        _ body: (Database) throws -> Result
    ) throws -> Result {
        var result: Result?
        try inTransaction(kind) {
            result = try body(self)
            return .commit
        }
        guard let result else { preconditionFailure("GRDB ran a transaction without its body") }
        return result
    }
}
