import PowerSyncClient

// Starting, stopping and upkeep.
extension AttachmentQueue {
    /// Waits for the verification that begins when the queue is created.
    ///
    /// It is needed only by apps that read rows before they call ``startSync()``, which verifies again.
    ///
    /// - Throws: Why it failed.
    public func waitForInit() async throws {
        try await runner.waitForInit()
    }

    /// Creates the directories, verifies rows and files, and begins to follow references and to transfer.
    ///
    /// A queue that is started already starts again. Safe to call concurrently.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)`` after ``close()``, or why the directories cannot be created or the rows
    ///   cannot be verified; the queue is stopped then.
    public func startSync() async throws {
        try await runner.start()
    }

    /// Ends the transfers.
    ///
    /// When it returns, no row is written any more. The queue can be started again.
    ///
    /// Code of the app that ignores its cancellation (a transfer, an error handler, a local storage) is waited for half a second; what
    /// comes of it later is thrown away. A start that waits for such code throws ``PowerSyncAttachmentError/generalError(_:)``.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)`` after ``close()``.
    public func stopSyncing() async throws {
        try await runner.stop()
    }

    /// Ends the transfers; another name of ``stopSyncing()``.
    public func stopSync() async throws {
        try await runner.stop()
    }

    /// Ends the transfers for good.
    ///
    /// A second call does nothing. Saving and deleting files still works; the next queue of the table transfers. Code of the app that
    /// ignores its cancellation is waited for as ``stopSyncing()`` does.
    public func close() async throws {
        try await runner.close()
    }

    /// Compares all rows with the files on this device, and repairs them.
    ///
    /// Paths that are out of date are corrected, lost files are downloaded again, and uploads without a file are archived. The
    /// queue does it by itself when it is created and at each start.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)`` after ``close()``, or an error of the database.
    public func verifyAttachments() async throws {
        try runner.checkIsOpen()
        try await parts.verify()
    }

    /// Removes all archived attachments that the cache has no room for, with their files.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)`` after ``close()``, or an error of the database. Files that cannot be
    ///   removed are logged, and kept with their rows.
    public func expireCache() async throws {
        try runner.checkIsOpen()
        try await parts.expire()
    }

    /// Removes all attachments from this device: the rows, and everything in the attachments directory.
    ///
    /// Files that the app still refers to are downloaded again when the references are next read. At sign-out call
    /// ``stopSyncing()``, then this, then ``PowerSyncDatabaseProtocol/disconnectAndClear()``.
    ///
    /// Calls of the app that have the table, such as a save whose storage does not answer, are waited for half a second. Then they are
    /// cancelled, and throw ``PowerSyncAttachmentError/generalError(_:)``.
    ///
    /// - Throws: ``PowerSyncAttachmentError/invalidPath(_:)`` when the directory is the home or the root directory,
    ///   ``PowerSyncAttachmentError/closed(_:)`` after ``close()``, ``PowerSyncAttachmentError/generalError(_:)`` when a local storage of
    ///   the app's does not remove the directory within half a second (the rows are removed then), or an error of the database or the
    ///   storage.
    public func clearQueue() async throws {
        try await runner.clear()
    }

    /// Removes files in the attachments directory that no row refers to.
    ///
    /// Never done by itself: the app may keep files in the same directory. Files of other queues stay if these have been made, for the same
    /// database, in this process. A row refers to a file if its path leads there, however it is spelled. When that cannot be found out for one of the rows, an error is thrown and nothing is removed.
    ///
    /// - Parameter age: How old a file must be, since files are written before their rows.
    /// - Returns: How many files were removed.
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)`` after ``close()``, or an error of the database or the storage.
    @discardableResult
    public func sweepOrphanFiles(olderThan age: Duration) async throws -> Int {
        try runner.checkIsOpen()
        return try await parts.sweepOrphans(olderThan: age)
    }

    /// How many rows and bytes there are in each state.
    public func stats() async throws -> AttachmentQueueStats {
        try await parts.stats()
    }
}
