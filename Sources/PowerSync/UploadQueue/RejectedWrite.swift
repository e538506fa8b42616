public import Foundation
import PowerSyncCore

/// A local write that the backend will never accept, and why.
public struct UploadRejection: Sendable {
    /// The write.
    public let entry: CrudEntry
    /// Why it is not accepted, for the app to show.
    public let reason: String

    /// Creates a rejection.
    ///
    /// - Parameters:
    ///   - entry: A write of the batch or transaction that is completed.
    ///   - reason: Why it is not accepted.
    public init(_ entry: CrudEntry, reason: String) {
        self.entry = entry
        self.reason = reason
    }
}

/// A local write that was taken out of the upload queue because the backend will never accept it.
public struct RejectedWrite: Sendable, Identifiable {
    /// The write.
    ///
    /// Its position and transaction are those that it had in the queue.
    public let entry: CrudEntry
    /// Why it was rejected.
    public let reason: String
    /// When it was rejected.
    public let rejectedAt: Date

    /// The position that the write had in the queue.
    public var id: Int64 { entry.clientId }
}

extension RejectedWrite {
    init(_ entry: RejectedWrites.Entry) {
        self.init(entry: CrudEntry(entry.write), reason: entry.reason, rejectedAt: Date(entry.rejectedAt))
    }
}

extension PowerSyncDatabaseProtocol {
    /// The local writes that were rejected and neither put back nor removed, oldest first.
    ///
    /// They survive restarts, and go when the database is cleared.
    ///
    /// - Throws: ``PowerSyncError``.
    /// - Complexity: O(number of rejected writes).
    public func rejectedWrites() async throws -> [RejectedWrite] {
        try await readFromEngine { db in try RejectedWrites.all(db).map(RejectedWrite.init) }
    }

    /// Puts rejected writes back at the end of the upload queue, as one transaction.
    ///
    /// They are uploaded again, in the order in which they were made. The rows do not change: if the rejected values have been
    /// replaced by those of the server, they come back when the backend accepts them.
    ///
    /// - Parameter writes: Elements of ``rejectedWrites()``; those that have gone already are ignored.
    /// - Throws: ``PowerSyncError``; nothing has changed then.
    public func restoreRejectedWrites(_ writes: [RejectedWrite]) async throws {
        try await writeToEngine { db in try RejectedWrites.restore(writes.map(\.id), db) }
    }

    /// Removes rejected writes for good.
    ///
    /// - Parameter writes: Elements of ``rejectedWrites()``; those that have gone already are ignored.
    /// - Throws: ``PowerSyncError``; nothing has changed then.
    public func removeRejectedWrites(_ writes: [RejectedWrite]) async throws {
        try await writeToEngine { db in try RejectedWrites.remove(writes.map(\.id), db) }
    }
}
