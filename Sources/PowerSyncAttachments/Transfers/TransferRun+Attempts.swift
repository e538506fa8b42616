import Foundation
import NIOConcurrencyHelpers
import PowerSyncClient

// Attempts, and what comes of them.
extension TransferRun {
    /// Tries to transfer an attachment, if it still is as it was when it was offered.
    ///
    /// - Returns: Whether the app's policy refused the attempt.
    func isRefused(_ offered: Attachment) async -> Bool {
        do {
            guard let attachment = try await current(offered), let direction = attachment.neededTransfer else {
                return false
            }
            guard await isAllowed(attachment, direction) else { return true }
            await attempt(attachment, direction)
        } catch {
            if !Task.isCancelled, let direction = offered.neededTransfer { retryLater(offered, direction, error) }
        }
        return false
    }

    /// The row as it is now; `nil` when it has changed since it was read.
    private func current(_ offered: Attachment) async throws -> Attachment? {
        let row = try await context.service.withContext { try await $0.getAttachment(id: offered.id) }
        return row?.state == offered.state ? row : nil
    }

    private func isAllowed(
        _ attachment: Attachment,
        _ direction: AttachmentTransferProgress.Direction
    ) async -> Bool {
        guard !Task.isCancelled else { return false }
        guard let policy = context.options.transferPolicy else { return true }
        let isAllowed = try? await newAttempt(of: attachment).call("transferPolicy") { _ in
            await policy(attachment, direction)
        }
        return isAllowed == true && !Task.isCancelled
    }

    private func attempt(_ attachment: Attachment, _ direction: AttachmentTransferProgress.Direction) async {
        let progress = AttachmentTransferProgress(
            attachmentId: attachment.id,
            direction: direction,
            phase: .running,
            transferredBytes: 0,
            totalBytes: attachment.size
        )
        context.progress.began(progress)
        let attempt = newAttempt(of: attachment)
        // Another attachment may have the same path, and what its downloads leave beside it.
        var claimed: [String] = []
        var target: String?
        defer { context.table.release(paths: claimed) }
        do {
            let path = try await attempt.path(of: attachment.filename)
            target = path
            if direction != .upload { claimed = context.table.claim(paths: [path]) }
            let result = try await attempt.perform(direction, at: path, isReserved: !claimed.isEmpty)
            try await commit(attachment, result)
            state.withLockedValue { $0.backoff.succeeded(attachment.id, direction) }
            context.progress.finished(attachment.id)
        } catch {
            context.progress.interrupted(attachment.id)
            await failed(attachment, direction, error, target: claimed.isEmpty ? nil : target)
        }
    }

    /// An attempt; another attachment gets its slot while a call is overdue.
    private func newAttempt(of attachment: Attachment) -> TransferAttempt {
        TransferAttempt(context: context, attachment: attachment) { isOverdue in
            self.state.withLockedValue { $0.schedule.setOverdue(isOverdue, attachment.id) }
            self.wakes.fire(.transferEnded)
        }
    }

    /// Writes a result, unless the run is ending.
    private func commit(_ attachment: Attachment, _ ending: TransferOutcome) async throws {
        guard state.withLockedValue({ $0.phase == .running }) else { throw CancellationError() }
        var outcome = ending
        if case .downloaded(let path, let size) = ending {
            try await checkMayReplaceFile(at: path, for: attachment.id)
            let source = AttachmentPath.downloadPath(for: path)
            outcome = .downloaded(path: try await context.place(source, of: attachment, at: path), size: size)
        }
        do {
            // A file under its name without a row that says so would never be removed.
            try await Task.ignoringCancellation { [outcome] in try await self.write(outcome, of: attachment) }
        } catch {
            throw TransferAttempt.Failure.notWritten(error)
        }
    }

    /// All rows are looked through, so only when there is something to replace, or was: a file that waits for its upload may be away.
    private func checkMayReplaceFile(at path: String, for id: String) async throws {
        let isUnsent = state.withLockedValue { $0.unsentPaths.contains(path.lowercased()) }
        if !isUnsent {
            guard try await context.localStorage.fileExists(filePath: path) else { return }
        }
        try await context.service.withContext { try await $0.checkMayReplaceFile(at: path, for: id) }
    }

    private func write(_ outcome: TransferOutcome, of attachment: Attachment) async throws {
        let isWritten: Bool
        do {
            isWritten = try await writeRow(outcome, of: attachment)
        } catch {
            // Such as a turn that was left behind because the queue is cleared.
            await discardFile(of: outcome)
            throw error
        }
        guard !isWritten else { return }
        await discardFile(of: outcome)
        throw CancellationError()
    }

