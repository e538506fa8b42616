import Logging
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// A source, a storage, and a replicator between them.
struct SourceReplication {
    var storage: any BucketStorage
    var source: any ReplicationSource
    var config: String
    var plan: SyncPlan

    /// Replicates until everything has been published that is in the source when a load ends.
    ///
    /// - Parameter load: Writes to the source meanwhile; nothing does by default.
    /// - Returns: The time since the end of the load.
    /// - Throws: What the load throws, or an error of the source or of the storage.
    @discardableResult
    func replicate(while load: @escaping @Sendable () async throws -> Void = {}) async throws -> Duration {
        let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        _ = try await storage.deploy(config, plan: plan)
        let replicator = Replicator(storage: storage, source: source, streamsChanged: ChangeSignal(), logger: logger)
        return try await withThrowingTaskGroup(of: Duration?.self) { group in
            group.addTask {
                try await replicator.run()
                return nil
            }
            group.addTask {
                try await load()
                let start = ContinuousClock.now
                let head = try await source.head()
                // A storage in the log of its source has no checkpoint for what it has written itself, unless a client waits.
                if try await storage.activeStream() != nil {
                    _ = try await WriteCheckpointIssuer(storage: storage, source: source).create(userKey: "bench")
                }
                while try await storage.publishedPosition().map({ $0.lsn < head.lsn }) ?? true {
                    try await Task.sleep(for: .milliseconds(5))
                }
                return ContinuousClock.now - start
            }
            while let time = try await group.next() {
                guard let time else { continue }
                group.cancelAll()
                return time
            }
            throw CancellationError()
        }
    }
}
