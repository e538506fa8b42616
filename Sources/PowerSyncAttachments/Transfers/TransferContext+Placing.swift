import Foundation
import PowerSyncClient
import PowerSyncSQLite

// Giving downloads their paths.
extension TransferContext {
    /// Moves a finished download to a path of the attachment's own.
    ///
    /// That is the path of the file name, or another of its ``AttachmentPath/candidates(for:id:)`` when something else is there: the file of
    /// another attachment of this name, of another queue, of the app. A file of the same content without a row is what a download left whose
    /// process ended before its row was written, and is replaced.
    ///
    /// - Parameters:
    ///   - source: The path of the download.
    ///   - attachment: The row as it was when the attempt began.
    ///   - path: The path of the file name.
    /// - Returns: The path that the file has.
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)`` when no path is free, or what the storage throws.
    func place(_ source: String, of attachment: Attachment, at path: String) async throws -> String {
        let candidates = AttachmentPath.candidates(for: path, id: attachment.id)
        // All rows are looked through, so only when another one may have the path: not for `<directory>/<id>.<extension>`.
        let isOwn = attachment.filename.hasPrefix("\(attachment.id).") && path.hasSuffix("/\(attachment.filename)")
        var unused = candidates
        if !isOwn || attachment.localUri != nil {
            unused = try await service.withContext {
                try await $0.unusedPaths(candidates, besides: attachment.id)
            }
        }
        if let own = attachment.localUri, unused.contains(where: { ExactText($0) == ExactText(own) }) {
            try await move(source, to: own)
            return own
        }
        for candidate in unused {
            if let file = try await localStorage.createFile(.move(from: source), atFirstFreeOf: [candidate]) {
                return file.path
            }
            guard try await isLeftOver(at: candidate, of: source, attachment.id) else { continue }
            try await move(source, to: candidate)
            return candidate
        }
        throw AttachmentPath.taken(candidates, attachment.filename)
    }

    /// Moves a file over what is at its target.
    ///
    /// Renaming does nothing when both are names of one file, as after the end of a process between giving the second name and taking away
    /// the first one: another download would write into the file.
    private func move(_ source: String, to target: String) async throws {
        try await localStorage.moveFile(sourcePath: source, targetPath: target)
        try await removeFile(at: source)
    }

    /// Whether a file has the content of a download, and no row.
    private func isLeftOver(at path: String, of source: String, _ id: String) async throws -> Bool {
        guard
            (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) == nil,
            let size = try await localStorage.fileSize(filePath: path),
            try await localStorage.fileSize(filePath: source) == size,
            try await !service.withContext(callback: { try await $0.isFileShared(path: path, besides: id) })
        else { return false }
        if let digest = try? await contentDigest(path), let other = try? await contentDigest(source) {
            return digest == other
        }
        // The storage is not in the file system.
        let content = try await localStorage.readFile(filePath: path)
        return try await localStorage.readFile(filePath: source) == content
    }

    /// The digest of what is in a file that is in the file system.
    private func contentDigest(_ path: String) async throws -> Data {
        guard let encryption = localStorage as? EncryptedStorageAdapter else {
            return try await FileDigest.sha256(path: path)
        }
        return try await encryption.contentDigest(path)
    }
}
