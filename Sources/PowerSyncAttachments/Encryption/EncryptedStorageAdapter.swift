public import Foundation
import PowerSyncClient
import PowerSyncSQLite

/// Keeps attachments in the file system, encrypted by AES-256-GCM with a key of the app's.
///
/// ```swift
/// let queue = AttachmentQueue(
///     db: db,
///     transport: transport,
///     attachmentsDirectory: directory,
///     watchAttachments: references,
///     localStorage: EncryptedStorageAdapter { try await keychain.attachmentKey() }
/// )
/// ```
///
/// Each file is encrypted in chunks of 64 KiB, so that no more is in memory. A chunk that was changed, cut off, exchanged, repeated or
/// taken from another file is noticed when it is read: ``AttachmentEncryptionError``. A whole file in the place of another one, or an
/// older one of the same key, is not. Names, sizes (all but 32 bytes, and 16 for each chunk) and times of files are not hidden. While a
/// large file is uploaded, the journal beside it (`<file>.upload.pstmp`) has SHA-256 digests of its parts and the URL of a tus upload.
///
/// The file at an attachment's `local_uri` is encrypted: read it with ``readFile(filePath:mediaType:)`` or ``chunks(filePath:)``. Remote
/// storages get and give what the app sees: ``HTTPAttachmentTransport``, ``SignedURLAttachmentTransport``, ``MultipartAttachmentTransport``
/// and ``TusAttachmentTransport`` decrypt as they upload; a transport of the app's own that reads ``LocatedAttachment/localPath`` uploads
/// the encrypted file.
///
/// - Important: A transport downloads to a temporary file that is not encrypted, `<name>.download.pstmp`, which is encrypted and removed
///   when it is complete. With a ``RemoteStorageAdapter``, which gives whole files from memory, nothing is on the disk that is not
///   encrypted.
///
/// Otherwise files are as ``FileManagerStorageAdapter`` has them: they appear when they are complete and flushed.
public struct EncryptedStorageAdapter: LocalStorageAdapter {
    private let files: FileManagerStorageAdapter
    private let key: @Sendable () async throws -> Data

    /// Creates an adapter.
    ///
    /// - Parameters:
    ///   - directory: Paths outside of it are refused; `nil` for all paths. The queue checks that the paths that it uses lie in its own.
    ///   - key: Gives the key, 32 bytes, each time that a file is opened or written. What it throws is thrown on.
    public init(directory: String? = nil, key: @escaping @Sendable () async throws -> Data) {
        files = directory.map { FileManagerStorageAdapter(directory: $0) } ?? FileManagerStorageAdapter()
        self.key = key
    }

    /// Encrypts the files in a directory and below that are not: those of an app that did not encrypt before.
    ///
    /// Stop the queue for it. Unfinished files are left alone.
    ///
    /// - Parameter path: The directory.
    /// - Returns: How many files were encrypted.
    /// - Throws: ``AttachmentEncryptionError`` for a file that has another key, ``PowerSyncAttachmentError``, what the app's closure
    ///   throws; what was encrypted stays so
    @discardableResult
    public func encryptFiles(in path: String) async throws -> Int {
        var count = 0
        for file in try await files.files(path: path, notChangedSince: .distantFuture)
        where !AttachmentPath.isTemporary(file) {
            do {
                _ = try await open(file)
            } catch let error as AttachmentEncryptionError where error.code == .notEncrypted {
                try await files.saveFile(filePath: file, chunks: try await encrypted(file))
                count += 1
            }
        }
        return count
    }

    /// The content of a file, decrypted piece by piece.
    ///
    /// - Throws: ``AttachmentEncryptionError``, ``PowerSyncAttachmentError``, what the app's closure throws. What is wrong with a later
    ///   part of the file is thrown by the sequence.
    public func chunks(filePath: String) async throws -> AttachmentChunks {
        let file = try await open(filePath)
        return AttachmentChunks(reading: { try file.read(at: $0, upTo: $1) })
    }

    /// Encrypts a file, with the directories above it; replaces an existing one atomically.
    ///
    /// - Returns: The number of bytes of its content.
    @discardableResult
    public func saveFile(filePath: String, data: Data) async throws -> Int64 {
        try await saveFile(filePath: filePath, chunks: AttachmentChunks(one: data))
    }

    /// Encrypts a file chunk by chunk, with the directories above it; replaces an existing one atomically, after the last.
    ///
    /// - Returns: The number of bytes of its content.
    @discardableResult
    public func saveFile(filePath: String, chunks: AttachmentChunks) async throws -> Int64 {
        let size = try await files.saveFile(filePath: filePath, chunks: try await encrypted(chunks))
        return EncryptedFileFormat.contentSize(of: size) ?? 0
    }

    /// Decrypts a whole file.
    public func readFile(filePath: String, mediaType: String?) async throws -> Data {
        var data = Data()
        for try await chunk in try await chunks(filePath: filePath) { data += chunk }
        return data
    }

    /// Creates an encrypted file at the first of some paths at which there is nothing, with the directories above it.
    ///
    /// What is copied, linked or moved is encrypted if it is not.
    public func createFile(
        _ content: AttachmentFileContent,
        atFirstFreeOf paths: [String]
    ) async throws -> CreatedAttachmentFile? {
        let chunks: AttachmentChunks
        var moved: String?
        switch content {
        case .data(let data): chunks = AttachmentChunks(one: data)
        case .chunks(let given): chunks = given
        case .copy(let source), .link(let source), .move(let source):
            if let file = try await opened(source) {
                let created = try await files.createFile(content, atFirstFreeOf: paths)
                return created.map { CreatedAttachmentFile(path: $0.path, size: file.size) }
            }
            chunks = try await plain(source)
            if case .move = content { moved = source }
        }
        let created = try await files.createFile(.chunks(try await encrypted(chunks)), atFirstFreeOf: paths)
        guard let created else { return nil }
        if let moved { try await files.removeSource(sourcePath: moved) }
        return CreatedAttachmentFile(path: created.path, size: EncryptedFileFormat.contentSize(of: created.size) ?? 0)
    }

