import Foundation
import PowerSyncCore
import PowerSyncProtocol

/// A checkpoint request that the service has accepted.
struct AcceptedCheckpointRequest: CheckpointRequest {
    /// The number that a checkpoint must repeat, or exceed.
    let id: WriteCheckpoint
    /// Shows what is applied.
    let status: LiveSyncStatus
    /// Measures timeouts.
    let clock: ElapsedClock

    var hasSynced: Bool { status.hasApplied(id) }

    func waitForSync() async throws {
        // Elements are not lost: one of them shows the checkpoint, however short.
        let subscription = status.subscribe()
        while let status = await subscription.next() {
            if hasSynced || status.download.lastApplied.map({ $0 >= id }) == true { return }
            if let error = status.lastDownloadError ?? status.lastUploadError {
                throw CheckpointWaitError.errorDetected(message: error.localizedDescription)
            }
            guard status.connected || status.connecting else { throw CheckpointWaitError.disconnected }
        }
        try Task.checkCancellation()
        throw CheckpointWaitError.disconnected
    }

    func waitForSync(timeout: TimeInterval) async throws {
        try await waitForSync(timeout: timeout, clock: clock)
    }
}
