package import Logging
package import NIOCore
package import PowerSyncProtocol
import PowerSyncSyncConfig
package import PowerSyncAuth

/// One sync stream: derives the lines for a client from the checkpoints of the storage
/// (docs/service.md "Sync sessions").
///
/// ``StateMachine`` decides what is sent; this type reads the storage for it, and hands the lines over. A session does
/// not depend on the transport. Of the token it takes the user and the payload that queries of the sync config read.
///
/// A session is opened and run by one task after the other: ``open()`` makes the first line, so that a failure up to
/// there can still become an HTTP error, then ``run(_:)`` sends everything else.
package struct SyncSession: Sendable {
    /// After lines of more bytes than that, nothing is read for a client before they are written: 2 MiB.
    static let readAheadBytes = 2 * 1024 * 1024

    /// The most bytes of the first data line of a connection: 64 KiB.
    ///
    /// Each later line may have twice as many as the one before.
    /// A client keeps nothing of a line that is cut. Over a link that ends again and again before a long line is
    /// through, it would get the same one each time; with short lines first, each connection brings it forward.
    static let firstLineBytes = 64 * 1024

    /// The account of this stream in ``Environment/memory``.
    package let account: LineMemory.Account
    let environment: Environment
    private let stream: ActiveReplicationStream
    let encoding: Encoding
    /// Whether the transport copies each line, also a line of a shared run.
    let copiesLines: Bool
    let statistics: ClientStreamStatistics
    private let logger: Logger
    private var machine: StateMachine
    private var resolver: BucketResolver
    private let subscription: CheckpointSubscription
    var batch: LineBatch
    /// The most bytes of the next data line; see ``firstLineBytes``.
    private(set) var lineBytes = firstLineBytes
    /// The operations that the dispatcher has read for the checkpoint that is being sent, by bucket.
    ///
    /// Only of buckets of which the client has everything up to the checkpoint before.
    var fresh: [BucketName: [FreshOperations]] = [:]

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - request: The request of the client.
    ///   - token: The token of the client.
    ///   - stream: The replication stream to serve.
    ///   - environment: The environment of all sessions.
    ///   - encoding: The encoding of lines.
    ///   - copiesLines: Whether a line is copied before it is written.
    ///   - statistics: Counts what is sent.
    ///   - logger: With the ids of the request.
    package init(
        request: StreamingSyncRequest,
        token: VerifiedToken,
        stream: ActiveReplicationStream,
        environment: Environment,
        encoding: Encoding,
        copiesLines: Bool,
        statistics: ClientStreamStatistics,
        logger: Logger
    ) {
        self.environment = environment
        account = environment.memory.openAccount()
        batch = LineBatch(account)
        self.stream = stream
        self.encoding = encoding
        self.copiesLines = copiesLines
        self.statistics = statistics
        self.logger = logger
        let planRequest = SyncPlanRequest(
            tokenPayload: token.payload,
            parameters: request.parameters,
            streams: request.streams
        )
        let querier = stream.plan.querier(for: planRequest, bucketPrefix: stream.bucketPrefix)
        let userKey = token.writeCheckpointKey(clientID: request.clientID)
        subscription = environment.dispatcher.subscribe(to: stream, userKey: userKey)
        machine = StateMachine(positions: request.buckets)
        resolver = BucketResolver(
            storage: environment.storage,
            querier: querier,
            limits: environment.limits,
            writeCheckpoints: WriteCheckpointOrigin(stream.plan, token, clientID: request.clientID)
        )
    }

    /// Makes the first line, for the current checkpoint.
    ///
    /// Waits while the dispatcher is behind a checkpoint that another process has published: this client may have seen
    /// it already.
    ///
    /// - Returns: The encoded line; `nil` when another sync config became active in the meantime.
    /// - Throws: `BucketLimitError`, or an error of the storage.
    package mutating func open() async throws -> ByteBuffer? {
        while let news = try await subscription.next() {
            guard !stream.checkpoint.advances(over: news.checkpoint) else {
                subscription.awaitAny(after: news.checkpoint)
                continue
            }
            do {
                guard let candidate = try await candidate(for: news) else { continue }
                guard let prepared = machine.prepareLine(for: candidate) else { return nil }
                return announce(prepared)
            } catch let error as BucketStorageError where error.code == .unknownStream {
                // Another one is active, or is about to be: when the subscription has been told, the storage names it.
                continue
            }
        }
        return nil
    }

    /// Sends everything after the first line.
    ///
    /// Returns when another sync config becomes active. Cancel the task to end it earlier; nothing is held open that
    /// would need more than that.
    ///
    /// - Parameter lines: Where lines go.
    /// - Throws: `CancellationError`, `BucketLimitError`, or an error of the storage.
    package mutating func run(_ lines: LineQueue) async throws {
        defer { subscription.cancel() }
        do {
            try await send(to: lines)
        } catch let error as BucketStorageError where error.code == .unknownStream {
            // Another sync config became active between two reads; the subscription has not been told yet.
        }
    }

    private mutating func send(to lines: LineQueue) async throws {
        // What is read after another stream has become active may be half deleted, so nothing of it is sent.
        while !subscription.isFinished {
            switch machine.next() {
            case .waitForCheckpoint(after: let missed):
                // What an abandoned download has left is read again, and an idle session keeps no memory.
                fresh = [:]
                try await batch.flush(to: lines)
                if let missed { subscription.awaitAny(after: missed) }
                statistics.began(.waitingForCheckpoint)
                guard let news = try await subscription.next() else { return }
                _ = try await announceIfNews(news)
            case .read(let positions, let checkpoint):
                try await sendData(positions, checkpoint, lines)
            case .send(let line):
                try await batch.add(encode(line), flushingTo: lines)
                if case .checkpointComplete(let completion) = line { statistics.didComplete(completion.lastOpID) }
                logCompletion(line)
            }
        }
    }

    // MARK: Checkpoints

    /// Adds the line of a checkpoint to what is sent, if it concerns the client.
    ///
    /// - Parameters:
    ///   - news: The checkpoint.
    ///   - unfinished: The one that has not been sent completely, if there is one.
    /// - Returns: Whether it concerns the client.
    /// - Throws: An error of the storage.
    private mutating func announceIfNews(
        _ news: CheckpointNews,
        supersedes unfinished: StorageCheckpoint? = nil
    ) async throws -> Bool {
        guard let candidate = try await candidate(for: news), !subscription.isFinished,
            let prepared = machine.prepareLine(for: candidate)
        else {
            machine.skip(news)
            return false
        }
        let operations = news.scope.operations
        fresh = operations.filter { bucket, operations in
            machine.canSend(operations, of: bucket) && operations.allSatisfy { $0.sentBytes <= lineBytes }
        }
        if let unfinished { logInvalidated(unfinished, reason: "checkpoint_superseded") }
        let line = announce(prepared)
        // Short lines are sent before their memory matters.
        let isHeld = line.readableBytes > LineBatch.maximumBytes
        if isHeld { account.add(line.readableBytes) }
        batch.add(line, isHeld: isHeld)
        return true
    }

    /// Finds what could be announced.
    ///
    /// - Returns: `nil` when compaction works on what a later checkpoint consists of: that one is there, or about to
    ///   be.
    private mutating func candidate(for news: CheckpointNews) async throws -> Candidate? {
        let candidate: Candidate
        do {
            candidate = try await resolver.candidate(for: news)
        } catch let error as BucketStorageError where error.code == .checkpointInvalidated {
            subscription.awaitAny(after: news.checkpoint)
            return nil
        }
        if news.scope.mayHaveOtherBuckets { subscription.settle(resolver.interest) }
        if let position = resolver.nextWriteCheckpoint { subscription.expectWriteCheckpoint(at: position) }
        return candidate
    }

    private mutating func announce(_ prepared: PreparedLine) -> ByteBuffer {
        machine.advance(to: prepared)
        statistics.didAnnounce(
            prepared.candidate.checkpoint.opID,
            buckets: prepared.candidate.buckets.count,
            downloads: prepared.downloads.count
        )
        logCheckpoint(prepared)
        if case .checkpoint = prepared.line { logRefusals(prepared.candidate.refusals) }
        return encode(prepared.line)
    }

    // MARK: Data

    /// Sends what there is of some buckets, up to the limits of a read.
    private mutating func sendData(
        _ positions: [StreamingSyncRequest.BucketPosition],
        _ checkpoint: StorageCheckpoint,
        _ lines: LineQueue
    ) async throws {
        var rest = positions[...]
        while let (part, origin) = nextPart(of: rest) {
            let run: EncodedRun
            let sender: SharedRun.Sender?
            do {
                (run, sender) = try await self.run(of: part, origin, checkpoint, lines)
            } catch let error as BucketStorageError where error.code == .checkpointInvalidated {
                logInvalidated(checkpoint, reason: "compacted")
                machine.abandonDownload()
                return
            }
            // What is not handed over is not in memory any more.
            let isHeld = sender == nil
            var held = isHeld ? run.readableBytes : 0
            defer { if held > 0 { account.remove(held) } }
            guard !subscription.isFinished else { return }
            statistics.began(.sending)
            for line in run.lines {
                let isCopied = copiesLines && !isHeld
                if isHeld { held -= line.bytes.readableBytes }
                if isCopied { account.add(line.bytes.readableBytes) }
                try await batch.add(line.bytes, isHeld: isHeld || isCopied, from: sender, flushingTo: lines)
                machine.didSend(line.contents)
                lineBytes = min(2 * lineBytes, BucketDataLimits().chunkBytes)
                statistics.didSend(
                    line.operationCounts,
                    byteCount: line.bytes.readableBytes,
                    bucketsLeft: machine.pendingDownloads.count
                )
                if line.bytes.readableBytes > Self.readAheadBytes { try await lines.waitUntilWritten() }
                if try await isSuperseded(checkpoint, lines) { return }
            }
            rest = rest.dropFirst(part.count)
            // More of the last bucket comes before the others.
            if run.lines.last?.contents.hasMore == true { return machine.didFinishRead(hasMore: true) }
        }
        machine.didFinishRead(hasMore: false)
    }

    /// Announces a newer checkpoint if one concerns the client and the download may be interrupted.
    ///
    /// The state machine keeps what is left to send.
    ///
    /// - Returns: Whether the download is interrupted.
    /// - Throws: An error of the storage, or `CancellationError`.
    private mutating func isSuperseded(_ checkpoint: StorageCheckpoint, _ lines: LineQueue) async throws -> Bool {
        guard machine.isInterruptible, let news = subscription.takeIfAvailable() else { return false }
        try await batch.flush(to: lines)
        return try await announceIfNews(news, supersedes: checkpoint)
    }

    // MARK: Lines

    private func encode(_ line: SyncLine) -> ByteBuffer {
        var buffer = ByteBuffer()
        line.encode(as: encoding.format, rawData: encoding.isRawData, into: &buffer)
        statistics.didSend(lineOf: buffer.readableBytes)
        return buffer
    }
}

