import PowerSyncCore

/// The transactions of the upload queue, oldest first.
///
/// ```swift
/// for try await transaction in database.getCrudTransactions() {
///     try await upload(transaction.crud)
///     try await transaction.complete()
/// }
/// ```
///
/// The sequence ends with the last transaction that is there; it does not wait for new ones. Completing a transaction
/// completes all before it.
public struct CrudTransactions: AsyncSequence {
    /// A transaction.
    public typealias Element = CrudTransaction
    /// The iterator.
    public typealias AsyncIterator = CrudTransactionsIterator

    let database: any PowerSyncDatabaseProtocol

    /// Makes an iterator that starts at the head of the queue.
    public func makeAsyncIterator() -> CrudTransactionsIterator {
        CrudTransactionsIterator(database: database)
    }
}

/// The iterator of ``CrudTransactions``.
public struct CrudTransactionsIterator: AsyncIteratorProtocol {
    let database: any PowerSyncDatabaseProtocol
    private var lastID: Int64?

    init(database: any PowerSyncDatabaseProtocol) {
        self.database = database
    }

    /// The first transaction after the last one that was returned, completed or not.
    ///
    /// - Returns: `nil` when nothing follows.
    public mutating func next() async throws -> CrudTransaction? {
        let writes = try await database.readFromEngine { [lastID] db in
            try UploadQueue.nextTransaction(db, after: lastID)
        }
        guard let last = writes.last else { return nil }
        let kinds = ColumnKinds(of: database)
        lastID = last.id
        return CrudTransaction(
            transactionId: last.transactionID,
            crud: writes.map { CrudEntry($0, kinds) },
            completion: UploadCompletion(database: database, lastID: last.id)
        )
    }
}
