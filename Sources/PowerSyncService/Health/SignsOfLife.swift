import Foundation
import Logging
import NIOConcurrencyHelpers
import PowerSyncServiceCore

/// Turns reports of replication and looks at the storage into liveness, and into the problems that keep the process from being ready.
struct SignsOfLife: Sendable {
    /// Gets the problems.
    let probes: Probes
    /// Whether the process is there to replicate.
    let replicates: Bool
    let logger: Logger
    /// The time, for the date of an error.
    var now: @Sendable () -> Date = { Date() }
    private let failures = NIOLockedValueBox(ReplicationFailures())
    /// Advanced by replication, and by each look at the storage, also one that has failed.
    let progress = ChangeSignal()
    /// Advanced by what the process is there for, and looked at by the ``Heartbeat``: replication, or else looks at the
    /// storage.
    ///
    /// Looks by a process that replicates do not count: they go on when replication hangs.
    let work = ChangeSignal()

    /// Replication is alive.
    func touch() {
        probes.touch()
        work.advance()
        progress.advance()
    }

    /// What is wrong with replication, for operators.
    var failure: AdminRoutes.Failure? { failures.withLockedValue(\.newest) }

    /// Takes a report of replication.
    ///
    /// - Parameters:
    ///   - report: What has happened.
    ///   - stream: The stream that it was for; `nil` for what is there for all of them.
    func report(_ report: ReplicationReport, of stream: ReplicationStreamID?) {
        switch (report, stream) {
        case (.leftOut(let obstacles), let stream?): return probes.leavesOut(obstacles, of: stream)
        case (.ended, let stream?): probes.leavesOut([], of: stream)
        default: break
        }
        let date = now()
        let isSolved = failures.withLockedValue { failures -> Bool in
            failures.record(report, of: stream, at: date)
            // In here, so that the last of several reports is the last to change this, too.
            probes.sourceFails(since: failures.sourceFailsSince)
            if !failures.includeStorage { return probes.solved(.storage) }
            probes.found(.storage)
            return false
        }
        if isSolved { logger.notice("The bucket storage can be written again") }
    }

    /// The storage was looked at.
    func looked(_ look: StorageLook) {
        if !replicates {
            // In a process that replicates, the replicator says so, and what is wrong with the storage.
            probes.touch()
            work.advance()
            if look == .failed { probes.found(.storage) } else { probes.solved(.storage) }
        }
        progress.advance()
    }
}
