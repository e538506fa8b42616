package import Foundation
package import PowerSync

/// The files of workers with attachments: local ones in one folder, those of the remote storage in another.
package struct AttachmentFiles: Sendable {
    /// The directory of the queue.
    package let local: String
    /// What stands for the remote storage.
    package let remote: String

    /// The folders, below a path.
    package init(path: String) {
        local = path + "/local"
        remote = path + "/remote"
    }

    /// The content of the file of an id: up to 60 kB that no other id has.
    package static func content(of id: String) -> Data {
        let sum = id.utf8.reduce(UInt64(14_695_981_039_346_656_037)) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        var content = Data(id.utf8)
        let size = content.count + Int(sum % 60_000)
        while content.count < size { content += content.prefix(size - content.count) }
        return content
    }

    /// The name of the file of an id.
    package static func filename(of id: String) -> String { "\(id).bin" }

    /// The content of a remote file; `nil` when there is none.
    package func remoteContent(of id: String) -> Data? {
        FileManager.default.contents(atPath: "\(remote)/\(AttachmentFiles.filename(of: id))")
    }

    /// Puts a file into the remote storage, as another device would.
    package func putRemote(_ id: String) throws {
        try FileManager.default.createDirectory(atPath: remote, withIntermediateDirectories: true)
        let url = URL(filePath: "\(remote)/\(AttachmentFiles.filename(of: id))")
        try AttachmentFiles.content(of: id).write(to: url, options: .atomic)
    }

    /// The queue over these files and a database with ``WorkerAttachments/schema``.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - death: Where its process ends.
    ///   - aging: How much older than they are unfinished files count, in seconds.
    /// - Returns: The queue.
    package func queue(
        _ database: any PowerSyncDatabaseProtocol,
        death: AttachmentDeath? = nil,
        aging: TimeInterval = 0
    ) -> AttachmentQueue {
        var options = AttachmentQueueOptions()
        options.syncInterval = .milliseconds(50)
        options.archivedCacheLimit = 2
        options.syncThrottle = .zero
        options.maxConcurrentTransfers = 2
        return AttachmentQueue(
            db: database,
            transport: FolderTransport(files: self, death: death),
            attachmentsDirectory: local,
            watchAttachments: {
                try database.watch("SELECT file_id FROM photos WHERE file_id IS NOT NULL") { cursor in
                    WatchedAttachmentItem(id: try cursor.getString(name: "file_id"), fileExtension: "bin")
                }
            },
            localStorage: DyingStorage(death: death, aging: aging),
            options: options
        )
    }
}

/// A remote storage that is a folder.
private struct FolderTransport: AttachmentTransportAdapter {
    let files: AttachmentFiles
    let death: AttachmentDeath?

    func upload(_ located: LocatedAttachment, progress: @escaping @Sendable (Int64, Int64?) -> Void) async throws {
        try FileManager.default.createDirectory(atPath: files.remote, withIntermediateDirectories: true)
        let content = try Data(contentsOf: URL(filePath: located.localPath))
        let part = URL(filePath: remotePath(located.attachment) + ".part")
        try content.prefix(content.count / 2).write(to: part)
        AttachmentDeath.reached(.uploadBegun, of: death)
        try content.write(to: URL(filePath: remotePath(located.attachment)), options: .atomic)
        try FileManager.default.removeItem(at: part)
        AttachmentDeath.reached(.uploaded, of: death)
    }

    func download(_ located: LocatedAttachment, progress: @escaping @Sendable (Int64, Int64?) -> Void) async throws {
        guard let content = FileManager.default.contents(atPath: remotePath(located.attachment)) else {
            throw AttachmentStorageError.notFound
        }
        // What an earlier attempt has left is replaced.
        let target = URL(filePath: located.localPath)
        try content.prefix(content.count / 2).write(to: target)
        AttachmentDeath.reached(.downloadBegun, of: death)
        try content.write(to: target)
    }

    func delete(_ attachment: Attachment) async throws {
        guard FileManager.default.fileExists(atPath: remotePath(attachment)) else {
            throw AttachmentStorageError.notFound
        }
        try FileManager.default.removeItem(atPath: remotePath(attachment))
        AttachmentDeath.reached(.remoteDeleted, of: death)
    }

    private func remotePath(_ attachment: Attachment) -> String { "\(files.remote)/\(attachment.filename)" }
}

/// The file system, with points of death between its operations.
private struct DyingStorage: LocalStorageAdapter {
    let base = FileManagerStorageAdapter()
    let death: AttachmentDeath?
    let aging: TimeInterval

    func saveFile(filePath: String, data: Data) async throws -> Int64 {
        if death == .saveBegun {
            try data.prefix(data.count / 2).write(to: URL(filePath: filePath + ".dead.pstmp"))
            AttachmentDeath.reached(.saveBegun, of: death)
        }
        let size = try await base.saveFile(filePath: filePath, data: data)
        AttachmentDeath.reached(.fileSaved, of: death)
        return size
    }

    func readFile(filePath: String, mediaType: String?) async throws -> Data {
        try await base.readFile(filePath: filePath, mediaType: mediaType)
    }

    func deleteFile(filePath: String) async throws {
        try await base.deleteFile(filePath: filePath)
        if filePath.hasSuffix(".bin") { AttachmentDeath.reached(.localDeleted, of: death) }
    }

    func fileExists(filePath: String) async throws -> Bool {
        let exists = try await base.fileExists(filePath: filePath)
        AttachmentDeath.reached(.fileLookedFor, of: death)
        return exists
    }

    func makeDir(path: String) async throws {
        try await base.makeDir(path: path)
    }

    func rmDir(path: String) async throws {
        try await base.rmDir(path: path)
        AttachmentDeath.reached(.directoryRemoved, of: death)
    }

    func copyFile(sourcePath: String, targetPath: String) async throws {
        try await base.copyFile(sourcePath: sourcePath, targetPath: targetPath)
    }

    func moveFile(sourcePath: String, targetPath: String) async throws {
        try await base.moveFile(sourcePath: sourcePath, targetPath: targetPath)
        AttachmentDeath.reached(.downloadMoved, of: death)
    }

    func fileSize(filePath: String) async throws -> Int64? {
        try await base.fileSize(filePath: filePath)
    }

    func removeTemporaryFiles(path: String, olderThan date: Date) async throws {
        try await base.removeTemporaryFiles(path: path, olderThan: date.addingTimeInterval(aging))
    }
}
