import PowerSyncBackend

/// The source database of the demo, read and written beside the service.
protocol DemoSource: Sendable {
    /// Whether a user may upload, read and delete a photo: no list has it yet, or a list of this user.
    func mayUse(photo: String, user: String) async throws -> Bool

    /// The rows of a table that a user may see, as ``DemoClient/Row`` values ordered by the bytes of the id.
    func rows(of table: String, visibleTo user: String) async throws -> [DemoClient.Row]

    /// Inserts lists with todos in one transaction, as a batch job on the server would.
    ///
    /// - Parameters:
    ///   - todos: How many todos.
    ///   - lists: How many lists they are spread over.
    ///   - user: The owner.
    /// - Throws: An error of the database.
    func bulkLoad(todos: Int, lists: Int, owner user: String) async throws
}

/// A source of the demo that takes the uploads of clients, too.
protocol UploadingDemoSource: DemoSource {
    /// Applies the writes of a client as one transaction.
    ///
    /// - Throws: An error of the database.
    func apply(_ upload: UploadRequest) async throws
}