    /// Copies a file, with the directories above the target, and encrypts it if it is not; replaces an existing file atomically.
    public func copyFile(sourcePath: String, targetPath: String) async throws {
        if try await opened(sourcePath) != nil {
            try await files.copyFile(sourcePath: sourcePath, targetPath: targetPath)
        } else {
            try await files.saveFile(filePath: targetPath, chunks: try await encrypted(sourcePath))
        }
    }

    /// Moves a file, with the directories above the target, and encrypts it if it is not; replaces an existing file atomically.
    public func moveFile(sourcePath: String, targetPath: String) async throws {
        if try await opened(sourcePath) != nil {
            return try await files.moveFile(sourcePath: sourcePath, targetPath: targetPath)
        }
        try await files.saveFile(filePath: targetPath, chunks: try await encrypted(sourcePath))
        guard sourcePath != targetPath else { return }
        try await files.removeSource(sourcePath: sourcePath)
    }

    /// Gives a file a second path, with the directories above the target; replaces an existing file atomically.
    ///
    /// A file that is not encrypted is copied.
    public func linkFile(sourcePath: String, targetPath: String) async throws {
        if try await opened(sourcePath) != nil {
            try await files.linkFile(sourcePath: sourcePath, targetPath: targetPath)
        } else {
            try await files.saveFile(filePath: targetPath, chunks: try await encrypted(sourcePath))
        }
    }

    /// How many bytes of content a file has; those of the file if it is not encrypted; `nil` when there is none.
    public func fileSize(filePath: String) async throws -> Int64? {
        guard let size = try await files.fileSize(filePath: filePath) else { return nil }
        do {
            return try await opened(filePath)?.size ?? size
        } catch PowerSyncAttachmentError.fileNotFound {
            return nil
        }
    }

    /// Removes a file.
    ///
    /// No error when there is none.
    public func deleteFile(filePath: String) async throws { try await files.deleteFile(filePath: filePath) }

    /// Whether there is a regular file at the path.
    public func fileExists(filePath: String) async throws -> Bool { try await files.fileExists(filePath: filePath) }

    /// Creates a directory and those above it.
    ///
    /// No error when it is there.
    public func makeDir(path: String) async throws { try await files.makeDir(path: path) }

    /// Removes a directory with all that is in it.
    ///
    /// No error when there is none.
    public func rmDir(path: String) async throws { try await files.rmDir(path: path) }

    /// Removes a file of the app's, which may be anywhere.
    ///
    /// No error when there is none.
    public func removeSource(sourcePath: String) async throws { try await files.removeSource(sourcePath: sourcePath) }

    /// Removes unfinished files as ``FileManagerStorageAdapter`` does.
    public func removeTemporaryFiles(path: String, olderThan date: Date) async throws {
        try await files.removeTemporaryFiles(path: path, olderThan: date)
    }

    /// The regular files in a directory and below that were last written, and got their names, before a date.
    public func files(path: String, notChangedSince date: Date) async throws -> [String] {
        try await files.files(path: path, notChangedSince: date)
    }

    /// Opens a file that must be encrypted.
    ///
    /// - Throws: ``AttachmentEncryptionError``, ``PowerSyncAttachmentError``, what the app's closure throws
    func open(_ path: String) async throws -> EncryptedFile {
        let key = try await checkedKey()
        return try await files.perform(on: path) { _ in try EncryptedFile(path, key: key) }
    }

    /// The SHA-256 digest of the content of a file, whether it is encrypted or not.
    func contentDigest(_ path: String) async throws -> Data {
        guard let file = try await opened(path) else { return try await FileDigest.sha256(path: path) }
        return try await FileDigest.sha256(upTo: file.size) { try file.read(at: $0, upTo: $1) }
    }

    /// Opens a file that may be anywhere.
    ///
    /// - Returns: `nil` when it is not encrypted with the app's key, so that its bytes are its content.
    private func opened(_ path: String) async throws -> EncryptedFile? {
        try AttachmentPath.check(systemPath: path)
        let key = try await checkedKey()
        do {
            return try await FileWork.run { try EncryptedFile(path, key: key) }
        } catch let error as AttachmentEncryptionError where [.notEncrypted, .wrongKey].contains(error.code) {
            return nil
        }
    }

    private func plain(_ path: String) async throws -> AttachmentChunks {
        try AttachmentPath.check(systemPath: path)
        let file = try await FileWork.run {
            let file = try OpenFile(path, for: .reading)
            _ = try file.size()
            return file
        }
        return AttachmentChunks(reading: { try file.read(at: $0, upTo: $1) })
    }

    private func encrypted(_ path: String) async throws -> AttachmentChunks {
        try await encrypted(try await plain(path))
    }

    private func encrypted(_ chunks: AttachmentChunks) async throws -> AttachmentChunks {
        AttachmentChunks(encrypting: chunks, with: try await checkedKey())
    }

    private func checkedKey() async throws -> Data {
        let key = try await key()
        guard key.count == 32 else { throw AttachmentEncryptionError(code: .invalidKey, path: "") }
        return key
    }
}
