import Logging
import PowerSyncProtocol
import PowerSyncSyncConfig

/// Replicates the source into one replication stream, until the stream is replaced or the task is cancelled.
///
/// 1. Make the source keep its history from a position on (before any row is copied).
/// 2. Find the records of the source's tables. Drop those that no longer fit, copy those that are new.
/// 3. Read the change stream from the position on: save, and at each transaction boundary commit and acknowledge.
/// 4. When tables change, go on with 2.
///
/// Everything durable is in the storage, so the process may die at any point: the next run begins again at 1, and
/// repeats what had not been committed.
struct StreamReplicator {
    /// Why replication of the stream ended.
    enum Outcome: Sendable {
        /// The stream has been replaced by another one.
        case replaced
        /// The source's history was lost; a new stream with the same config takes over.
        case restarted
    }

    let stream: ReplicationStream
    let storage: any BucketStorage
    let source: any ReplicationSource
    let logger: Logger
    /// Shows that the storage can be written.
    private let didCommit: @Sendable () -> Void
    /// Tells that the stream has made its first checkpoint: older streams have been stopped.
    private let didActivate: @Sendable () -> Void
    /// Tells which tables are left out, whenever they are others than before.
    let didLeaveOut: @Sendable ([TableObstacle]) -> Void
    /// Shows that replication is alive.
    let touch: @Sendable () -> Void
    /// The seconds since 1970.
    private let now: @Sendable () -> Double
    /// Measures the pause before a table that cannot be read is tried again.
    let clock: any Clock<Duration>

    let rejections: RejectionLog
    let statistics: ReplicationStatistics

    /// Creates a replicator for a stream.
    init(
        stream: ReplicationStream,
        storage: any BucketStorage,
        source: any ReplicationSource,
        statistics: ReplicationStatistics,
        logger: Logger,
        now: @escaping @Sendable () -> Double,
        clock: any Clock<Duration>,
        didCommit: @escaping @Sendable () -> Void,
        didActivate: @escaping @Sendable () -> Void,
        didLeaveOut: @escaping @Sendable ([TableObstacle]) -> Void,
        touch: @escaping @Sendable () -> Void
    ) {
        self.stream = stream
        self.storage = storage
        self.source = source
        self.statistics = statistics
        self.now = now
        self.clock = clock
        self.didCommit = didCommit
        self.didActivate = didActivate
        self.didLeaveOut = didLeaveOut
        self.touch = touch
        var logger = logger
        logger[metadataKey: LogKey.replicationStream] = .stringConvertible(stream.id.rawValue)
        self.logger = logger
        rejections = RejectionLog(logger: logger, statistics: statistics)
    }

    /// Replicates.
    ///
    /// - Throws: Errors of the source or the storage. Calling again goes on.
    func run() async throws -> Outcome {
        defer {
            statistics.didEndTransaction(of: stream.id)
            statistics.didStop(stream.id, at: now())
        }
        do {
            return try await storage.withWriter(of: stream.id) { try await replicate(with: &$0) }
        } catch let error as BucketStorageError where error.code == .unknownStream {
            return .replaced
        } catch let error as ReplicationSourceError where error.code == .historyLost || error.code == .retentionExceeded
        {
            // Another first copy would most likely end in the same way, and load the source again and again.
            if error.code == .retentionExceeded, stream.state != .active, try await !isActive() { throw error }
            logger.error(
                "The source has lost its history: replication starts again",
                metadata: [
                    LogKey.error: "\(error)"
                ]
            )
            if error.isOfOlderStorage {
                try await storage.skipWriteCheckpoints(head: source.head(having: storage.publishedPosition()))
            }
            _ = try await storage.restart(stream.id)
            return .restarted
        }
    }

    private func isActive() async throws -> Bool {
        try await storage.streams().contains { $0.id == stream.id && $0.state == .active }
    }

