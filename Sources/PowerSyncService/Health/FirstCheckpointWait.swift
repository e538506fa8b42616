import Logging
import PowerSyncServiceCore

/// Waits until clients can be served from the storage, whatever happens to that meanwhile.
struct FirstCheckpointWait: Sendable {
    /// Asked each time that there is ``progress``.
    let storage: any BucketStorage
    /// Advanced by replication, and by each look at the storage, also one that has failed.
    let progress: ChangeSignal
    let logger: Logger

    /// Waits.
    ///
    /// - Parameter nothingIsDeployed: Called when the service waits for its first sync config, which is deployed for the
    ///   service.
    /// - Throws: `CancellationError`.
    func run(nothingIsDeployed: () -> Void) async throws {
        var isFailing = false
        while true {
            let seen = progress.version
            do {
                if try await storage.activeStream() != nil { return }
                if try await storage.streams().isEmpty { nothingIsDeployed() }
                isFailing = false
            } catch {
                if error is CancellationError || Task.isCancelled { throw CancellationError() }
                if !isFailing {
                    isFailing = true
                    logger.warning(
                        "The bucket storage does not say whether clients can be served, and is asked again",
                        metadata: [LogKey.error: "\(error)"]
                    )
                }
            }
            try await progress.wait(after: seen)
        }
    }
}
