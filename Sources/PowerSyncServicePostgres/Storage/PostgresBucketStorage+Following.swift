import Logging
import NIOConcurrencyHelpers
package import PowerSyncServiceCore

/// Learning of what other processes do (docs/postgres-storage.md "Several processes").
extension PostgresBucketStorage {
    /// The interval of looks without a notification.
    static let followInterval = Duration.seconds(5)
    /// The pause before a lost connection is made again.
    static let reconnectPause = Duration.seconds(1)

    package func follow(_ look: @escaping @Sendable (StorageLook) -> Void) async throws {
        var isLost = false
        // What has changed while there was no connection is seen with the first look of the next one.
        var known: [ReplicationStreamID: FollowedStream]?
        while true {
            do {
                try await followOnce(&known) { news in
                    if isLost {
                        isLost = false
                        logger.notice("The bucket storage can be followed again")
                    }
                    look(news)
                }
            } catch {
                if error is CancellationError || Task.isCancelled { throw CancellationError() }
                if (error as? BucketStorageError)?.code == .otherStorage { throw error }
                if (error as? PostgresError)?.code == .noSession { didLoseSessions() }
                if !isLost {
                    isLost = true
                    logger.warning(
                        "The bucket storage cannot be followed, and is tried again",
                        metadata: [LogKey.error: "\(error)"]
                    )
                }
                look(.failed)
                try await clock.sleep(for: Self.reconnectPause)
            }
        }
    }

    /// Follows on one connection, until that is lost.
    private func followOnce(
        _ known: inout [ReplicationStreamID: FollowedStream]?,
        _ look: (StorageLook) -> Void
    ) async throws {
        let connection = try await PostgresConnection.open(settings.connection, settings: schema.sessionSettings)
        defer { connection.close() }
        try await connection.execute(
            "LISTEN \(PostgresText.identifier(schema.channel))",
            activity: "listening to other processes"
        )
        let process = try await connection.checkSession("listening to other processes")
        var nextCheck = ContinuousClock.now
        var isNew = true
        while true {
            if ContinuousClock.now >= nextCheck {
                // Behind a pooler without sessions, no notification would arrive.
                try await checkOthers(than: Int64(process) ?? 0)
                nextCheck = .now.advanced(by: Self.followInterval)
            }
            let (checkpoint, streams) = try await read(on: connection)
            if let checkpoint { feed.publish(checkpoint) }
            forgetStreams(except: Set(streams.keys))
            // There was no notification of what was deployed before the first look.
            look(known == streams ? .looked : .streamsChanged)
            known = streams
            // There was no notification of what was recorded before.
            if isNew { look(.writeCheckpointsMissed) }
            isNew = false
            try await waitForChanges(on: connection, look)
        }
    }

    /// Waits until it is time to look again, and passes on what is said of write checkpoints meanwhile.
    private func waitForChanges(on connection: PostgresConnection, _ look: (StorageLook) -> Void) async throws {
        let deadline = ContinuousClock.now.advanced(by: Self.followInterval)
        var isChanged = false
        while !isChanged {
            let texts = try await connection.waitForNotifications(until: deadline)
            isChanged = texts.isEmpty
            for text in texts {
                switch StorageNotification(text: text) {
                case .changed: isChanged = true
                case .published(processID): break
                case .published: isChanged = true
                case .writeCheckpoint(processID, _, _): break
                case .writeCheckpoint(_, _, nil): look(.writeCheckpointsMissed)
                case .writeCheckpoint(_, let position, let userKey?): look(.writeCheckpoint(userKey: userKey, position))
                }
            }
        }
    }

    /// Reads the published checkpoint, and the states of streams.
    ///
    /// - Throws: ``BucketStorageError`` with code `otherStorage` when the storage is not the one that was opened, or goes back.
    private func read(
        on connection: PostgresConnection
    ) async throws -> (StorageCheckpoint?, streams: [ReplicationStreamID: FollowedStream]) {
        let published = feed.current
        return try await noticingOtherStorages {
            try await connection.statements("looking for checkpoints", in: schema) { [self] db in
                let (checkpoint, records) = try look(after: published, db)
                return (checkpoint, Dictionary(uniqueKeysWithValues: records.map { ($0.id, FollowedStream($0)) }))
            }
        }
    }

    /// The checkpoint that any process has published last, of the stream that is served.
    ///
    /// - Returns: `nil` before the first activation.
    /// - Throws: ``BucketStorageError`` with code `otherStorage` as ``follow(_:)``.
    func newestCheckpoint() async throws -> StorageCheckpoint? {
        let published = feed.current
        return try await noticingOtherStorages {
            try await self.look("looking for the newest checkpoint") { [self] db in
                try look(after: published, db).checkpoint
            }
        }
    }

    /// Reads what has been published now, and the records of all streams with data, in two round trips: other processes wait for them
    /// after every commit.
    ///
    /// - Parameters:
    ///   - published: What was published before.
    ///   - db: Runs the statements.
    /// - Returns: The checkpoint, `nil` before the first activation, and the records.
    /// - Throws: ``BucketStorageError`` with code `otherStorage` as ``follow(_:)``, or ``PostgresError``.
    private func look(
        after published: StorageCheckpoint?,
        _ db: PostgresStatements
    ) throws -> (checkpoint: StorageCheckpoint?, records: [StreamRecord]) {
        var place = PostgresStatements.Place()
        var records: [StreamRecord] = []
        let streams = PostgresStreamTables(db, in: schema).reading(ReplicationStream.State.withData) {
            records.append($0)
        }
        try db.run(together: [db.placeQuery { place = $0 }, streams])
        try db.check(place)
        let checkpoint = records.last { $0.state.isServed }?.checkpoint
        // What was published before this look is stored for ever, unless a copy of the storage has taken its place.
        if let checkpoint, let published, checkpoint.isBefore(published) { throw schema.otherStorage }
        guard let checkpoint else { return (nil, records) }
        // Also if the copy has been written to since, and has come further.
        let (continues, seen) = try StorageLineage.look(at: checkpoint, after: lineage.withLockedValue { $0 }, db)
        guard continues else { throw schema.otherStorage }
        if let seen { lineage.withLockedValue { if $0.map({ seen.follows($0) }) != false { $0 = seen } } }
        return (checkpoint, records)
    }

    private func noticingOtherStorages<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as PostgresError where error.sqlState == PostgresError.SQLState.undefinedTable {
            throw schema.otherStorage
        }
    }

    package func database() async throws -> DatabaseID? {
        try await ask("reading where the storage is") { db in
            try db.one(DatabaseID.query) { DatabaseID(rawValue: try $0.text(0)) }
        }
    }
}

/// What processes have to know of a stream.
private struct FollowedStream: Equatable {
    let state: ReplicationStream.State
    let configs: StreamConfig.Version

    init(_ record: StreamRecord) {
        state = record.state
        configs = record.configs
    }
}

extension StorageCheckpoint {
    /// Whether this checkpoint cannot have been published after another one.
    fileprivate func isBefore(_ other: StorageCheckpoint) -> Bool {
        streamID == other.streamID ? opID < other.opID || lsn < other.lsn : streamID < other.streamID
    }
}