// MARK: Logging

/// The announcement of a checkpoint is logged at `debug`, because the names of buckets have the values of their
/// parameters; that it is complete or invalidated at `info`. What the client does not get is a warning.
extension SyncSession {
    /// Most bucket names in one log entry.
    private static let loggedBuckets = 20

    private func logCheckpoint(_ prepared: PreparedLine) {
        guard logger.logLevel <= .debug else { return }
        let candidate = prepared.candidate
        var metadata: Logger.Metadata = [
            LogKey.checkpoint: .stringConvertible(candidate.checkpoint.opID.rawValue),
            LogKey.buckets: .stringConvertible(candidate.buckets.count),
            LogKey.parameterResults: .stringConvertible(resolver.parameterResultCount),
        ]
        if let write = candidate.writeCheckpoint {
            metadata[LogKey.writeCheckpoint] = .stringConvertible(write.rawValue)
        }
        switch prepared.line {
        case .checkpointDiff(let diff):
            metadata[LogKey.updatedBuckets] = .array(
                diff.updatedBuckets.prefix(Self.loggedBuckets).map { "\($0.name)" }
            )
            metadata[LogKey.removedBuckets] = .array(diff.removedBuckets.prefix(Self.loggedBuckets).map { "\($0)" })
            logger.debug("Updated checkpoint", metadata: metadata)
        default:
            metadata[LogKey.bucketNames] = .array(
                candidate.buckets.prefix(Self.loggedBuckets).map { "\($0.name)" }
            )
            logger.debug("New checkpoint", metadata: metadata)
        }
    }

