import Foundation
import NIOConcurrencyHelpers
import PowerSyncClient

/// One attempt to transfer one attachment, outside the lock.
///
/// Its calls into the app's code have ``AttachmentQueueOptions/transferLimit`` each. An overdue call is cancelled and waited for, so the attempt
/// goes on when it has returned, and no second call is made for the attachment before. Meanwhile the run gives the slot of the attempt to another
/// attachment, and the progress names the call.
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
    /// The row when the attempt begins.
    let attachment: Attachment
    /// Called with `true` when a call is overdue, and with `false` when it has returned after all.
    let overdueChanged: @Sendable (Bool) -> Void

    /// Transfers.
    ///
    /// - Parameters:
    ///   - direction: What is to be done.
    ///   - target: The path of the file name.
    ///   - isReserved: Whether that path, and what downloads leave beside it, is reserved for the attempt.
    /// - Returns: What is to be written into the table. A file that was downloaded is at the ``AttachmentPath/downloadPath(for:)`` of its path, and is
    ///   to be moved there before.
    /// - Throws: ``Failure``, or what the transport or the local storage throws.
    func perform(
        _ direction: AttachmentTransferProgress.Direction,
        at target: String,
        isReserved: Bool
    ) async throws -> TransferOutcome {
        switch direction {
        case .upload: return try await upload()
        case .download: return try await download(to: target, isReserved: isReserved)
        case .delete: return try await delete(isReserved ? AttachmentPath.downloadFiles(for: target) : [])
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

    private func upload() async throws -> TransferOutcome {
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
        try await call(context.takesWholeFiles ? "uploadFile" : "upload") { call in
            do {
                try await context.transport.upload(located, progress: report(call))
            } catch AttachmentStorageError.alreadyExists {
                // Files are immutable: an earlier attempt has brought it there.
            }
        }
        return .uploaded
    }

    private func download(to target: String, isReserved: Bool) async throws -> TransferOutcome {
        guard isReserved else {
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
        try await call(context.takesWholeFiles ? "downloadFile" : "download") { call in
            try await context.transport.download(located, progress: report(call))
        }
        guard let size = try await context.localStorage.fileSize(filePath: temporaryPath) else {
            throw PowerSyncAttachmentError.fileNotFound(temporaryPath)
        }
        return .downloaded(path: target, size: size)
    }

    /// Deletes the remote file, then the local one and what downloads have left.
    private func delete(_ downloadFiles: [String]) async throws -> TransferOutcome {
        try await call(context.takesWholeFiles ? "deleteFile" : "delete") { _ in
            do {
                try await context.transport.delete(attachment)
            } catch AttachmentStorageError.notFound {
                // That is what was wanted.
            }
        }
        try Task.checkCancellation()
        do {
            var paths = downloadFiles
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

// MARK: - Calls into the app's code

extension TransferAttempt {
    /// Calls the app.
    ///
    /// - Parameters:
    ///   - name: The method or closure.
    ///   - body: Calls it, and reports progress to the call.
    /// - Returns: What `body` returns, also after the limit.
    /// - Throws: What `body` throws; ``OverdueCallError`` in place of that after the limit.
    func call<Value: Sendable>(
        _ name: String,
        _ body: @escaping @Sendable (AppCall) async throws -> Value
    ) async throws -> Value {
        let part = AttachmentCallPart(name)
        let (limit, since) = (context.options.callLimit, context.now())
        let call = AppCall(
            "\(name) of the attachment \(attachment.id)",
            limit: limit,
            clock: context.clock,
            // Pausing cancels the attempt, whose slot is occupied until the call returns.
            outlivesCancellation: true
        )
        // What it was called then: the closure of the app that it was in has returned since.
        let overdueName = NIOLockedValueBox<String?>(nil)
        defer {
            if let name = overdueName.withLockedValue({ $0 }) {
                context.progress.returned(attachment.id)
                overdueChanged(false)
                context.log(.info, "\(name) of the attachment \(attachment.id), which was overdue, has returned.")
            }
        }
        return try await AttachmentCallPart.$current.withValue(part) {
            try await call.run({ try await body(call) }) { _ in
                let name = part.name
                overdueName.withLockedValue { $0 = name }
                part.becameOverdue()
                let overdue = OverdueAttachmentCall(attachmentId: attachment.id, call: name, since: since)
                context.progress.overdue(overdue)
                context.log(
                    .warning,
                    "\(overdue), without progress for \(limit.duration) (the limit is \(limit.option)). It was cancelled. Until it "
                        + "returns, this attachment waits; the others go on."
                )
                overdueChanged(true)
            }
        }
    }

    /// Asks the app where the file of a name is.
    ///
    /// - Throws: ``PowerSyncAttachmentError/invalidPath(_:)``
    func path(of filename: String) async throws -> String {
        // Nothing of the app's is called where the queue knows the directory.
        guard context.paths.directory == nil else { return try await context.paths.path(of: filename) }
        return try await call("getLocalUri") { _ in try await context.paths.path(of: filename) }
    }
}
