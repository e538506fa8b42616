import NIOConcurrencyHelpers
package import PowerSyncSyncConfig

/// The sync config of a stream, and the one that is to take its place.
package struct StreamConfig: Sendable {
    /// The YAML text.
    package let content: String
    /// The plan that runs.
    package let plan: SyncPlan
    /// The config that takes its place later, if there is one.
    package let next: Next?

    /// A config that is not served yet.
    package struct Next: Sendable {
        /// The YAML text.
        package let content: String
        /// The plan, with the names of its parts in the storage.
        package let plan: SyncPlan

        /// Creates a config.
        package init(content: String, plan: SyncPlan) {
            self.content = content
            self.plan = plan
        }
    }

    /// Creates a config.
    package init(content: String, plan: SyncPlan, next: Next? = nil) {
        self.content = content
        self.plan = plan
        self.next = next
    }

    /// The numbers of a stream's configs: the texts and plans of one version never change.
    package struct Version: Hashable, Sendable {
        /// That of the config that is served.
        package var served: Int64
        /// That of the next one.
        package var next: Int64?
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
    private typealias Known = (version: StreamConfig.Version, config: StreamConfig)
    private let configs = NIOLockedValueBox<[ReplicationStreamID: Known]>([:])
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
    ///   - record: The record of the stream.
    ///   - streams: What is stored, in the state in which the record was read.
    /// - Returns: The config.
    /// - Throws: An error of the database, or one for a plan that this service cannot read.
    package func config(of record: StreamRecord, in streams: some StreamTables) throws -> StreamConfig {
        try load(record, streams).get()
    }

    /// The config of a stream; `nil` when this service cannot read its plan.
    ///
    /// - Parameters:
    ///   - record: The record of the stream.
    ///   - streams: What is stored, in the state in which the record was read.
    /// - Returns: The config.
    /// - Throws: An error of the database.
    package func readableConfig(of record: StreamRecord, in streams: some StreamTables) throws -> StreamConfig? {
        let config = try load(record, streams)
        return try? config.get()
    }

    /// The config of a stream that is served with a number, if it has been read before.
    package func known(of serving: ServedConfigID) -> StreamConfig? {
        configs.withLockedValue { configs in
            configs[serving.stream].flatMap { $0.version.served == serving.config ? $0.config : nil }
        }
    }

    /// Keeps the config of a stream, instead of what is stored.
    package func keep(_ config: StreamConfig, of record: StreamRecord) {
        configs.withLockedValue { $0[record.id] = (record.configs, config) }
    }

    /// Forgets a stream.
    package func forget(_ stream: ReplicationStreamID) {
        configs.withLockedValue { _ = $0.removeValue(forKey: stream) }
    }

    /// Forgets all streams but these.
    package func forget(except streams: Set<ReplicationStreamID>) {
        configs.withLockedValue { configs in configs = configs.filter { streams.contains($0.key) } }
    }

    private func load(_ record: StreamRecord, _ streams: some StreamTables) throws -> Result<StreamConfig, any Error> {
        let known = configs.withLockedValue { $0[record.id] }
        if let known, known.version == record.configs { return .success(known.config) }
        let stored = try streams.config(of: record.id)
        let next = try record.next == nil ? nil : streams.nextConfig(of: record.id)
        return Result {
            let config = StreamConfig(
                content: stored.content,
                plan: try plan(stored),
                next: try next.map { StreamConfig.Next(content: $0.content, plan: try plan($0)) }
            )
            keep(config, of: record)
            return config
        }
    }

    private func plan(_ stored: StreamConfig.Stored) throws -> SyncPlan {
        var plan = try SyncPlan(encodedJSON: stored.encodedPlan)
        plan.defaultSchema = defaultSchema
        return plan
    }
}
