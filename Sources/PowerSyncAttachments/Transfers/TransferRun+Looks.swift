import Foundation
import NIOConcurrencyHelpers
import PowerSyncClient
import PowerSyncSQLite

// Looking at the table, and beginning what is to be done.
extension TransferRun {
    /// Looks and begins attempts, until the task is cancelled or the database is closed.
    func dispatch() async {
        var mayExpire = false
        while let wake = try? await nextWake() {
            if wake > .transferEnded {
                guard await look(isHopeful: wake == .hope) else { return }
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
    private func nextWake() async throws -> SyncReason {
        guard let retry = state.withLockedValue({ $0.nextRetry }) else { return try await wakes.wait() }
        return try await withThrowingTaskGroup(of: SyncReason.self) { [clock = context.clock, wakes] group in
            group.addTask { try await wakes.wait() }
            group.addTask {
                try await clock.sleep(until: retry)
                return .routine
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
    /// - Returns: Whether there is still a database, and an owner of the queue.
    private func look(isHopeful: Bool) async -> Bool {
        do {
            let rows = try await context.service.withContext { try await $0.getActiveAttachments() }
            schedule(rows, isHopeful: isHopeful)
            return true
        } catch {
            if Task.isCancelled { return false }
            if context.isDatabaseClosed() || state.withLockedValue({ $0.isWatchOver }) {
                context.log(.debug, "The database is closed: attachments are not transferred any more.")
                return false
            }
            context.log(.error, "The attachments cannot be read: \(error.localizedDescription)")
            let retry = context.clock.now + TransferRun.waitAfterFailedLook
            state.withLockedValue { $0.nextRetry = retry }
            return true
        }
    }

    private func schedule(_ rows: [Attachment], isHopeful: Bool) {
        let now = context.clock.now
        let active = rows.filter { $0.neededTransfer != .download || context.options.downloadAttachments }
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
                guard context.table.claim(attachment.id) else {
                    // Its owner causes a look when it is free.
                    state.schedule.ended(attachment.id)
                    continue
                }
                state.tasks[ExactText(attachment.id)] = LeavableTask { [hopefulLooks = state.hopefulLooks] in
                    let isRefused = await self.isRefused(attachment)
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
        context.table.release(attachment.id)
        // An interrupted one may have been passed over by the look of a resumption that came before its end.
        wakes.fire(Task.isCancelled || isDue ? .routine : .transferEnded)
    }

    private func expire() async {
        do {
            _ = try await context.service.withContext { [context] in try await context.expire($0) }
        } catch {
            guard !Task.isCancelled, !context.isDatabaseClosed() else { return }
            context.log(.error, "Archived attachments could not be removed: \(error.localizedDescription)")
        }
    }
}