    private func replicate(with writer: inout any BucketStorageWriter) async throws -> Outcome {
        // The route for write checkpoints looks at the same position: if the source has gone back, both find it.
        _ = try await source.head(having: try await storage.publishedPosition())
        let position = try await source.prepareStream(
            stream.sourceHandle,
            resumingAfter: writer.resumePosition,
            reached: writer.reachedLSN
        )
        source.require(writer.storedLSN, in: stream.sourceHandle)
        if writer.resumePosition == nil { try await writer.setResumePosition(position) }

        let database = try await storage.database()
        let storesIntoLog = if let database { try await source.database() == database } else { false }
        var progress = Progress(position: position, isActive: stream.state == .active, storesIntoLog: storesIntoLog)
        while true {
            try Task.checkCancellation()
            do {
                try await source.warn(about: stream)
                let tables = try await resolveTables(&writer, progress: &progress)
                try await copy(tables.read, with: &writer, followed: position)
                progress.fill = fill(of: tables.read, progress)
                if let outcome = try await follow(tables, with: &writer, progress: &progress) { return outcome }
            } catch let error as ReplicationSourceError where error.code == .tablesChanged {
                // Rows of the old tables that are saved but not flushed belong to a transaction that is read again.
            }
            logger.notice("The tables of the source have changed")
        }
    }

    /// How far the change stream has been followed.
    struct Progress {
        /// The last transaction boundary that was committed.
        var position: SourcePosition
        /// Whether clients are served from the stream.
        var isActive: Bool
        /// Whether what is stored comes back in the change stream.
        var storesIntoLog: Bool
        /// Whether a write checkpoint waits for the next position.
        var isAwaited = true
        /// The position before which there is no checkpoint, because rows were read as they are there.
        var readAt: LSN?
        /// When the last checkpoint was made, in seconds since 1970.
        var publishedAt = 0.0
        /// Whether the source has not been told of the last checkpoint.
        var isUnacknowledged = false
        /// The tables of the plan that cannot be read, with the reason; `nil` before the first look.
        var obstacles: [TableObstacle]?
        var lag = ReplicationLag()
        /// What is still to be read for the next config; `nil` when there is none, or it has everything.
        var fill: TableFill?
        /// The records of the tables that were read for the next config since the job began.
        var filledTables: Set<String> = []
        /// The number of the config that clients are served since a checkpoint; `nil` for that of the stream as it was found.
        var servedConfig: Int64?
        /// How many changes of the transaction that is being read have come.
        var changesOfTransaction = 0
        /// When it was committed, in seconds since 1970.
        var transactionCommittedAt = 0.0

        /// Whether the rows that were read show nothing that is after a position: a checkpoint can be made there, and perhaps not
        /// later, because the transaction that follows has rows read again.
        func hasPassedRows(by lsn: LSN) -> Bool { readAt.map { $0 <= lsn } ?? false }

        /// Whether a position is published also if nothing new is stored: also when the wall clock has been set back since.
        func wantsPosition(at now: Double) -> Bool {
            !storesIntoLog || isAwaited || abs(now - publishedAt) >= StreamReplicator.emptyCheckpointInterval
        }
    }

    /// Seconds after which a position is published although it says nothing new, and publishing it makes another one.
    private static let emptyCheckpointInterval = 60.0

    // MARK: Changes

