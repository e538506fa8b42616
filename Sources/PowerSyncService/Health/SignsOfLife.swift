import Logging
import PowerSyncServiceCore

/// What replication and looks at the storage tell about a process: whether it is alive, and what keeps it from being
/// ready.
struct SignsOfLife: Sendable {
    /// Gets what is found out.
    let probes: Probes
    /// Whether the process is there to replicate.
    let replicates: Bool
    let logger: Logger
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

    /// An attempt at replication has failed, or a later one has succeeded (`nil`).
    func report(_ error: (any Error)?) {
        switch error {
        case nil:
            if probes.solved(.storage) { logger.notice("The bucket storage can be written again") }
        // Without its source, a process serves clients what there is as well as any other one.
        case is ReplicationSourceError: break
        case let error as BucketStorageError where error.code == .inUse || error.code == .leaseLost: break
        default: probes.found(.storage)
        }
    }

    /// The storage was looked at.
    func looked(_ look: StorageLook) {
        if !replicates {
            // Who replicates, tells by that that it is alive, and what is wrong with the storage.
            probes.touch()
            work.advance()
            if look == .failed { probes.found(.storage) } else { probes.solved(.storage) }
        }
        progress.advance()
    }
}
