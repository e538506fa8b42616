import Foundation
import NIOConcurrencyHelpers
import PowerSyncClient
import PowerSyncSQLite

/// Transfers attachments from one start to the next stop (docs/attachments.md "Transfers").
///
/// ```
///  timer ─────────┐                                                  ┌─► attempt ─► commit ─┐
///  active rows ───┼─► trigger ──throttle──► look ─► schedule ─limit──┼─► attempt ─► commit ─┼─► ended: next
///  connectivity ──┤     (coalescing)         ▲                       └─► …                  │
///  app ───────────┘                          └── a wait after a failure is over ◄───────────┘
/// ```
///
/// Each attempt is a task of its own, so that ``end()`` can go on without one that ignores its cancellation. What such a task
/// finds out is thrown away: results are written only under the gate, and only before the end.
final class TransferRun: Sendable {
    private enum Wake: Int, Comparable, Sendable {
        case transferEnded
        case look
        case hopefulLook

        static func < (lhs: Wake, rhs: Wake) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    /// How far the run is.
    private enum Phase {
        /// Attempts begin, and their results are written.
        case running
        /// No attempt begins any more; results whose writing has begun are written.
        case ending
        /// No result is written any more.
        case ended
    }

    private struct State {
        var phase = Phase.running
        var schedule: TransferSchedule
        var backoff: TransferBackoff
        /// How many looks were hopeful.
        var hopefulLooks = 0
        var tasks: [ExactText: Task<Void, Never>] = [:]
        /// Where the files are that waited for their upload at the last look, in lower case.
        var unsentPaths: Set<String> = []
        /// When the first of the attachments that failed may be tried again.
        var nextRetry: Duration?
        /// Whether the table cannot be watched any more: its database was closed.
        var isWatchOver = false
        /// Whether parts of downloads are of no use any more.
        var discardsParts = false
        /// Whether attempts that have not returned are not waited for any more.
        var isLeft = false
    }

    /// How long a failed look at the table waits.
    private static let waitAfterFailedLook = Duration.seconds(1)

    private let context: TransferContext
    private let interval: Duration?
    private let trigger: SyncTrigger
    private let wakes = CoalescingTrigger<Wake>()
    /// Held while a row is written.
    private let gate = AsyncLock()
    /// The calls into the app's code while the table is read and written.
    private let scope = AppCodeScope()
    private let state: NIOLockedValueBox<State>

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - context: What transfers need.
    ///   - interval: The time between two looks without a reason; `nil` for none.
    ///   - trigger: Causes looks.
    init(context: TransferContext, interval: Duration?, trigger: SyncTrigger) {
        self.context = context
        self.interval = interval
        self.trigger = trigger
        state = NIOLockedValueBox(
            State(
                schedule: TransferSchedule(limit: context.options.maxConcurrentTransfers),
                backoff: TransferBackoff(syncInterval: interval)
            )
        )
    }

    /// Transfers until the task is cancelled or the database is closed.
    func run() async {
        await scope.run {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.forwardTriggers() }
                group.addTask { await self.tick() }
                group.addTask { await self.followActiveRows() }
                await dispatch()
                group.cancelAll()
            }
        }
        cancelAttempts()
    }

    /// Begins no attempt any more, for good, and cancels those that run.
    ///
    /// - Parameter discardsParts: Whether attempts that end later remove what they have downloaded.
    func cancelAttempts(discardsParts: Bool = false) {
        state.withLockedValue { state in
            if discardsParts { state.discardsParts = true }
            // With the cancellation, or a look that is still running begins an attempt that nothing cancels.
            if state.phase == .running { state.phase = .ending }
            state.tasks.values.forEach { $0.cancel() }
        }
    }

    /// Waits for nothing of the app's any longer.
    func leave() {
        state.withLockedValue { $0.isLeft = true }
        scope.leave(.generalError("The transfers were stopped."))
        wakes.fire(.transferEnded)
    }

    /// Waits until all attempts have returned, or ``leave()`` is called.
    ///
    /// No result is written after it.
    ///
    /// - Precondition: The task of ``run()`` has ended.
    func end() async {
        await Task.ignoringCancellation { [self] in
            while state.withLockedValue({ !$0.isLeft && !$0.tasks.isEmpty }) { _ = try? await wakes.wait() }
        }
        await gate.withLockIgnoringCancellation {
            state.withLockedValue { $0.phase = .ended }
        }
    }

    /// Begins no attempt any more, and cancels those that run.
    func pause() {
        state.withLockedValue { state in
            state.schedule.isPaused = true
            state.tasks.values.forEach { $0.cancel() }
        }
    }

    /// Begins attempts again.
    func resume() {
        state.withLockedValue { $0.schedule.isPaused = false }
        wakes.fire(.look)
    }

    /// Replaces the ids that go first.
    func prioritize(_ ids: [String]) {
        state.withLockedValue { $0.schedule.prioritize(ids) }
    }
}

