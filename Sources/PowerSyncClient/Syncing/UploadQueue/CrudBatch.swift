/// The oldest writes of the upload queue, across transactions.
public struct CrudBatch: Sendable {
    /// Whether more writes wait.
    public let hasMore: Bool
    /// The writes, oldest first.
    public let crud: [CrudEntry]
    /// Where the writes come from.
    let database: any PowerSyncDatabaseProtocol

    /// Removes the writes of the batch, and all before them, from the upload queue.
    ///
    /// - Parameter writeCheckpoint: A write checkpoint that the app's own backend made, as decimal digits. It counts when
    ///   the queue is empty afterwards.
    /// - Throws: ``PowerSyncError``, also when `writeCheckpoint` is not a number; the queue is unchanged then.
    public func complete(writeCheckpoint: String? = nil) async throws {
        try await database.completeUpload(of: crud, writeCheckpoint: writeCheckpoint)
    }

    /// Removes the writes of the batch, and all before them, from the upload queue; those that the backend will never
    /// accept are kept aside.
    ///
    /// An entry that is always refused would block everything behind it. ``PowerSyncDatabaseProtocol/rejectedWrites()`` has
    /// the rejected ones; all others count as uploaded. All of it is one transaction.
    ///
    /// - Parameters:
    ///   - rejections: Writes of this batch, each with a reason.
    ///   - writeCheckpoint: As for completing without rejections.
    /// - Throws: ``PowerSyncError``, also when a rejected write is not of this batch; the queue is unchanged then.
    public func complete(rejecting rejections: [UploadRejection], writeCheckpoint: String? = nil) async throws {
        try await database.completeUpload(of: crud, rejecting: rejections, writeCheckpoint: writeCheckpoint)
    }
}

extension CrudBatch: CustomStringConvertible {
    /// The writes, in a line; without values.
    public var description: String { "batch of \(crud.listText)\(hasMore ? "; more wait" : "")" }
}
