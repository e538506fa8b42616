package import PowerSyncSyncConfig

/// A storage whose replication streams are in tables: it has the calls about streams in common with all others of its kind.
package protocol StreamTableStorage: BucketStorage {
    associatedtype Streams: StreamTables

    /// The sync configs of the streams.
    var configs: StreamConfigs { get }

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
        let stored = StreamConfig.Stored(content: content, encodedPlan: try plan.encodedJSON())
        let sourceHandle = makeSourceHandle()
        let record = try await changeStreams("deploying a sync config") { [configs] streams in
            try streams.deploy(
                stored,
                versionLabel: versionLabel,
                mode: mode,
                sourceHandle: sourceHandle,
                configs: configs
            )
        }
        return ReplicationStream(record, try await config(of: record.id))
    }

    package func restart(_ stream: ReplicationStreamID) async throws -> ReplicationStream {
        let sourceHandle = makeSourceHandle()
        let record = try await changeStreams("starting a stream again") { streams in
            try streams.restart(stream, sourceHandle: sourceHandle)
        }
        return ReplicationStream(record, try await config(of: record.id))
    }

    package func progress(of stream: ReplicationStreamID) async throws -> ReplicationStreamProgress {
        try await readStreams("reading the progress of a stream") { try $0.progress(of: stream) }
    }

    package func publishedPosition() async throws -> SourcePosition? {
        try await readStreams("reading the published position") { try $0.publishedPosition() }
    }

    /// The config of a stream, which is read when it is asked for first.
    package func config(of stream: ReplicationStreamID) async throws -> StreamConfig {
        if let config = configs.known(of: stream) { return config }
        return try await readStreams("reading a sync config") { [configs] streams in
            try configs.config(of: stream, streams.config)
        }
    }
}
