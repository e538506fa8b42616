import PowerSyncClient

// Callers hold the service's lock.
extension AttachmentContext {
    /// Compares all rows with the files on the disk, and repairs them in one transaction.
    ///
    /// A file that nothing is known about leaves its row as it is.
    ///
    /// - Parameters:
    ///   - downloads: Whether lost files are downloaded again.
    ///   - localUri: Where files are now.
    ///   - storage: What to ask for files.
    /// - Throws: `CancellationError`, or an error of the database. Nothing has changed then.
    func verify(
        downloads: Bool,
        localUri: @escaping AttachmentLocation,
        storage: any LocalStorageAdapter
    ) async throws {
        let (store, now) = (store, now())
        let rows = readable(try await db.readLock { try store.rows(in: $0) })
        let claims = AttachmentContext.claims(of: rows)
        var examined: [ExaminedFile] = []
        for row in rows where AttachmentStateMachine(row: row).isVerifiedByFile {
            try Task.checkCancellation()
            guard let found = try await examine(row, claims: claims, localUri: localUri, storage: storage),
                found.file != .inPlace
            else { continue }
            examined.append(found)
        }
        guard !examined.isEmpty else { return }
        let lost = try await db.writeTransaction { [examined] transaction in
            var lost: [Attachment] = []
            for found in examined {
                guard let row = try store.attachment(id: found.row.id, in: transaction), found.isAbout(row) else {
                    continue
                }
                let machine = AttachmentStateMachine(row: row)
                let change = machine.verified(file: found.file, downloads: downloads, now: now)
                try store.apply(change, id: row.id, in: transaction)
                if row.state == .queuedUpload, found.file == .missing { lost.append(row) }
            }
            return lost
        }
        for row in lost {
            logger.error(
                "The file \(row.filename) of \(row.id) is gone before it was uploaded; the attachment is archived",
                tag: LogTag.attachments
            )
        }
    }
}
