/// The database of a source, as a program beside the service uses it for development.
package protocol DevelopmentDatabase: Sendable {
    /// Runs statements that insert rows, all of them in one transaction, unless there are rows already.
    ///
    /// - Parameter statements: In the language of the database.
    /// - Returns: Whether they were run.
    /// - Throws: ``DevelopmentDatabaseError``, or another error of the database; no row was inserted.
    func insert(_ statements: String) async throws -> Bool

    /// The body of an upload of a new row: `{"data": [{"op": "PUT", …}]}`.
    ///
    /// The row is of the first table that has an `owner_id`, or of the first of all.
    ///
    /// - Parameter owner: The user whose row it is to be.
    /// - Returns: JSON; `nil` if there is no table.
    /// - Throws: An error of the database.
    func exampleUpload(owner: String) async throws -> String?
}

/// The database has refused statements.
package struct DevelopmentDatabaseError: Error {
    /// In the words of the database.
    package let message: String

    /// Creates an error.
    package init(_ message: String) {
        self.message = message
    }
}