// Triggers.
extension TransferRun {
    private func forwardTriggers() async {
        while let reason = try? await trigger.wait() {
            wakes.fire(reason == .hope ? .hopefulLook : .look)
            guard (try? await context.clock.sleep(for: context.options.throttle)) != nil else { return }
        }
    }

    private func tick() async {
        guard let interval else { return }
        while (try? await context.clock.sleep(for: interval)) != nil {
            trigger.fire(.routine)
        }
    }

    private func followActiveRows() async {
        while !Task.isCancelled {
            do {
                for try await _ in try await context.files.service.watchActiveAttachments() { trigger.fire(.routine) }
                // The database was closed, which the next look finds.
                state.withLockedValue { $0.isWatchOver = true }
                return trigger.fire(.routine)
            } catch {
                guard !Task.isCancelled else { return }
                context.files.log(.error, "Watching the attachments failed: \(error.localizedDescription)")
                guard (try? await context.clock.sleep(for: TransferRun.waitAfterFailedLook)) != nil else { return }
            }
        }
    }
}

// Looking at the table, and beginning what is to be done.
extension TransferRun {
    /// Looks and begins attempts, until the task is cancelled or the database is closed.
    private func dispatch() async {
        var mayExpire = false
        while let wake = try? await nextWake() {
            if wake > .transferEnded {
                guard await look(isHopeful: wake == .hopefulLook) else { return }
                mayExpire = true
            }
            startAttempts()
            if mayExpire, state.withLockedValue({ $0.schedule.isDrained }) {
                mayExpire = false
                await expire()
            }
        }
    }

    /// Waits for something to do.
    private func nextWake() async throws -> Wake {
        guard let retry = state.withLockedValue({ $0.nextRetry }) else { return try await wakes.wait() }
        return try await withThrowingTaskGroup(of: Wake.self) { [clock = context.clock, wakes] group in
            group.addTask { try await wakes.wait() }
            group.addTask {
                try await clock.sleep(until: retry)
                return .look
            }
            guard let first = try await group.next() else { throw CancellationError() }
            group.cancelAll()
            // A flag that was taken down at the same time must not get lost.
            let second = try? await group.next()
            return max(first, second ?? first)
        }
    }

    /// Reads what is to be transferred.
    ///
    /// - Returns: Whether there is still a database, and the run is not ended.
    private func look(isHopeful: Bool) async -> Bool {
        do {
            let rows = try await context.files.service.withContext { try await $0.getActiveAttachments() }
            schedule(rows, isHopeful: isHopeful)
            return true
        } catch {
            if Task.isCancelled { return false }
            if context.isDatabaseClosed() || state.withLockedValue({ $0.isWatchOver }) {
                context.files.log(.debug, "The database is closed: attachments are not transferred any more.")
                return false
            }
            context.files.log(.error, "The attachments cannot be read: \(error.localizedDescription)")
            let retry = context.clock.now + TransferRun.waitAfterFailedLook
            state.withLockedValue { $0.nextRetry = retry }
            return true
        }
    }

    private func schedule(_ rows: [Attachment], isHopeful: Bool) {
        let now = context.clock.now
        let active = rows.filter { $0.neededTransfer != .download || context.options.downloads }
        let unsent = rows.lazy.filter { $0.state == .queuedUpload }.compactMap { $0.localUri?.lowercased() }
        state.withLockedValue { state in
            state.unsentPaths = Set(unsent)
            if isHopeful {
                state.hopefulLooks += 1
                // One that has failed may not have ended: this look passes it over, and it would have no wait whose end causes another.
                for row in active where row.neededTransfer.flatMap({ state.backoff.end(of: row.id, $0) }) != nil {
                    state.schedule.repeatAfterEnd(row.id)
                }
                state.backoff.reset()
            }
            state.nextRetry = nil
            var due: [Attachment] = []
            for row in active {
                guard let direction = row.neededTransfer else { continue }
                if let end = state.backoff.end(of: row.id, direction), end > now {
                    state.nextRetry = min(state.nextRetry ?? end, end)
                } else {
                    due.append(row)
                }
            }
            state.schedule.offer(due)
        }
        context.progress.looked(active: active.count)
    }

