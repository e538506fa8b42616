import NIOConcurrencyHelpers
package import PowerSyncSyncConfig

/// The sync config of a stream, which never changes.
package struct StreamConfig: Sendable {
    /// The YAML text.
    package let content: String
    /// The plan that runs.
    package let plan: SyncPlan

    /// Creates a config.
    package init(content: String, plan: SyncPlan) {
        self.content = content
        self.plan = plan
    }

    /// A config as it is stored.
    package struct Stored: Sendable {
        /// The YAML text.
        package var content: String
        /// The plan as JSON.
        package var encodedPlan: String

        /// Creates a stored config.
        package init(content: String, encodedPlan: String) {
            self.content = content
            self.encodedPlan = encodedPlan
        }
    }
}

/// The configs of a storage's streams, each read and decoded when it is first asked for: they may be long, and the records of
/// streams are read with every transaction.
package final class StreamConfigs: Sendable {
    private let configs = NIOLockedValueBox<[ReplicationStreamID: StreamConfig]>([:])
    private let defaultSchema: String

    /// Creates an empty collection.
    ///
    /// - Parameter defaultSchema: The schema of tables that a plan names without one.
    package init(defaultSchema: String) {
        self.defaultSchema = defaultSchema
    }

    /// The config of a stream.
    ///
    /// - Parameters:
    ///   - stream: The stream.
    ///   - read: Reads what is stored.
    /// - Returns: The config.
    /// - Throws: What `read` throws, or an error for a plan that this service cannot read.
    package func config(
        of stream: ReplicationStreamID,
        _ read: (ReplicationStreamID) throws -> StreamConfig.Stored
    ) throws -> StreamConfig {
        try load(stream, read).get()
    }

    /// The config of a stream; `nil` when this service cannot read its plan.
    ///
    /// - Parameters:
    ///   - stream: The stream.
    ///   - read: Reads what is stored.
    /// - Returns: The config.
    /// - Throws: What `read` throws.
    package func readableConfig(
        of stream: ReplicationStreamID,
        _ read: (ReplicationStreamID) throws -> StreamConfig.Stored
    ) throws -> StreamConfig? {
        let config = try load(stream, read)
        return try? config.get()
    }

    /// The config of a stream, if it has been read before.
    package func known(of stream: ReplicationStreamID) -> StreamConfig? { configs.withLockedValue { $0[stream] } }

    /// Keeps the config of a stream, instead of what is stored.
    package func keep(_ config: StreamConfig, of stream: ReplicationStreamID) {
        configs.withLockedValue { $0[stream] = config }
    }

    /// Forgets a stream.
    package func forget(_ stream: ReplicationStreamID) {
        configs.withLockedValue { _ = $0.removeValue(forKey: stream) }
    }

    /// Forgets all streams but these.
    package func forget(except streams: Set<ReplicationStreamID>) {
        configs.withLockedValue { configs in configs = configs.filter { streams.contains($0.key) } }
    }

    private func load(
        _ stream: ReplicationStreamID,
        _ read: (ReplicationStreamID) throws -> StreamConfig.Stored
    ) throws -> Result<StreamConfig, any Error> {
        if let config = known(of: stream) { return .success(config) }
        let stored = try read(stream)
        return Result {
            var plan = try SyncPlan(encodedJSON: stored.encodedPlan)
            plan.defaultSchema = defaultSchema
            let config = StreamConfig(content: stored.content, plan: plan)
            keep(config, of: stream)
            return config
        }
    }
}
