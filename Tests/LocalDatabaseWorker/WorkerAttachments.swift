package import PowerSync

/// Works with attachments until the process is killed, or ``WorkerTask/count`` steps are done.
package struct WorkerAttachments: Sendable {
    /// A table of references, and the attachments.
    package static let schema = Schema(tables: [
        Table(name: "photos", columns: [.text("file_id")]),
        createAttachmentTable(name: defaultAttachmentsTableName),
    ])

    /// Counts what is left to do: 0 when every reference has its file, here and in the remote storage, and nothing is to be
    /// deleted.
    package static let remainingWork = """
        SELECT (SELECT count(*) FROM attachments WHERE state IN (0, 1, 2))
            + (SELECT count(*) FROM photos LEFT JOIN attachments ON attachments.id = file_id WHERE state IS NOT 3)
        """

    /// What the worker says before and after a step.
    package enum Line {
        /// Precedes the id of a file that is saved, linked and committed.
        package static let saved = "saved "
        /// Precedes the id of a reference that is about to go, with its file or without.
        package static let dropping = "dropping "
        /// Precedes the id of a file whose deletion is committed.
        package static let deleted = "deleted "
        /// Everything is about to be cleared.
        package static let clearing = "clearing"
    }

    private enum Step {
        case save, link, unlink, delete, settle, expire, clear
    }

    /// Repeated, from a step that the task says.
    private static let steps: [Step] = [
        .save, .link, .save, .settle, .delete, .unlink, .save, .delete, .link, .unlink, .save, .unlink, .expire, .link,
        .settle, .unlink, .unlink, .unlink, .expire, .save, .link, .save, .settle, .unlink, .delete, .clear,
    ]

    /// How many steps reach every ``AttachmentDeath``.
    package static let stepCount = steps.count

    let task: WorkerTask
    let files: AttachmentFiles
    let say: @Sendable (String) -> Void

    func run() async throws {
        let database = PowerSyncDatabase(
            schema: WorkerAttachments.schema,
            dbFilename: task.path,
            logger: DefaultLogger(writers: [])
        )
        let queue = files.queue(database, death: task.death)
        try await queue.startSync()
        say(WorkerTask.Line.open)
        var number = 0
        while number != task.count {
            let step = WorkerAttachments.steps[(task.firstNumber + number) % WorkerAttachments.steps.count]
            try await perform(step, "\(task.name)-\(number)", queue)
            number += 1
            say("\(number)")
        }
        try await queue.close()
        try await database.close()
    }

    private func perform(_ step: Step, _ id: String, _ queue: AttachmentQueue) async throws {
        switch step {
        case .save:
            try await queue.saveFile(
                data: AttachmentFiles.content(of: id),
                mediaType: "application/octet-stream",
                fileExtension: "bin",
                id: id
            ) { transaction, attachment in try WorkerAttachments.link(attachment.id, transaction) }
            AttachmentDeath.reached(.saveCommitted, of: task.death)
            say(Line.saved + id)
        case .link:
            try files.putRemote(id)
            _ = try await queue.db.writeTransaction { try WorkerAttachments.link(id, $0) }
        case .unlink:
            guard let id = try await oldestReference(queue.db) else { return }
            say(Line.dropping + id)
            _ = try await queue.db.writeTransaction { try WorkerAttachments.unlink(id, $0) }
        case .delete:
            guard let id = try await oldestReference(queue.db) else { return }
            say(Line.dropping + id)
            do {
                try await queue.deleteFile(attachmentId: id) { transaction, _ in
                    try WorkerAttachments.unlink(id, transaction)
                }
            } catch PowerSyncAttachmentError.notFound {
                // Linked a moment ago: it has no row yet.
                return
            }
            AttachmentDeath.reached(.deleteCommitted, of: task.death)
            say(Line.deleted + id)
        case .settle:
            for try await work in try await queue.db.watch(
                WorkerAttachments.remainingWork,
                mapper: { try $0.getInt(index: 0) }
            ) {
                if work == [0] { break }
            }
        case .expire:
            try await queue.expireCache()
        case .clear:
            say(Line.clearing)
            // What was never uploaded is lost, so nothing may refer to it.
            try await queue.db.execute(
                "DELETE FROM photos WHERE file_id IN (SELECT id FROM attachments WHERE state = 1)"
            )
            try await queue.clearQueue()
        }
    }

    private func oldestReference(_ database: any PowerSyncDatabaseProtocol) async throws -> String? {
        try await database.getOptional("SELECT file_id FROM photos ORDER BY id LIMIT 1") { try $0.getString(index: 0) }
    }

    private static func link(_ id: String, _ context: any ConnectionContext) throws {
        try context.execute(sql: "INSERT INTO photos (id, file_id) VALUES (?, ?)", parameters: ["photo \(id)", id])
    }

    private static func unlink(_ id: String, _ context: any ConnectionContext) throws {
        try context.execute(sql: "DELETE FROM photos WHERE file_id = ?", parameters: [id])
    }
}
