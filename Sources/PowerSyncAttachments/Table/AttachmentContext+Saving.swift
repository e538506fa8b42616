import PowerSyncClient

// The transactions of saving and deleting. Callers hold the service's lock.
extension AttachmentContext {
    /// What an app does in the transaction that saves or deletes a file.
    typealias UpdateHook = @Sendable (any ConnectionContext, Attachment) throws -> Void

    /// Runs a hook and adds the row of a saved file, in one transaction.
    ///
    /// - Parameters:
    ///   - attachment: The row; its timestamp is replaced by the present time.
    ///   - isNameNew: Whether no other row can have the file name.
    ///   - hook: Gets the row before it is there.
    /// - Returns: The row.
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)`` when the id or the file name has a row, what the hook throws, or an error
    ///   of the database. Nothing has changed then.
    func insertSaved(
        _ attachment: Attachment,
        isNameNew: Bool = false,
        hook: @escaping UpdateHook
    ) async throws -> Attachment {
        let (store, saved) = (store, attachment.with(timestamp: now()))
        return try await db.writeTransaction { transaction in
            try store.checkIsNew(id: saved.id, filename: isNameNew ? nil : saved.filename, in: transaction)
            try hook(transaction, saved)
            try store.insert(saved, in: transaction)
            return saved
        }
    }

    /// Checks that neither an id nor a file name has a row.
    ///
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)`` when one has, or an error of the database.
    func checkIsNew(id: String, filename: String) async throws {
        let store = store
        try await db.readLock { try store.checkIsNew(id: id, filename: filename, in: $0) }
    }

    /// The error for an id that is taken.
    static func duplicate(_ id: String) -> PowerSyncAttachmentError {
        .generalError("There is an attachment \(id) already.")
    }

    /// Runs a hook and marks a row for deletion, in one transaction.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - hook: Gets the row as it was before.
    /// - Returns: The row as it is then.
    /// - Throws: ``PowerSyncAttachmentError/notFound(_:)`` when there is no row; the hook has not run then. Else what the hook
    ///   throws, or an error of the database; nothing has changed then.
    func markDeleted(id: String, hook: @escaping UpdateHook) async throws -> Attachment {
        let (store, now) = (store, now())
        return try await db.writeTransaction { transaction in
            guard let row = try store.attachment(id: id, in: transaction) else {
                throw PowerSyncAttachmentError.notFound(id)
            }
            try hook(transaction, row)
            let deleted = AttachmentStateMachine(row: row).deleted(now: now)
            try store.apply(.update(deleted), id: id, in: transaction)
            return deleted
        }
    }
}

extension AttachmentStore {
    /// Checks that neither an id nor a file name has a row.
    ///
    /// A file name is the name in the remote storage, too, so a second attachment of it would replace, and later delete, the remote file of
    /// the first.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - filename: The name; `nil` when no other row can have it.
    ///   - context: The connection.
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)`` when one has a row.
    /// - Complexity: O(*n*) with a name, *n* rows.
    func checkIsNew(id: String, filename: String?, in context: any ConnectionContext) throws {
        guard try !hasRow(id: id, in: context) else { throw AttachmentContext.duplicate(id) }
        guard let filename, let owner = try self.owner(ofName: filename, in: context) else { return }
        throw PowerSyncAttachmentError.generalError(
            "The attachment \(owner) has the file name \(filename) already, so the new attachment \(id) cannot have it: both would be one "
                + "file in the remote storage. Give it another name."
        )
    }
}
