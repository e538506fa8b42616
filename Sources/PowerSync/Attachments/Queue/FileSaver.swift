import Foundation
import PowerSyncSQLite

/// Saves files of the app: writes the file, then the row (docs/attachments.md "Saving and deleting").
struct FileSaver: Sendable {
    /// Where the bytes come from.
    enum Source: Sendable {
        /// From memory.
        case data(Data)
        /// From a file, which is moved or copied.
        case file(path: String, move: Bool)
        /// From a stream.
        case chunks(AttachmentChunks)
    }

    /// What the app says about a file.
    struct Description: Sendable {
        /// The id; `nil` for a new one.
        var id: String?
        /// The MIME type.
        var mediaType: String
        /// The extension, without the dot.
        var fileExtension: String?
        /// Free text.
        var metaData: String?
    }

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
    ///                  write                     row                          source removed, if it is moved
    ///  source only ───────────► source and target ───► source, target and row ──────────────────────────────► saved
    ///       ▲                        │
    ///       └── target removed ◄─────┘ an error, a cancellation
    /// ```
    ///
    /// A file that is to be moved stays where it is until the row is there: at no point is there neither it nor the saved
    /// file, whatever fails, and even if the process dies.
    ///
    /// - Returns: The row.
    /// - Throws: ``PowerSyncAttachmentError``, or what the hook, the database, the storage or the stream throws. Nothing is left
    ///   of the file then, and a file that was to be moved is in its place.
    func save(_ source: Source, _ description: Description, hook: @escaping UpdateHook) async throws -> Attachment {
        if let fileExtension = description.fileExtension { try AttachmentPath.check(fileExtension: fileExtension) }
        let id = description.id ?? FileSaver.makeID()
        guard !id.isEmpty else { throw PowerSyncAttachmentError.generalError("The id of an attachment is empty.") }
        let filename = await filename(id, description.fileExtension)
        let path = try await paths.path(of: filename)
        guard table.claim(id) else { throw FileSaver.duplicate(id) }
        defer { table.release(id) }
        if description.id != nil { try await check(id, isNewWith: path) }
        let isInPlace = await source.isFile(at: path)
        do {
            let size = try await isInPlace ? self.size(of: path, from: path) : write(source, to: path)
            let attachment = Attachment(
                id: id,
                filename: filename,
                state: .queuedUpload,
                localUri: path,
                mediaType: description.mediaType,
                size: size,
                metaData: description.metaData
            )
            let saved = try await insert(attachment, at: path, hook)
            if case .file(let sourcePath, move: true) = source, !isInPlace { await removeSource(sourcePath) }
            return saved
        } catch {
            if !isInPlace { await discard(path) }
            throw error
        }
    }

    /// Before the file of another attachment is overwritten.
    private func check(_ id: String, isNewWith path: String) async throws {
        let (ids, isPathUsed) = try await service.withContext { context in
            (try await context.getAttachmentIds(), try await context.isFileShared(path: path, besides: id))
        }
        guard !ids.contains(where: { ExactText($0) == ExactText(id) }) else { throw FileSaver.duplicate(id) }
        guard !isPathUsed else {
            throw PowerSyncAttachmentError.generalError("Another attachment has its file at \(path) already.")
        }
    }

    private static func duplicate(_ id: String) -> PowerSyncAttachmentError {
        .generalError("There is an attachment \(id) already.")
    }

    private func write(_ source: Source, to path: String) async throws -> Int64 {
        switch source {
        case .data(let data):
            return try await localStorage.saveFile(filePath: path, data: data)
        case .chunks(let chunks):
            return try await localStorage.saveFile(filePath: path, chunks: chunks)
        case .file(let source, let isMoved):
            if isMoved {
                try await localStorage.linkFile(sourcePath: source, targetPath: path)
            } else {
                try await localStorage.copyFile(sourcePath: source, targetPath: path)
            }
            return try await size(of: path, from: source)
        }
    }

    private func size(of path: String, from source: String) async throws -> Int64 {
        guard let size = try await localStorage.fileSize(filePath: path) else {
            throw PowerSyncAttachmentError.fileNotFound(source)
        }
        return size
    }

    /// When it throws, there is no row: a transaction that has begun is not interrupted.
    private func insert(
        _ attachment: Attachment,
        at path: String,
        _ hook: @escaping UpdateHook
    ) async throws -> Attachment {
        try await service.withContext { context in
            // `clearQueue` may have emptied the directory.
            guard try await localStorage.fileExists(filePath: path) else {
                throw PowerSyncAttachmentError.fileNotFound(path)
            }
            return try await context.insertSaved(attachment, hook: hook)
        }
    }

    /// Takes back what ``write(_:to:)`` did, or began.
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

extension FileSaver.Source {
    /// Whether this is the file at a path already, under this name or another one.
    ///
    /// Names may differ by symbolic links or by case. Nothing is written then, and nothing is removed.
    fileprivate func isFile(at path: String) async -> Bool {
        guard case .file(let source, _) = self else { return false }
        if source == path { return true }
        return (try? await FileWork.run { OpenFile.isSame(source, path) }) ?? false
    }
}