    /// At `warning`, each time when the client is told: it lacks rows, and only operators see why.
    private func logRefusals(_ refusals: [RefusedSubscription]) {
        guard let first = refusals.first else { return }
        var metadata: Logger.Metadata = [
            LogKey.subscriptions: .stringConvertible(refusals.count),
            LogKey.firstSubscription: .stringConvertible(first.index),
            LogKey.syncStreams: .array(Set(refusals.map(\.stream)).sorted().prefix(Self.loggedBuckets).map { "\($0)" }),
        ]
        metadata.add(first.error)
        logger.warning("Subscriptions get nothing, the client has too many buckets", metadata: metadata)
    }

    private func logCompletion(_ line: SyncLine) {
        switch line {
        case .partialCheckpointComplete(let completion):
            logCheckpoint(
                "partial_checkpoint_complete",
                completion.lastOpID,
                [LogKey.priority: .stringConvertible(completion.priority.rawValue)]
            )
        case .checkpointComplete(let completion): logCheckpoint("checkpoint_complete", completion.lastOpID)
        default: break
        }
    }

    private func logInvalidated(_ checkpoint: StorageCheckpoint, reason: String) {
        logCheckpoint("checkpoint_invalidated", checkpoint.opID, [LogKey.reason: "\(reason)"])
    }

    /// At `info` at most once a second, else at `debug`.
    private func logCheckpoint(_ message: Logger.Message, _ opID: OpID?, _ more: Logger.Metadata = [:]) {
        guard logger.logLevel <= .info else { return }
        let line = statistics.takeCheckpointLine()
        let level = line.isDue ? Logger.Level.info : .debug
        guard logger.logLevel <= level else { return }
        var metadata = more
        if let opID { metadata[LogKey.checkpoint] = .stringConvertible(opID.rawValue) }
        metadata[LogKey.operationsSynced] = .stringConvertible(line.operations)
        metadata[LogKey.syncedBytes] = .stringConvertible(line.bytes)
        metadata[LogKey.milliseconds] = .dictionary(line.milliseconds)
        logger.log(level: level, message, metadata: metadata)
    }
}

extension CheckpointStory.Line {
    /// The time by activity, and in total.
    fileprivate var milliseconds: Logger.Metadata {
        func value(_ seconds: Double) -> Logger.MetadataValue {
            .stringConvertible(Duration.seconds(seconds).loggedMilliseconds)
        }
        var milliseconds: Logger.Metadata = ["total": value(total)]
        for (activity, seconds) in spent { milliseconds[activity.rawValue] = value(seconds) }
        milliseconds["other"] = value(max(0, total - spent.values.reduce(0, +)))
        return milliseconds
    }
}