    /// Writes the row of an outcome.
    ///
    /// - Returns: `false` after the end of the run, or when the row is another one now.
    private func writeRow(_ outcome: TransferOutcome, of attachment: Attachment) async throws -> Bool {
        try await context.service.withContext { [self] table in
            let (isWritten, unusedFile) = try await writing.withLock { () -> (Bool, String?) in
                // The app's storage may have kept the attempt until after the end of the run.
                guard state.withLockedValue({ $0.phase != .ended }) else { return (false, nil) }
                return (true, try await table.commit(outcome, of: attachment))
            }
            guard let path = unusedFile else { return isWritten }
            do {
                try await context.localStorage.deleteFile(filePath: path)
            } catch {
                context.log(.warning, "A file without a row is left: \(error.localizedDescription)")
            }
            return true
        }
    }

    /// Removes the file of a download whose row is not written, unless a row leads to it.
    private func discardFile(of outcome: TransferOutcome) async {
        guard case .downloaded(let path, _) = outcome else { return }
        do {
            // No row has an empty id.
            let isUsed = try await context.service.withContext { try await $0.isFileShared(path: path, besides: "") }
            if !isUsed { try await context.removeFile(at: path) }
        } catch {
            context.log(.warning, "A file without a row is left: \(error.localizedDescription)")
        }
    }

    private func failed(
        _ attachment: Attachment,
        _ direction: AttachmentTransferProgress.Direction,
        _ error: any Error,
        target: String?
    ) async {
        if direction == .download, let target,
            !context.keepsPartialDownloads || state.withLockedValue({ $0.discardsParts })
        {
            await discardPartialDownload(at: target)
        }
        guard !Task.isCancelled, !context.isDatabaseClosed() else { return }
        do {
            switch error {
            case TransferAttempt.Failure.localFileMissing(let error):
                context.log(.error, "The file of \(attachment.id) is gone before it was uploaded.")
                try await commit(attachment, .localFileMissing)
                context.progress.gaveUp()
                _ = await isRetried(attachment, .upload, error)
            case TransferAttempt.Failure.localFileNotRemoved(let error), TransferAttempt.Failure.notWritten(let error):
                retryLater(attachment, direction, error)
            case is CancellationError, is OverdueCallError:
                // The adapter cancelled something of its own, or the queue did: no answer to the question whether to go on.
                retryLater(attachment, direction, error)
            case let transfer as AttachmentTransferError where transfer.code == .inProgress:
                // The owner of the download, maybe another process, is to finish.
                retryLater(attachment, direction, error)
            default:
                guard await !isRetried(attachment, direction, error), !Task.isCancelled else {
                    return retryLater(attachment, direction, error)
                }
                try await giveUp(attachment, direction, error)
                if direction == .download, let target { await discardPartialDownload(at: target) }
            }
        } catch {
            guard !Task.isCancelled else { return }
            retryLater(attachment, direction, error)
        }
    }

    private func isRetried(
        _ attachment: Attachment,
        _ direction: AttachmentTransferProgress.Direction,
        _ error: any Error
    ) async -> Bool {
        guard let handler = context.options.errorHandler else { return true }
        let attempt = newAttempt(of: attachment)
        let isRetried =
            switch direction {
            case .upload:
                try? await attempt.call("onUploadError") { _ in
                    await handler.onUploadError(attachment: attachment, error: error)
                }
            case .download:
                try? await attempt.call("onDownloadError") { _ in
                    await handler.onDownloadError(attachment: attachment, error: error)
                }
            case .delete:
                try? await attempt.call("onDeleteError") { _ in
                    await handler.onDeleteError(attachment: attachment, error: error)
                }
            }
        return isRetried ?? true
    }

    private func giveUp(
        _ attachment: Attachment,
        _ direction: AttachmentTransferProgress.Direction,
        _ error: any Error
    ) async throws {
        context.log(.warning, "The \(direction) of \(attachment.id) failed and is given up: \(error.lineOfText)")
        // Before the row changes: the next watch element may queue it again at once.
        state.withLockedValue { $0.backoff.givenUp(attachment.id, direction, now: context.clock.now) }
        try await commit(attachment, .givenUp)
        context.progress.gaveUp()
    }

    /// Adapters refuse cancelled tasks, and a cancelled attempt has left something, too.
    private func discardPartialDownload(at target: String) async {
        await Task.ignoringCancellation { [context] in await context.discardPartialDownload(at: target) }
    }

    private func retryLater(
        _ attachment: Attachment,
        _ direction: AttachmentTransferProgress.Direction,
        _ error: any Error
    ) {
        let (now, random) = (context.clock.now, context.random())
        let wait = state.withLockedValue { state in
            let wait = state.backoff.failed(attachment.id, direction, now: now, random: random)
            state.nextRetry = min(state.nextRetry ?? now + wait, now + wait)
            return wait
        }
        let reason = error.lineOfText
        context.log(.warning, "The \(direction) of \(attachment.id) failed; trying again in \(wait): \(reason)")
    }
}
