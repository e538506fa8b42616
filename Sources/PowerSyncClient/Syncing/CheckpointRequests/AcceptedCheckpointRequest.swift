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
        for await status in status.elements() {
            if hasSynced { return }
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
