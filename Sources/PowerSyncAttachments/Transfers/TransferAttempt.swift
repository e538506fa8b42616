import NIOConcurrencyHelpers
import PowerSyncClient

/// One attempt to transfer one attachment, outside the lock.
struct TransferAttempt: Sendable {
    /// Failures that are not for the error handler alone to decide.
    enum Failure: Error {
        /// There is nothing to upload.
        case localFileMissing(PowerSyncAttachmentError)
        /// The remote file is deleted; the local one could not be.
        case localFileNotRemoved(any Error)
        /// The attempt was successful; the table does not say so.
        case notWritten(any Error)
    }

    let context: TransferContext
    /// Calls the app.
    let calls: AttachmentCalls
    /// The row when the attempt begins.
    let attachment: Attachment
    /// The path of the file name.
    let target: String
    /// Whether the path of the file name, and what downloads leave beside it, is reserved for the attempt.
    let hasTarget: Bool

    /// Transfers.
    ///
    /// - Returns: What is to be written into the table. A file that was downloaded is at the ``AttachmentPath/downloadPath(for:)`` of its path, and is
    ///   to be moved there before.
    /// - Throws: ``Failure``, or what the transport or the local storage throws.
    func perform(_ direction: AttachmentTransferProgress.Direction) async throws -> TransferOutcome.Ending {
        switch direction {
        case .upload: return try await upload()
        case .download: return try await download()
        case .delete: return try await delete()
        }
    }

    /// Tells how far a transfer is, for which its call needs bytes that have moved.
    private func report(_ call: AppCall) -> @Sendable (Int64, Int64?) -> Void {
        let last = NIOLockedValueBox(Int64(0))
        return { [progress = context.progress, id = attachment.id] transferred, total in
            let hasMoved = last.withLockedValue { last in
                defer { last = transferred }
                return last != transferred
            }
            if hasMoved { call.progressed() }
            progress.moved(id, transferred: transferred, total: total)
        }
    }

    private func upload() async throws -> TransferOutcome.Ending {
        guard let path = attachment.localUri else {
            throw Failure.localFileMissing(.generalError("The attachment \(attachment.id) has no local file."))
        }
        guard try await context.localStorage.fileExists(filePath: path) else {
            // On a volume that is not there, no file is lost.
            if let directory = context.directory { try await context.localStorage.makeDir(path: directory) }
            throw Failure.localFileMissing(.fileNotFound(path))
        }
        var opened = LocatedAttachment(attachment: attachment, localPath: path)
        opened.encryption = context.localStorage as? EncryptedStorageAdapter
        let located = opened
        try await calls(context.takesWholeFiles ? "uploadFile" : "upload") { call in
            do {
                try await context.transport.upload(located, progress: report(call))
            } catch AttachmentStorageError.alreadyExists {
                // Files are immutable: an earlier attempt has brought it there.
            }
        }
        return .uploaded
    }

    private func download() async throws -> TransferOutcome.Ending {
        guard hasTarget else {
            throw AttachmentTransferError(
                .inProgress,
                message: "Another attachment is being saved, downloaded or deleted at \(target)"
            )
        }
        let temporaryPath = AttachmentPath.downloadPath(for: target)
        let located = LocatedAttachment(attachment: attachment.with(localUri: target), localPath: temporaryPath)
        // Transports write files; a remote storage's bytes go through the local storage, which makes the directories.
        if context.keepsPartialDownloads {
            try await context.localStorage.makeDir(path: AttachmentPath.directory(of: temporaryPath))
        }
        try await calls(context.takesWholeFiles ? "downloadFile" : "download") { call in
            try await context.transport.download(located, progress: report(call))
        }
        guard let size = try await context.localStorage.fileSize(filePath: temporaryPath) else {
            throw PowerSyncAttachmentError.fileNotFound(temporaryPath)
        }
        return .downloaded(path: target, size: size)
    }

    private func delete() async throws -> TransferOutcome.Ending {
        try await calls(context.takesWholeFiles ? "deleteFile" : "delete") { _ in
            do {
                try await context.transport.delete(attachment)
            } catch AttachmentStorageError.notFound {
                // That is what was wanted.
            }
        }
        try Task.checkCancellation()
        do {
            var paths = hasTarget ? AttachmentPath.downloadFiles(for: target) : []
            if let path = attachment.localUri, try await !isShared(path) { paths.append(path) }
            for path in paths { try await context.removeFile(at: path) }
        } catch {
            throw Failure.localFileNotRemoved(error)
        }
        return .deleted
    }

    private func isShared(_ path: String) async throws -> Bool {
        let id = attachment.id
        return try await context.service.withContext { try await $0.isFileShared(path: path, besides: id) }
    }
}
