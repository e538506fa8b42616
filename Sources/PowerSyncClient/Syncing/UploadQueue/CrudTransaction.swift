/// The writes of one local transaction.
public struct CrudTransaction: Sendable {
    /// The id of the transaction; `nil` for a write outside a transaction group.
    public let transactionId: Int64?
    /// The writes, oldest first.
    public let crud: [CrudEntry]
    let completion: UploadCompletion

    /// Removes the writes of the transaction, and all before them, from the upload queue.
    ///
    /// - Parameter writeCheckpoint: A write checkpoint that the app's own backend made, as decimal digits. It counts when
    ///   the queue is empty afterwards.
    /// - Throws: ``PowerSyncError``, also when `writeCheckpoint` is not a number; the queue is unchanged then.
    public func complete(writeCheckpoint: String?) async throws {
        try await completion.complete(writeCheckpoint: writeCheckpoint)
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
        try await completion.complete(writeCheckpoint: writeCheckpoint, rejecting: rejections, of: crud)
    }
}

extension CrudTransaction: CustomStringConvertible {
    /// The number of the transaction and its writes, in a line; without values.
    public var description: String {
        transactionId.map { "transaction \($0) with \(crud.listText)" } ?? "no transaction, \(crud.listText)"
    }
}