    private func startAttempts() {
        state.withLockedValue { state in
            guard state.phase == .running else { return }
            while let attachment = state.schedule.next() {
                guard context.files.table.claim(attachment.id) else {
                    // The owner of the reservation causes a look when it is free.
                    state.schedule.ended(attachment.id)
                    continue
                }
                state.tasks[ExactText(attachment.id)] = Task { [hopefulLooks = state.hopefulLooks] in
                    // The file is reserved as long as the app's code may write it: the attempt is left as a whole.
                    let isRefused = await AppCodeScope.outside { await self.attempt(attachment) } == .refused
                    self.attemptEnded(attachment, refusedAfter: isRefused ? hopefulLooks : nil)
                }
            }
        }
    }

    /// An attempt is over; if the app's policy refused it, after so many hopeful looks.
    private func attemptEnded(_ attachment: Attachment, refusedAfter hopefulLooks: Int?) {
        let isDue = state.withLockedValue { state in
            state.tasks[ExactText(attachment.id)] = nil
            // Something else may be wanted of it by now, such as its deletion.
            if state.schedule.ended(attachment.id) { return true }
            // The app may have changed its mind while it was asked: the look that it caused has passed this one over.
            if let hopefulLooks { return state.hopefulLooks > hopefulLooks }
            // The time of the next attempt may have come before the end of this one: a look at that time has passed it over.
            let end = attachment.neededTransfer.flatMap { state.backoff.end(of: attachment.id, $0) }
            return end.map { $0 <= context.clock.now } ?? false
        }
        context.files.table.release(attachment.id)
        // An interrupted one may have been passed over by the look of a resumption that came before its end.
        wakes.fire(Task.isCancelled || isDue ? .look : .transferEnded)
    }

    private func expire() async {
        do {
            _ = try await context.files.service.withContext { [context] in
                try await context.files.expire($0, byteLimit: context.options.archivedCacheByteLimit)
            }
        } catch {
            guard !Task.isCancelled, !context.isDatabaseClosed() else { return }
            context.files.log(.error, "Archived attachments could not be removed: \(error.localizedDescription)")
        }
    }
}

// Attempts, and what comes of them.
extension TransferRun {
    /// Whether an attempt was made.
    private enum Permission {
        /// It was, or there was nothing to do any more.
        case given
        /// The app's policy refused it.
        case refused
    }

    /// Tries to transfer an attachment, if it still is as it was when it was offered.
    private func attempt(_ offered: Attachment) async -> Permission {
        do {
            guard let attachment = try await current(offered), let direction = attachment.neededTransfer else {
                return .given
            }
            guard await isAllowed(attachment, direction) else { return .refused }
            await attempt(attachment, direction)
        } catch {
            if !Task.isCancelled, let direction = offered.neededTransfer { retryLater(offered, direction, error) }
        }
        return .given
    }

    /// The row as it is now; `nil` when it has changed since it was read.
    private func current(_ offered: Attachment) async throws -> Attachment? {
        let row = try await context.files.service.withContext { try await $0.getAttachment(id: offered.id) }
        return row?.state == offered.state ? row : nil
    }

    private func isAllowed(
        _ attachment: Attachment,
        _ direction: AttachmentTransferProgress.Direction
    ) async -> Bool {
        guard !Task.isCancelled else { return false }
        guard let policy = context.options.policy else { return true }
        let isAllowed = try? await calls(for: attachment)("transferPolicy") { _ in await policy(attachment, direction) }
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
        let calls = calls(for: attachment)
        // Another attachment may have the same path, and what its downloads leave beside it.
        var claimed: [String] = []
        var target: String?
        defer { context.files.table.paths.release(claimed) }
        do {
            let path = try await calls.path(of: attachment.filename)
            target = path
            if direction != .upload { claimed = context.files.table.paths.claim([path]) }
            let completion = try await TransferAttempt(
                context: context,
                calls: calls,
                attachment: attachment,
                target: path,
                hasTarget: !claimed.isEmpty
            ).perform(direction)
            try await commit(attachment, completion)
            state.withLockedValue { $0.backoff.succeeded(attachment.id, direction) }
            context.progress.finished(attachment.id)
        } catch {
            context.progress.interrupted(attachment.id)
            await failed(attachment, direction, error, target: claimed.isEmpty ? nil : target)
        }
    }