    /// Follows the change stream.
    ///
    /// - Returns: `nil` when the tables have changed.
    private func follow(
        _ tables: FoundTables,
        with writer: inout any BucketStorageWriter,
        progress: inout Progress
    ) async throws -> Outcome? {
        let byRelation = Dictionary(uniqueKeysWithValues: tables.read.map { ($0.descriptor.relationID, $0) })
        return try await source.withChanges(
            of: stream.sourceHandle,
            after: progress.position,
            tables: writer.sourceTables.filter { table in tables.read.contains { $0.id == table.id } },
            plan: stream.writtenPlan
        ) { reader in
            // A table that appeared before the reader was opened would not be noticed by it.
            guard try await source.tables(for: stream.writtenPlan) == tables.described else { return nil }
            guard let fill = progress.fill else {
                return try await follow(reader, byRelation, with: &writer, progress: &progress)
            }
            let history = progress.position.history
            let builders = fill.tables.map { writer.recordBuilder(of: $0, addingTo: fill.parts(of: $0)) }
            return try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask { await read(for: fill, with: builders, in: history) }
                return try await follow(reader, byRelation, with: &writer, progress: &progress)
            }
        }
    }

    /// Reads changes for as long as the tables are the same.
    private func follow(
        _ reader: any ChangeReader,
        _ tables: [String: SourceTable],
        with writer: inout any BucketStorageWriter,
        progress: inout Progress
    ) async throws -> Outcome? {
        do {
            var (messages, reader) = try await Self.step(reader, for: nil)
            var ahead = RowsAhead()
            while true {
                touch()
                // While these changes are evaluated and written, the next ones are read.
                let (rest, fill) = (reader, progress.fill)
                fill?.awaitChanges()
                async let next = Self.step(rest, for: fill)
                let lastCommit = messages.indexOfLastCommit
                for (index, message) in messages.enumerated() {
                    progress.fill?.note(message)
                    switch message {
                    case .changes(let changes, let relationID):
                        didRead(changes.count, &progress)
                        guard let table = tables[relationID] else { continue }
                        rejections.report(try await writer.save(changes, of: table, mode: .stream))
                        statistics.didSave(changes)
                    case .partialUpdates(let updates, let relationID):
                        didRead(updates.count, &progress)
                        guard let table = tables[relationID] else { continue }
                        ahead.begin(followedBy: messages[(index + 1)...])
                        try await save(updates, of: table, &ahead, with: &writer, progress: &progress)
                    case .cascade(let cascade):
                        try await save(cascade, among: tables, with: &writer, progress: &progress)
                    case .begin(let lsn, let committedAt):
                        writer.beginTransaction(endingAt: lsn)
                        endTransaction(&progress)
                        progress.transactionCommittedAt = committedAt
                        progress.lag.didBegin(committedAt: committedAt)
                    case .truncate(let relationID):
                        if let table = tables[relationID] { try await writer.truncate(table, touch: touch) }
                    case .marker:
                        progress.isAwaited = true
                    case .commit(let lsn) where index < lastCommit && !progress.hasPassedRows(by: lsn):
                        // The transactions that follow are here already: one checkpoint shows all of them.
                        endTransaction(&progress)
                        statistics.didCommit()
                    case .commit(let lsn):
                        endTransaction(&progress)
                        if let outcome = try await commit(lsn, with: &writer, progress: &progress) { return outcome }
                    case .tablesChanged:
                        return nil
                    }
                }
                ahead.end()
                if messages.isEmpty {
                    progress.lag.didCatchUp(silence: reader.silence)
                    try await acknowledgeLast(with: &writer, progress: &progress)
                }
                try progress.fill?.reached(progress.position.lsn)
                while let fill = progress.fill {
                    try await save(fill, with: &writer, progress: &progress)
                    guard try await fill.waitForOffer() else { break }
                }
                if progress.isActive {
                    let now = now()
                    statistics.recordLag(progress.lag.seconds(at: now), of: stream.id, at: now)
                }
                (messages, reader) = try await next
            }
        } catch let error as CancellationError {
            await acknowledgeAtTheEnd(with: writer, progress)
            throw error
        }
    }

    /// After how many changes of one transaction the log says how far it is.
    private static let largeTransaction = 100_000
    /// After how many the status does.
    static let shownTransaction = 10_000

    /// Says how far a large transaction is: clients get nothing of it before its end.
    private func didRead(_ changes: Int, _ progress: inout Progress) {
        let before = progress.changesOfTransaction
        progress.changesOfTransaction += changes
        if progress.changesOfTransaction >= Self.shownTransaction {
            statistics.didRead(
                progress.changesOfTransaction,
                ofTransactionAt: progress.transactionCommittedAt,
                by: stream.id
            )
        }
        guard before / Self.largeTransaction < progress.changesOfTransaction / Self.largeTransaction else { return }
        logger.notice(
            "A large transaction of the source is being read",
            metadata: [LogKey.rows: .stringConvertible(progress.changesOfTransaction)]
        )
    }

    private func endTransaction(_ progress: inout Progress) {
        if progress.changesOfTransaction >= Self.shownTransaction { statistics.didEndTransaction(of: stream.id) }
        progress.changesOfTransaction = 0
    }

    /// Reads changes.
    ///
    /// - Parameters:
    ///   - reader: What reads them.
    ///   - fill: What the follower is asked to save until they come.
    /// - Returns: The changes, and the reader of those that follow.
    /// - Throws: What the reader throws.
    private static func step(
        _ reader: any ChangeReader,
        for fill: TableFill?
    ) async throws -> ([SourceMessage], any ChangeReader) {
        defer { fill?.changesHaveCome() }
        var reader = reader
        return (try await reader.next(), reader)
    }

    /// Makes sure that two positions of the source have an order: all that is published rests on it.
    ///
    /// - Throws: ``ReplicationSourceError`` with code `unavailable`, for a source with a fault.
    func checkForm(of lsn: LSN, after known: LSN) throws {
        guard !lsn.hasForm(of: known) else { return }
        throw ReplicationSourceError(
            .unavailable,
            "The source gives positions that have no order, \(known) and \(lsn): this is a fault of the service."
        )
    }

    private func commit(
        _ lsn: LSN,
        with writer: inout any BucketStorageWriter,
        progress: inout Progress
    ) async throws -> Outcome? {
        try checkForm(of: lsn, after: progress.position.lsn)
        let result: CommitResult
        // Before: it may be cancelled after it has stored everything.
        progress.isUnacknowledged = true
        do {
            result = try await TracedWork.run(.checkpoint) { work in
                work.set("replication_stream", Int(stream.id.rawValue))
                return try await writer.commit(lsn, createsEmptyCheckpoints: progress.wantsPosition(at: now()))
            }
        } catch let error as BucketStorageError where error.code == .unknownStream {
            return .replaced
        }
        didCommit()
        progress.position.lsn = lsn
        if progress.hasPassedRows(by: lsn) {
            progress.readAt = nil
            try await source.rowReading?.releaseRows()
        }
        statistics.didCommit()
        // What gives nothing new is as good as published.
        if case .unchanged = result { progress.lag.didPublish(at: now()) }
        guard case .created(let checkpoint) = result else { return nil }
        progress.isAwaited = false
        progress.publishedAt = now()
        if let seconds = progress.lag.didPublish(at: now()) { statistics.didPublish(after: seconds) }
        logger.debug(
            "A checkpoint was published",
            metadata: [LogKey.checkpoint: .stringConvertible(checkpoint.opID.rawValue), LogKey.lsn: "\(lsn)"]
        )
        // Only what is published may be forgotten: a blocked commit is repeated from the last checkpoint on. And only what
        // a power failure does not take back.
        if source.wantsAcknowledgement(of: lsn, by: stream.sourceHandle) {
            try await acknowledge(with: &writer, progress: &progress)
        }
        if checkpoint.configNumber != progress.servedConfig ?? stream.configNumber {
            progress.servedConfig = checkpoint.configNumber
            logger.notice(
                "Clients are served the next sync config from now on",
                metadata: [LogKey.configNumber: .stringConvertible(checkpoint.configNumber)]
            )
            didActivate()
        }
        guard !progress.isActive else { return nil }
        progress.isActive = true
        logger.notice("The replication stream is active")
        didActivate()
        return nil
    }
}

extension [SourceMessage] {
    /// Where the last transaction boundary is before the tables change; -1 when there is none.
    fileprivate var indexOfLastCommit: Int {
        let end = firstIndex { if case .tablesChanged = $0 { true } else { false } } ?? endIndex
        return self[..<end].lastIndex { if case .commit = $0 { true } else { false } } ?? -1
    }
}
