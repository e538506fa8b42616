package import PowerSyncSyncConfig

/// The replication streams of a storage, in one transaction: what a database reads and writes.
///
/// What becomes of the streams is decided by the extension, for every storage.
package protocol StreamTables {
    /// Reads the record of a stream.
    ///
    /// - Throws: ``BucketStorageError`` with code `unknownStream` when there is none, or an error of the database.
    func record(of stream: ReplicationStreamID) throws -> StreamRecord
    /// The records of all streams in a set of states, by their numbers.
    func records(in states: Set<ReplicationStream.State>) throws -> [StreamRecord]
    /// Reads the sync config of a stream.
    ///
    /// - Throws: As ``record(of:)``.
    func config(of stream: ReplicationStreamID) throws -> StreamConfig.Stored
    /// Reads the config that is to take the place of a stream's own; the record says that there is one.
    ///
    /// - Throws: As ``record(of:)``.
    func nextConfig(of stream: ReplicationStreamID) throws -> StreamConfig.Stored
    /// The source tables of a stream, in no particular order.
    func sourceTables(of stream: ReplicationStreamID) throws -> [SourceTable]
    /// The history of a source with a number; `nil` for 0.
    func history(_ number: Int64) throws -> SourceHistory?
    /// The newest position of a write checkpoint in the history with a number; `nil` when there is none.
    func newestWriteCheckpoint(ofHistory number: Int64) throws -> LSN?

    /// Inserts a processing stream.
    ///
    /// - Returns: Its number, which is larger than that of every other stream.
    mutating func insert(_ stream: NewStream) throws -> ReplicationStreamID
    /// Changes the state of a stream.
    mutating func setState(_ state: ReplicationStream.State, of stream: ReplicationStreamID) throws
    /// Changes the version label of a stream.
    mutating func setVersionLabel(_ label: String?, of stream: ReplicationStreamID) throws
    /// Changes the version label of the config that is to take the place of a stream's own.
    mutating func setNextVersionLabel(_ label: String?, of stream: ReplicationStreamID) throws
    /// Stores the config that is to take the place of a stream's own, for which nothing has been read, or removes it.
    ///
    /// - Parameters:
    ///   - next: The config, with its number, which is kept also when the config is removed; `nil` for none.
    ///   - stream: The stream.
    /// - Throws: An error of the database.
    mutating func setNextConfig(_ next: NewNextConfig?, of stream: ReplicationStreamID) throws
    /// Puts the next config of a stream, which has one, in the place of its own, with its label and its number.
    mutating func takeNextConfig(of stream: ReplicationStreamID) throws
    /// The number of a history of a source, above those of all earlier ones.
    ///
    /// When another history was seen since, this one has come again from a backup: it counts as a new one.
    mutating func number(of history: SourceHistory) throws -> Int64
}

/// A replication stream that is to be inserted.
package struct NewStream: Sendable {
    /// The name under which the source keeps the position of the stream.
    package var sourceHandle: String
    /// The sync config.
    package var config: StreamConfig.Stored
    /// What operators call this version of the config.
    package var versionLabel: String?
    /// The number of the config: as large as all that parts of its plan are named by.
    package var configNumber: Int64
    /// The secret key of the hashes in row states.
    package var hashKey: [UInt8]

    /// Describes a stream, and makes its key.
    init(sourceHandle: String, config: StreamConfig.Stored, versionLabel: String?, configNumber: Int64 = 1) {
        self.sourceHandle = sourceHandle
        self.config = config
        self.versionLabel = versionLabel
        self.configNumber = configNumber
        hashKey = StreamRecord.makeHashKey()
    }
}

/// A config that is to take the place of a stream's own.
package struct NewNextConfig: Sendable {
    /// Its number.
    package var number: Int64
    /// The config.
    package var config: StreamConfig.Stored
    /// What operators call it.
    package var versionLabel: String?
}

extension ReplicationStream.State {
    /// The states of streams that have data, if only to be deleted.
    package static let withData: Set<ReplicationStream.State> = [.processing, .active, .errored, .stop]
}

