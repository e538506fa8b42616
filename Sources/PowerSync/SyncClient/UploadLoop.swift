import PowerSyncCore
import PowerSyncProtocol

/// Uploads local writes of one connection through the app's connector (`sync-client.md` 11).
///
/// A pass begins when something was written, when a stream delivers its first line, and at keepalives when something
/// was left behind; at most one pass per throttle interval. Passes run only while the stream is connected.
final class UploadLoop: Sendable {
    /// How long the service may take to answer a request for a write checkpoint: 40 s, as for a silent stream.
    private static let writeCheckpointLimit = Duration.seconds(40)

    private let context: SyncContext
    private let trigger: UploadTrigger
    private let didDrain: @Sendable () -> Void

    /// Creates the loop.
    ///
    /// - Parameters:
    ///   - context: What the connection consists of.
    ///   - trigger: Begins passes.
    ///   - didDrain: Called after each pass that emptied the queue.
    init(context: SyncContext, trigger: UploadTrigger, didDrain: @escaping @Sendable () -> Void) {
        self.context = context
        self.trigger = trigger
        self.didDrain = didDrain
    }

    /// Uploads until the task is cancelled.
    func run() async {
        do {
            while true {
                let reason = try await trigger.wait()
                // What comes while disconnected is not lost: the first line of the next stream begins a pass.
                guard isConnected else { continue }
                if reason == .keepalive, try await isDrained() { continue }
                let started = context.clock.now
                if try await drain() {
                    context.log(.debug, "The upload queue is empty.")
                    didDrain()
                }
                try await context.clock.sleep(until: started + context.options.uploadInterval)
            }
        } catch {
            // The loop ends by cancellation only; `drain()` deals with everything else.
            context.status.uploadEnded(error: nil)
        }
    }

    /// The one condition for uploads: somebody listens to what comes back.
    private var isConnected: Bool { context.status.snapshot.connected }

    /// Whether a keepalive finds nothing to do.
    ///
    /// Problems are for the next pass to report.
    private func isDrained() async throws -> Bool {
        do {
            return try await context.database.read { db in
                guard try UploadQueue.firstID(db) == nil else { return false }
                return try LocalWriteGate.sequenceAwaitingCheckpoint(db) == nil
            }
        } catch {
            try Task.checkCancellation()
            return false
        }
    }

    /// Runs one pass.
    ///
    /// - Returns: Whether the queue was emptied. If not, the stream has gone.
    /// - Throws: `CancellationError`, when the task is cancelled.
    private func drain() async throws -> Bool {
        var pass = Pass()
        while isConnected {
            do {
                switch pass.headRead(try await context.database.read { try UploadQueue.firstID($0) }) {
                case .upload:
                    context.status.uploadStarted()
                    try await context.connector.uploadData(database: context.app)
                    context.status.uploadSucceeded(isUploading: true)
                case .finish:
                    try await obtainWriteCheckpoint()
                    context.status.uploadSucceeded(isUploading: false)
                    return true
                case .stall:
                    context.log(.warning, StalledUploadQueue.warning)
                    throw PowerSyncError.operationFailed(message: StalledUploadQueue.message)
                }
            } catch {
                try Task.checkCancellation()
                pass.failed()
                try await waitAfter(error)
            }
        }
        context.log(.debug, "Uploading pauses until the sync stream is connected again.")
        context.status.uploadEnded(error: nil)
        return false
    }

    private func waitAfter(_ error: any Error) async throws {
        let delay = context.retryDelay.next()
        if error is CancellationError {
            // The app cancelled something of its own; that is not an error to report.
            context.status.uploadEnded(error: nil)
        } else {
            context.log(.error, "Uploading local writes failed; trying again in \(delay): \(error)")
            context.status.uploadEnded(error: error)
        }
        try await context.clock.sleep(for: delay)
    }

    /// Makes the service's next write checkpoint the target of the local write gate (`sync-client.md` 10.4).
    private func obtainWriteCheckpoint() async throws {
        let request = try await context.database.read { db -> (sequence: Int64, clientID: String)? in
            guard let sequence = try LocalWriteGate.sequenceAwaitingCheckpoint(db) else { return nil }
            return (sequence, try KeyValueStore.clientID(db))
        }
        guard let request else { return }
        let checkpoint = try await requestWriteCheckpoint(clientID: request.clientID)
        let isStored = try await context.database.write { db in
            try LocalWriteGate.acknowledge(checkpoint, ifSequenceIs: request.sequence, db)
        }
        context.log(
            .debug,
            isStored
                ? "Waiting for write checkpoint \(checkpoint)."
                : "Write checkpoint \(checkpoint) is superseded by newer local writes."
        )
    }

    private func requestWriteCheckpoint(clientID: String) async throws -> WriteCheckpoint {
        let credentials = try await context.credentials.credentials()
        let limit = UploadLoop.writeCheckpointLimit
        do {
            return try await context.clock.withLimit(
                limit,
                otherwise: SyncTransportError(
                    .idle,
                    message: "\(credentials.endpoint) did not answer the request for a write checkpoint in \(limit)."
                )
            ) { [context] in
                try await context.transport.writeCheckpoint(
                    clientID: clientID,
                    credentials: credentials,
                    log: context.requestLog
                )
            }
        } catch let error as SyncTransportError where error.isUnauthorized {
            context.credentials.invalidate(credentials)
            throw error
        }
    }
}

/// What is said when `uploadData` returns and the entry that was at the head of the queue is still there.
///
/// Apps and tests search for the beginning of the warning.
private enum StalledUploadQueue {
    static let warning = """
        Potentially previously uploaded CRUD entries are still present in the upload queue.
        Make sure to handle uploads and complete CRUD transactions or batches by calling and awaiting their \
        [.complete()] method.
        The next upload iteration will be delayed.
        """
    static let message = "Delaying due to previously encountered CRUD item."
}
