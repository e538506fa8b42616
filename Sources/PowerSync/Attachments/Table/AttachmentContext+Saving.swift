// The transactions of saving and deleting. Callers hold the service's lock.
extension AttachmentContext {
    /// What an app does in the transaction that saves or deletes a file.
    typealias UpdateHook = @Sendable (any ConnectionContext, Attachment) throws -> Void

    /// Runs a hook and adds the row of a saved file, in one transaction.
    ///
    /// - Parameters:
    ///   - attachment: The row; its timestamp is replaced by the present time.
    ///   - hook: Gets the row before it is there.
    /// - Returns: The row.
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)`` when the id has a row, what the hook throws, or an error of the
    ///   database. Nothing has changed then.
    func insertSaved(_ attachment: Attachment, hook: @escaping UpdateHook) async throws -> Attachment {
        let (store, saved) = (store, attachment.with(timestamp: now()))
        return try await db.writeTransaction { transaction in
            guard try !store.hasRow(id: saved.id, in: transaction) else {
                throw PowerSyncAttachmentError.generalError("There is an attachment \(saved.id) already.")
            }
            try hook(transaction, saved)
            try store.insert(saved, in: transaction)
            return saved
        }
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