extension StreamTables {
    /// The record of the stream that clients are served from; `nil` before the first activation.
    package func served() throws -> StreamRecord? { try records(in: [.active, .errored]).last }

    /// Applies a rule to the streams, and stores what becomes of them.
    package mutating func change<Result>(_ rule: (inout StreamSuccession) -> Result) throws -> Result {
        var succession = StreamSuccession(try records(in: ReplicationStream.State.withData).map { ($0.id, $0.state) })
        let result = rule(&succession)
        for (id, state) in succession.changes { try setState(state, of: id) }
        return result
    }

    /// Makes a sync config the one to replicate (``BucketStorage/deploy(_:versionLabel:plan:mode:)``).
    ///
    /// - Parameters:
    ///   - content: The text of the config.
    ///   - plan: What it compiles to.
    ///   - versionLabel: What operators call it.
    ///   - mode: What is kept.
    ///   - sourceHandle: What the source keeps the stream under, if a new one is created.
    ///   - configs: The configs that have been read. What this transaction stores is not added: it may be rolled back, and its numbers
    ///     be given out again.
    /// - Returns: The stream of this config.
    /// - Throws: An error of the database.
    package mutating func deploy(
        _ content: String,
        _ plan: SyncPlan,
        versionLabel: String?,
        mode: DeploymentMode,
        sourceHandle: String,
        configs: StreamConfigs
    ) throws -> DeployedStream {
        func isSame(_ other: String) -> Bool { other.utf8.elementsEqual(content.utf8) }
        if mode != .again {
            let replicated = try records(in: [.processing, .active])
            for record in replicated.reversed() {
                // What was stored under a plan that this service cannot read has no meaning for another one.
                guard let stored = try configs.readableConfig(of: record, in: self) else { continue }
                if let next = stored.next, isSame(next.content) {
                    return try goOn(record, stored, isNext: true, versionLabel: versionLabel)
                }
                if isSame(stored.content) { return try goOn(record, stored, isNext: false, versionLabel: versionLabel) }
                guard record.state == .active, mode == .keepingParts else { continue }
                let number = record.lastConfigNumber + 1
                let continuation = PlanContinuation(of: plan, after: stored.plan, number: number)
                guard continuation.keepsParts else { continue }
                _ = try change { $0.deploy(keeping: record.id) }
                let encoded = StreamConfig.Stored(content: content, encodedPlan: try continuation.plan.encodedJSON())
                try setNextConfig(
                    NewNextConfig(number: number, config: encoded, versionLabel: versionLabel),
                    of: record.id
                )
                guard continuation.readsNothing else {
                    let next = StreamConfig.Next(content: content, plan: continuation.plan)
                    let config = StreamConfig(content: stored.content, plan: stored.plan, next: next)
                    return DeployedStream(record: try self.record(of: record.id), config: config)
                }
                try takeNextConfig(of: record.id)
                let config = StreamConfig(content: content, plan: continuation.plan)
                return DeployedStream(record: try self.record(of: record.id), config: config)
            }
        }
        _ = try change { $0.deploy(keeping: nil) }
        for record in try records(in: [.active]) where record.next != nil { try setNextConfig(nil, of: record.id) }
        let id = try insert(
            NewStream(
                sourceHandle: sourceHandle,
                config: StreamConfig.Stored(content: content, encodedPlan: try plan.encodedJSON()),
                versionLabel: versionLabel
            )
        )
        return DeployedStream(record: try record(of: id), config: StreamConfig(content: content, plan: plan))
    }

    /// A stream has a config already: nothing else is copied any more.
    private mutating func goOn(
        _ record: StreamRecord,
        _ config: StreamConfig,
        isNext: Bool,
        versionLabel: String?
    ) throws -> DeployedStream {
        _ = try change { $0.deploy(keeping: record.id) }
        var record = record
        var config = config
        if isNext {
            if record.next?.versionLabel != versionLabel { try setNextVersionLabel(versionLabel, of: record.id) }
        } else {
            if record.next != nil {
                try setNextConfig(nil, of: record.id)
                config = StreamConfig(content: config.content, plan: config.plan)
            }
            if record.versionLabel != versionLabel { try setVersionLabel(versionLabel, of: record.id) }
        }
        record = try self.record(of: record.id)
        return DeployedStream(record: record, config: config)
    }

