package import PowerSyncSyncConfig

/// A storage whose replication streams are in tables: it has the calls about streams in common with all others of its kind.
package protocol StreamTableStorage: BucketStorage {
    associatedtype Streams: StreamTables

    /// The sync configs of the streams.
    var configs: StreamConfigs { get }
    /// Tells of checkpoints.
    var feed: CheckpointFeed { get }

    /// Makes the handle of a new stream, different at every call.
    func makeSourceHandle() -> String

    /// Reads what is stored of streams, in one state of the database.
    ///
    /// - Parameters:
    ///   - activity: What is being done, for errors.
    ///   - body: Reads.
    /// - Returns: The result of `body`.
    /// - Throws: What `body` throws, or an error of the database.
    func readStreams<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (Streams) throws -> Value
    ) async throws -> Value

    /// Changes which streams there are or which state they have, in a transaction that no other of its kind runs beside.
    ///
    /// - Parameters:
    ///   - activity: What is being done, for errors.
    ///   - body: Changes the streams.
    /// - Returns: The result of `body`.
    /// - Throws: What `body` throws, or an error of the database.
    func changeStreams<Value: Sendable>(
        _ activity: String,
        _ body: @escaping @Sendable (inout Streams) throws -> Value
    ) async throws -> Value
}

extension StreamTableStorage {
    package func deploy(
        _ content: String,
        versionLabel: String?,
        plan: SyncPlan,
        mode: DeploymentMode
    ) async throws -> ReplicationStream {
        let sourceHandle = makeSourceHandle()
        let deployed = try await changeStreams("deploying a sync config") { [configs] streams in
            try streams.deploy(
                content,
                plan,
                versionLabel: versionLabel,
                mode: mode,
                sourceHandle: sourceHandle,
                configs: configs
            )
        }
        let record = deployed.record
        // A config that needs nothing new is served from now on.
        if record.state == .active, let checkpoint = record.checkpoint { feed.publish(checkpoint) }
        return try await replicationStream(of: record)
    }

    package func restart(_ stream: ReplicationStreamID) async throws -> ReplicationStream {
        let sourceHandle = makeSourceHandle()
        let record = try await changeStreams("starting a stream again") { streams in
            try streams.restart(stream, sourceHandle: sourceHandle)
        }
        return try await replicationStream(of: record)
    }

    package func progress(of stream: ReplicationStreamID) async throws -> ReplicationStreamProgress {
        try await readStreams("reading the progress of a stream") { try $0.progress(of: stream) }
    }

    package func publishedPosition() async throws -> SourcePosition? {
        try await readStreams("reading the published position") { try $0.publishedPosition() }
    }

    /// The stream of a record, or as it is by now if other configs have taken their places.
    private func replicationStream(of record: StreamRecord) async throws -> ReplicationStream {
        try await readStreams("reading a sync config") { [configs] streams in
            let record = try streams.record(of: record.id)
            return ReplicationStream(record, try configs.config(of: record, in: streams))
        }
    }

    /// What clients are served from a checkpoint on, with the config of that moment or a later one.
    package func served(at checkpoint: StorageCheckpoint) async throws -> ActiveReplicationStream {
        if let config = configs.known(of: checkpoint.serving) {
            return ActiveReplicationStream(plan: config.plan, checkpoint: checkpoint)
        }
        let (plan, newest) = try await readStreams("reading a sync config") { [configs] streams in
            let record = try streams.record(of: checkpoint.streamID)
            return (try configs.config(of: record, in: streams).plan, record.checkpoint)
        }
        guard let newest, newest.configNumber != checkpoint.configNumber else {
            return ActiveReplicationStream(plan: plan, checkpoint: checkpoint)
        }
        // It has taken its place with a later checkpoint, which has its rows, and this process is about to be told.
        feed.publish(newest)
        return ActiveReplicationStream(plan: plan, checkpoint: newest)
    }
}
