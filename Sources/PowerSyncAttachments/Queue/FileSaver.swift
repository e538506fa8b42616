import Foundation
import PowerSyncClient
import PowerSyncSQLite

/// Saves files of the app: writes the file, then the row (docs/attachments.md "Saving and deleting").
struct FileSaver: Sendable {
    /// What an app does in the transaction that saves a file.
    typealias UpdateHook = AttachmentContext.UpdateHook

    let service: any AttachmentServiceProtocol
    let localStorage: any LocalStorageAdapter
    let paths: AttachmentPaths
    let table: SharedAttachmentTable
    let logger: any LoggerProtocol
    /// Makes the name of a new file.
    let filename: @Sendable (_ id: String, _ fileExtension: String?) async -> String

    /// A new id: a UUID of version 4 in lower case.
    static func makeID() -> String {
        UUID().uuidString.lowercased()
    }

    /// Saves a file.
    ///
    /// ```
    ///                  create                    row                          source removed, if it is moved
    ///  source only ───────────► source and target ───► source, target and row ──────────────────────────────► saved
    ///       ▲                        │
    ///       └── target removed ◄─────┘ an error, a cancellation
    /// ```
    ///
    /// A file that is to be moved stays where it is until the row is there: at no point is there neither it nor the saved
    /// file, whatever fails, and even if the process dies. What is at the path of the file name already stays, too: the new file gets
    /// another of its ``AttachmentPath/candidates(for:id:)``, and only a file that this save has created is removed.
    ///
    /// - Parameters:
    ///   - content: The bytes. A file that is linked is moved: its other name goes after the row was written.
    ///   - givenID: The id; `nil` for a new one.
    ///   - mediaType: The MIME type.
    ///   - fileExtension: The extension, without the dot.
    ///   - metaData: Free text.
    ///   - hook: What the app does in the transaction.
    /// - Returns: The row.
    /// - Throws: ``PowerSyncAttachmentError``, or what the hook, the database, the storage or the stream throws. Nothing is left
    ///   of the file then, and a file that was to be moved is in its place.
    func save(
        _ content: AttachmentFileContent,
        id givenID: String? = nil,
        mediaType: String,
        fileExtension: String?,
        metaData: String? = nil,
        hook: @escaping UpdateHook
    ) async throws -> Attachment {
        if let fileExtension { try AttachmentPath.check(fileExtension: fileExtension) }
        let id = givenID ?? FileSaver.makeID()
        guard !id.isEmpty else { throw PowerSyncAttachmentError.generalError("The id of an attachment is empty.") }
        let filename = await filename(id, fileExtension)
        let path = try await paths.path(of: filename)
        guard table.claim(id) else { throw AttachmentContext.duplicate(id) }
        defer { table.release(id) }
        let isInPlace = await content.isFile(at: path)
        let claimed = table.claim(paths: isInPlace ? [path] : AttachmentPath.candidates(for: path, id: id))
        defer { table.release(paths: claimed) }
        // No row has a new id, a name with it or a path with that: nothing has to be looked through.
        let isNameNew = givenID == nil && filename.contains(id)
        let isPathNew = isNameNew && path.hasSuffix(filename)
        let free = isPathNew ? claimed : try await unusedPaths(claimed, id, filename)
        guard !free.isEmpty else {
            throw PowerSyncAttachmentError.generalError(
                "\(filename) cannot be saved: another attachment has its file at \(path), or is being saved there."
            )
        }

        var created: CreatedAttachmentFile?
        do {
            if !isInPlace { created = try await create(content, atFirstFreeOf: free, filename) }
            let file = try await existing(created, or: path)
            let attachment = Attachment(
                id: id,
                filename: filename,
                state: .queuedUpload,
                localUri: file.path,
                mediaType: mediaType,
                size: file.size,
                metaData: metaData
            )
            let saved = try await insert(attachment, at: file.path, isNameNew: isNameNew, hook)
            if case .link(let source) = content, !isInPlace { await removeSource(source) }
            return saved
        } catch {
            if let created { await discard(created.path) }
            throw error
        }
    }

    /// Checks that neither the id nor the file name has a row, before a large file is written in vain.
    ///
    /// - Returns: The paths that no row has.
    private func unusedPaths(_ paths: [String], _ id: String, _ filename: String) async throws -> [String] {
        try await service.withContext { context in
            try await context.checkIsNew(id: id, filename: filename)
            return try await context.unusedPaths(paths, besides: id)
        }
    }

    private func create(
        _ content: AttachmentFileContent,
        atFirstFreeOf paths: [String],
        _ filename: String
    ) async throws -> CreatedAttachmentFile {
        guard let file = try await localStorage.createFile(content, atFirstFreeOf: paths) else {
            throw AttachmentPath.taken(paths, filename)
        }
        return file
    }

    /// The file that was created, or the one that is in its place.
    private func existing(_ created: CreatedAttachmentFile?, or path: String) async throws -> CreatedAttachmentFile {
        if let created { return created }
        guard let size = try await localStorage.fileSize(filePath: path) else {
            throw PowerSyncAttachmentError.fileNotFound(path)
        }
        return CreatedAttachmentFile(path: path, size: size)
    }

    /// When it throws, there is no row: a transaction that has begun is not interrupted.
    private func insert(
        _ attachment: Attachment,
        at path: String,
        isNameNew: Bool,
        _ hook: @escaping UpdateHook
    ) async throws -> Attachment {
        try await service.withContext { context in
            // `clearQueue` may have emptied the directory.
            guard try await localStorage.fileExists(filePath: path) else {
                throw PowerSyncAttachmentError.fileNotFound(path)
            }
            return try await context.insertSaved(attachment, isNameNew: isNameNew, hook: hook)
        }
    }

    /// Removes the file that this save has created.
    private func discard(_ path: String) async {
        await Task.ignoringCancellation { [localStorage, logger] in
            do {
                try await localStorage.deleteFile(filePath: path)
            } catch {
                logger.warning(
                    "A file that was not saved is left at \(path): \(error.localizedDescription)",
                    tag: LogTag.attachments
                )
            }
        }
    }

    /// The last step of a move.
    ///
    /// Without it the file is saved nevertheless, which is what the caller has to know.
    private func removeSource(_ path: String) async {
        await Task.ignoringCancellation { [localStorage, logger] in
            do {
                try await localStorage.removeSource(sourcePath: path)
            } catch {
                logger.warning(
                    "A file was saved, but could not be removed from \(path): \(error.localizedDescription)",
                    tag: LogTag.attachments
                )
            }
        }
    }
}

extension FileSaver {
    /// Saves files for a queue of any type.
    init(of queue: some AttachmentQueueProtocol) async throws {
        let tableName = try await queue.attachmentsService.withContext { $0.tableName }
        self.init(
            service: queue.attachmentsService,
            localStorage: queue.localStorage,
            paths: AttachmentPaths(directory: nil) { await queue.getLocalUri($0) },
            table: SharedAttachmentTable.named(tableName, of: queue.db),
            logger: queue.db.logger,
            filename: { await queue.resolveNewAttachmentFilename(attachmentId: $0, fileExtension: $1) }
        )
    }
}

extension AttachmentFileContent {
    /// Whether this is the file at a path already, under this name or another one.
    ///
    /// Names may differ by symbolic links or by case. Nothing is written then, and nothing is removed.
    fileprivate func isFile(at path: String) async -> Bool {
        switch self {
        case .data, .chunks: return false
        case .copy(let source), .link(let source), .move(let source):
            if source == path { return true }
            return (try? await FileWork.run { OpenFile.isSame(source, path) }) ?? false
        }
    }
}
