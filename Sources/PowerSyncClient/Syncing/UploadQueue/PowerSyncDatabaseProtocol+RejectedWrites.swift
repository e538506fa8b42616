import PowerSyncCore

extension PowerSyncDatabaseProtocol {
    /// The local writes that were rejected, or wait behind one that was, and were neither put back nor removed; oldest first.
    ///
    /// They survive restarts, and go when the database is cleared.
    ///
    /// - Throws: ``PowerSyncError``.
    /// - Complexity: O(number of rejected writes).
    public func rejectedWrites() async throws -> [RejectedWrite] {
        let kinds = ColumnKinds(of: self)
        return try await readFromEngine { db in try RejectedWrites.all(db).map { RejectedWrite($0, kinds) } }
    }

    /// Puts rejected writes back at the end of the upload queue.
    ///
    /// They are uploaded again, in the order in which they were made and in the transactions in which they were made. A
    /// parked row comes back as a whole, because its writes belong together: all that is kept aside for it comes along. The
    /// rows of the database do not change: if rejected values have been replaced by those of the server, they come back when
    /// the backend accepts them.
    ///
    /// - Parameter writes: Elements of ``rejectedWrites()``; those that have gone already are ignored.
    /// - Throws: ``PowerSyncError``; nothing has changed then.
    public func restoreRejectedWrites(_ writes: [RejectedWrite]) async throws {
        try await writeToEngine { db in try RejectedWrites.restore(db, writes.map(\.id)) }
    }

    /// Puts all parked writes and those behind them back at the end of the upload queue, for example after an update of the
    /// app or when the user has got more rights.
    ///
    /// See ``UploadRejectionPolicy/park``. Writes that were skipped stay where they are.
    ///
    /// - Throws: ``PowerSyncError``; nothing has changed then.
    public func restoreParkedWrites() async throws {
        try await writeToEngine { db in try RejectedWrites.restoreParked(db) }
    }

    /// Removes rejected writes for good.
    ///
    /// A row whose parked writes have all been removed gets the server's state with the next checkpoint.
    ///
    /// - Parameter writes: Elements of ``rejectedWrites()``; those that have gone already are ignored.
    /// - Throws: ``PowerSyncError``; nothing has changed then.
    public func removeRejectedWrites(_ writes: [RejectedWrite]) async throws {
        try await writeToEngine { db in try RejectedWrites.remove(db, writes.map(\.id)) }
    }
}