    /// Calls the app for an attachment; another attachment gets its slot when a call is overdue.
    private func calls(for attachment: Attachment) -> AttachmentCalls {
        AttachmentCalls(context: context, id: attachment.id) { isOverdue in
            self.state.withLockedValue { $0.schedule.setOverdue(isOverdue, attachment.id) }
            self.wakes.fire(.transferEnded)
        }
    }

    /// Writes a result, unless the run is ending.
    private func commit(_ attachment: Attachment, _ completion: TransferAttempt.Completion) async throws {
        guard state.withLockedValue({ $0.phase == .running }) else { throw CancellationError() }
        var result = completion.result
        if let source = completion.temporaryPath, case .downloaded(let path, let size) = result {
            try await checkMayReplaceFile(at: path, for: attachment.id)
            result = .downloaded(path: try await context.place(source, of: attachment, at: path), size: size)
        }
        let outcome = TransferOutcome(started: attachment, result: result)
        do {
            // A file under its name without a row that says so would never be removed.
            try await Task.ignoringCancellation { try await self.write(outcome) }
        } catch {
            throw TransferAttempt.Failure.notWritten(error)
        }
    }

    /// All rows are looked through, so only when there is something to replace, or was: a file that waits for its upload may be away.
    private func checkMayReplaceFile(at path: String, for id: String) async throws {
        let isUnsent = state.withLockedValue { $0.unsentPaths.contains(path.lowercased()) }
        if !isUnsent {
            guard try await context.files.storage.fileExists(filePath: path) else { return }
        }
        try await context.files.service.withContext { try await $0.table.checkMayReplaceFile(at: path, for: id) }
    }

    private func write(_ outcome: TransferOutcome) async throws {
        try await scope.run {
            try await context.files.service.withContext { [self] holder in
                let followUp = try await gate.withLockIgnoringCancellation {
                    guard state.withLockedValue({ $0.phase != .ended }) else { throw CancellationError() }
                    return try await holder.table.commit(outcome)
                }
                guard case .removeFile(let path) = followUp else { return }
                do {
                    try await context.files.storage.deleteFile(filePath: path)
                } catch {
                    context.files.log(.warning, "A file without a row is left: \(error.localizedDescription)")
                }
            }
        }
    }

    private func failed(
        _ attachment: Attachment,
        _ direction: AttachmentTransferProgress.Direction,
        _ error: any Error,
        target: String?
    ) async {
        if direction == .download, let target,
            context.takesWholeFiles || state.withLockedValue({ $0.discardsParts })
        {
            await discardPartialDownload(at: target)
        }
        guard !Task.isCancelled, !context.isDatabaseClosed() else { return }
        do {
            switch error {
            case TransferAttempt.Failure.localFileMissing(let error):
                context.files.log(.error, "The file of \(attachment.id) is gone before it was uploaded.")
                try await commit(attachment, TransferAttempt.Completion(result: .localFileMissing))
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
        let calls = calls(for: attachment)
        let isRetried =
            switch direction {
            case .upload:
                try? await calls("onUploadError") { _ in
                    await handler.onUploadError(attachment: attachment, error: error)
                }
            case .download:
                try? await calls("onDownloadError") { _ in
                    await handler.onDownloadError(attachment: attachment, error: error)
                }
            case .delete:
                try? await calls("onDeleteError") { _ in
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
        context.files.log(.warning, "The \(direction) of \(attachment.id) failed and is given up: \(error.lineOfText)")
        // Before the row changes: the next watch element may queue it again at once.
        state.withLockedValue { $0.backoff.givenUp(attachment.id, direction, now: context.clock.now) }
        try await commit(attachment, TransferAttempt.Completion(result: .givenUp))
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
        let (now, random) = (context.clock.now, context.environment.random())
        let wait = state.withLockedValue { state in
            let wait = state.backoff.failed(attachment.id, direction, now: now, random: random)
            state.nextRetry = min(state.nextRetry ?? now + wait, now + wait)
            return wait
        }
        let reason = error.lineOfText
        context.files.log(.warning, "The \(direction) of \(attachment.id) failed; trying again in \(wait): \(reason)")
    }
}