    /// Replaces a stream whose source history is lost (``BucketStorage/restart(_:)``).
    ///
    /// A config that was to take the place of the stream's own is that of the new stream: everything is read anyway.
    ///
    /// - Parameters:
    ///   - stream: The stream.
    ///   - sourceHandle: What the source keeps the stream under, if a new one is created.
    /// - Returns: The stream that takes over.
    /// - Throws: ``BucketStorageError`` with code `unknownStream` when there is none, or an error of the database.
    package mutating func restart(_ stream: ReplicationStreamID, sourceHandle: String) throws -> StreamRecord {
        switch try change({ $0.restart(stream) }) {
        case .new:
            let record = try self.record(of: stream)
            let successor = NewStream(
                sourceHandle: sourceHandle,
                config: try record.next == nil ? config(of: stream) : nextConfig(of: stream),
                versionLabel: record.next == nil ? record.versionLabel : record.next?.versionLabel,
                configNumber: record.lastConfigNumber
            )
            let id = try insert(successor)
            return try self.record(of: id)
        case .stream(let successor): return try record(of: successor)
        case .none: throw BucketStorageError.replaced(stream)
        }
    }

    /// All streams that have data, by their numbers.
    ///
    /// Streams whose plan this service cannot read are left out, but for those that are to be deleted: they are replaced when
    /// their text is deployed again.
    package func streams(_ configs: StreamConfigs) throws -> [ReplicationStream] {
        try records(in: ReplicationStream.State.withData).compactMap { record in
            try configs.readableConfig(of: record, in: self).map { ReplicationStream(record, $0) }
                ?? ReplicationStream(deleting: record)
        }
    }

    /// How far a stream is, for operators.
    package func progress(of stream: ReplicationStreamID) throws -> ReplicationStreamProgress {
        let record = try record(of: stream)
        return ReplicationStreamProgress(
            checkpoint: record.checkpoint,
            checkpointedAt: record.lastCheckpointAt,
            resumePosition: record.resumePosition(in: try history(record.historyID)),
            tables: try sourceTables(of: stream)
        )
    }

    /// The source position of the published checkpoint; `nil` before the first activation.
    package func publishedPosition() throws -> SourcePosition? {
        guard let served = try served(), let lsn = served.lastCheckpointLSN else { return nil }
        return try history(served.historyID).map { SourcePosition(lsn, of: $0) }
    }

    /// What a writer of a stream begins with.
    ///
    /// - Parameters:
    ///   - stream: The stream.
    ///   - configs: The configs that have been read.
    /// - Returns: What is stored.
    /// - Throws: ``BucketStorageError`` with code `unknownStream` when the stream is not replicated any more, or an error of
    ///   the database.
    package func beginning(of stream: ReplicationStreamID, _ configs: StreamConfigs) throws -> WriterBeginning {
        let record = try record(of: stream)
        guard record.state.isReplicated else { throw BucketStorageError.replaced(stream) }
        return WriterBeginning(
            record: record,
            plan: ReplicationStream(record, try configs.config(of: record, in: self)).writtenPlan,
            history: try history(record.historyID),
            newestWriteCheckpoint: try newestWriteCheckpoint(ofHistory: record.historyID),
            tables: try sourceTables(of: stream)
        )
    }
}

/// What ``StreamTables/deploy(_:_:versionLabel:mode:sourceHandle:configs:)`` has stored.
package struct DeployedStream: Sendable {
    /// The stream of the config.
    package let record: StreamRecord
    /// Its configs.
    package let config: StreamConfig
}

/// What is stored of a stream when its writer begins.
package struct WriterBeginning: Sendable {
    var record: StreamRecord
    var plan: SyncPlan
    var history: SourceHistory?
    var newestWriteCheckpoint: LSN?
    var tables: [SourceTable]
}
