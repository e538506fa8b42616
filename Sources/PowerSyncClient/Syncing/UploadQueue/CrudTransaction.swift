import PowerSyncCore

/// The writes of one local transaction.
public struct CrudTransaction: Sendable {
    /// The id of the transaction; `nil` for a write outside a transaction group.
    public let transactionId: Int64?
    /// The writes, oldest first.
    public let crud: [CrudEntry]
    /// Where the writes come from.
    let database: any PowerSyncDatabaseProtocol

    /// Removes the writes of the transaction, and all before them, from the upload queue.
    ///
    /// - Parameter writeCheckpoint: A write checkpoint that the app's own backend made, as decimal digits. It counts when
    ///   the queue is empty afterwards.
    /// - Throws: ``PowerSyncError``, also when `writeCheckpoint` is not a number; the queue is unchanged then.
    public func complete(writeCheckpoint: String?) async throws {
        try await database.completeUpload(of: crud, writeCheckpoint: writeCheckpoint)
    }

    /// Removes the writes of the transaction, and all before them, from the upload queue.
    public func complete() async throws {
        try await complete(writeCheckpoint: nil)
    }

    /// Removes the writes of the transaction, and all before them, from the upload queue; those that the backend will never
    /// accept are kept aside.
    ///
    /// An entry that is always refused would block everything behind it. ``PowerSyncDatabaseProtocol/rejectedWrites()`` has
    /// the rejected ones; all others count as uploaded. All of it is one transaction.
    ///
    /// - Parameters:
    ///   - rejections: Writes of this transaction, each with a reason.
    ///   - writeCheckpoint: As for completing without rejections.
    /// - Throws: ``PowerSyncError``, also when a rejected write is not of this transaction; the queue is unchanged then.
    public func complete(rejecting rejections: [UploadRejection], writeCheckpoint: String? = nil) async throws {
        try await database.completeUpload(of: crud, rejecting: rejections, writeCheckpoint: writeCheckpoint)
    }
}

extension CrudTransaction: CustomStringConvertible {
    /// The number of the transaction and its writes, in a line; without values.
    public var description: String {
        transactionId.map { "transaction \($0) with \(crud.listText)" } ?? "no transaction, \(crud.listText)"
    }
}

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
            database: database
        )
    }
}
