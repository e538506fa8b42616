import Foundation
import PowerSyncCore

/// Saves files of the app: writes the file, then the row (docs/attachments.md "Saving and deleting").
struct FileSaver: Sendable {
    /// Where the bytes come from.
    enum Source: Sendable {
        /// From memory.
        case data(Data)
        /// From a file, which is moved or copied.
        case file(path: String, move: Bool)
        /// From a stream.
        case chunks(any AsyncSequence<Data, any Error> & Sendable)
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

    /// What an app does in the transaction that saves or deletes a file.
    typealias UpdateHook = @Sendable (any ConnectionContext, Attachment) throws -> Void

    let service: any AttachmentServiceProtocol
    let localStorage: any LocalStorageAdapter
    let paths: AttachmentPaths
    let table: SharedAttachmentTable
    /// Makes the name of a new file.
    let filename: @Sendable (_ id: String, _ fileExtension: String?) async -> String

    /// A new id: a UUID of version 4 in lower case.
    static func makeID() -> String {
        UUID().uuidString.lowercased()
    }

    /// Saves a file.
    ///
    /// - Returns: The row.
    /// - Throws: ``PowerSyncAttachmentError``, or what the hook, the database, the storage or the stream throws. Nothing is left
    ///   of the file then, and a file that was moved is back in its place.
    func save(_ source: Source, _ description: Description, hook: @escaping UpdateHook) async throws -> Attachment {
        if let fileExtension = description.fileExtension { try AttachmentPath.check(fileExtension: fileExtension) }
        let id = description.id ?? FileSaver.makeID()
        guard !id.isEmpty else { throw PowerSyncAttachmentError.generalError("The id of an attachment is empty.") }
        let filename = await filename(id, description.fileExtension)
        let path = try await paths.path(of: filename)
        guard table.claim(id) else { throw FileSaver.duplicate(id) }
        defer { table.release(id) }
        if description.id != nil { try await checkIsNew(id) }
        let size = try await write(source, to: path)
        let attachment = Attachment(
            id: id,
            filename: filename,
            state: .queuedUpload,
            localUri: path,
            mediaType: description.mediaType,
            size: size,
            metaData: description.metaData
        )
        do {
            return try await service.withContext { context in
                // `clearQueue` may have emptied the directory.
                guard try await localStorage.fileExists(filePath: path) else {
                    throw PowerSyncAttachmentError.fileNotFound(path)
                }
                return try await context.insertSaved(attachment, hook: hook)
            }
        } catch {
            try await undo(source, at: path)
            throw error
        }
    }

    /// Before the file of another attachment is overwritten.
    private func checkIsNew(_ id: String) async throws {
        let ids = try await service.withContext { try await $0.getAttachmentIds() }
        guard !ids.contains(where: { ExactText($0) == ExactText(id) }) else { throw FileSaver.duplicate(id) }
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
            if source != path {
                if isMoved {
                    try await localStorage.moveFile(sourcePath: source, targetPath: path)
                } else {
                    try await localStorage.copyFile(sourcePath: source, targetPath: path)
                }
            }
            guard let size = try await localStorage.fileSize(filePath: path) else {
                throw PowerSyncAttachmentError.fileNotFound(source)
            }
            return size
        }
    }

    /// Takes back what ``write(_:to:)`` did.
    private func undo(_ source: Source, at path: String) async throws {
        switch source {
        case .file(let source, _) where source == path:
            break
        case .file(let source, move: true):
            try await localStorage.moveFile(sourcePath: path, targetPath: source)
        case .data, .chunks, .file:
            try await localStorage.deleteFile(filePath: path)
        }
    }
}

/// Chunks whose stream may fail with anything.
struct ThrowingChunks<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == Data {
    let base: Base

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator

        mutating func next() async throws -> Data? { try await base.next() }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: base.makeAsyncIterator())
    }
}
