package import Logging
package import NIOCore
package import PowerSyncProtocol
package import PowerSyncRules

/// One sync stream: derives the lines for a client from the checkpoints of the storage
/// (docs/service.md "Sync sessions").
///
/// What to send is decided by ``StateMachine``; this type reads the storage for it and hands over what it asks to send.
/// It knows neither HTTP nor tokens.
///
/// A session is opened and run by one task after the other: ``open()`` makes the first line, so that a failure up to there
/// can still become an HTTP error, then ``run(_:)`` sends everything else.
package struct SyncSession: Sendable {
    /// What all sessions of the process share.
    package struct Environment: Sendable {
        /// Where the buckets are.
        package var storage: any BucketStorage
        /// Who may read bucket data.
        package var dataReaders: ConcurrencyQueue
        /// Limits of one connection.
        package var limits: BucketLimits
        /// Time and randomness.
        package var timing: Timing

        /// Creates an environment.
        ///
        /// - Parameters:
        ///   - storage: Where the buckets are.
        ///   - dataReaders: Who may read bucket data.
        ///   - limits: Limits of one connection.
        ///   - timing: Time and randomness.
        package init(
            storage: any BucketStorage,
            dataReaders: ConcurrencyQueue,
            limits: BucketLimits,
            timing: Timing
        ) {
            self.storage = storage
            self.dataReaders = dataReaders
            self.limits = limits
            self.timing = timing
        }
    }

    /// How lines are encoded.
    package struct Encoding: Sendable {
        /// The format of the response.
        package var format: SyncLineFormat
        /// NDJSON only: whether row data is a string rather than an object.
        package var isRawData: Bool

        /// Creates an encoding.
        package init(format: SyncLineFormat, isRawData: Bool) {
            self.format = format
            self.isRawData = isRawData
        }
    }

    /// The pause after a checkpoint, which lets several transactions share the next line.
    static let pauseAfterCheckpoint = Duration.milliseconds(10)
    /// The pause after a checkpoint that did not concern the client.
    static let pauseAfterIrrelevantCheckpoint = Duration.milliseconds(25)

    private let environment: Environment
    private let stream: ActiveSyncStream
    private let encoding: Encoding
    private let statistics: StreamStatistics
    private let logger: Logger
    private var machine: StateMachine
    private var resolver: BucketResolver

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - request: What the client asks for.
    ///   - token: Who the client is.
    ///   - stream: What is served.
    ///   - environment: What all sessions share.
    ///   - encoding: How lines are encoded.
    ///   - statistics: Counts what is sent.
    ///   - logger: With the ids of the request.
    package init(
        request: StreamingSyncRequest,
        token: VerifiedToken,
        stream: ActiveSyncStream,
        environment: Environment,
        encoding: Encoding,
        statistics: StreamStatistics,
        logger: Logger
    ) {
        self.environment = environment
        self.stream = stream
        self.encoding = encoding
        self.statistics = statistics
        self.logger = logger
        let planRequest = SyncPlanRequest(
            tokenPayload: token.payload,
            parameters: request.parameters,
            streams: request.streams
        )
        let querier = stream.plan.querier(for: planRequest, bucketPrefix: stream.bucketPrefix)
        machine = StateMachine(positions: request.buckets, streams: querier.streams)
        resolver = BucketResolver(
            storage: environment.storage,
            querier: querier,
            limits: environment.limits,
            writeCheckpointKey: token.writeCheckpointKey(clientID: request.clientID)
        )
    }

    /// Makes the first line, for the current checkpoint.
    ///
    /// - Returns: The encoded line; `nil` when another sync config became active in the meantime.
    /// - Throws: `BucketLimitError`, or an error of the storage.
    package mutating func open() async throws -> ByteBuffer? {
        var checkpoints = environment.storage.checkpoints(of: stream).makeAsyncIterator()
        while let checkpoint = try await checkpoints.next() {
            do {
                let candidate = try await resolver.candidate(at: checkpoint)
                guard let prepared = machine.prepareLine(for: candidate) else { return nil }
                return announce(prepared)
            } catch let error as BucketStorageError where error.code == .unknownStream {
                return nil
            } catch let error as BucketStorageError where error.code == .checkpointInvalidated {
                // Compaction works on what a later checkpoint consists of: that one is there, or about to be.
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
        let mailbox = CheckpointMailbox()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [checkpoints = environment.storage.checkpoints(of: stream)] in
                for try await checkpoint in checkpoints { mailbox.put(checkpoint) }
                mailbox.finish()
            }
            do {
                try await send(lines, mailbox)
            } catch let error as BucketStorageError where error.code == .unknownStream {
                // Another sync config became active between two reads; the mailbox has not been told yet.
            }
            group.cancelAll()
        }
    }

    private mutating func send(_ lines: LineQueue, _ mailbox: CheckpointMailbox) async throws {
        // What is read after another stream has become active may be half deleted, so nothing of it is sent.
        while !mailbox.isFinished {
            switch machine.next() {
            case .waitForCheckpoint:
                guard let checkpoint = try await mailbox.take() else { return }
                if try await !announceIfNews(checkpoint, lines, mailbox) {
                    try await environment.timing.clock.sleep(for: Self.pauseAfterIrrelevantCheckpoint)
                }
            case .read(let positions, let checkpoint):
                try await sendData(positions, checkpoint, lines, mailbox)
            case .send(let line):
                try await lines.send(encode(line))
                logCompletion(line)
                if case .checkpointComplete = line {
                    try await environment.timing.clock.sleep(for: Self.pauseAfterCheckpoint)
                }
            }
        }
    }

    /// Sends the line of a checkpoint, if it concerns the client.
    private mutating func announceIfNews(
        _ checkpoint: StorageCheckpoint,
        _ lines: LineQueue,
        _ mailbox: CheckpointMailbox
    ) async throws -> Bool {
        let candidate: Candidate
        do {
            candidate = try await resolver.candidate(at: checkpoint)
        } catch let error as BucketStorageError where error.code == .checkpointInvalidated {
            return false
        }
        guard !mailbox.isFinished else { return false }
        guard let prepared = machine.prepareLine(for: candidate) else { return false }
        try await lines.send(announce(prepared))
        return true
    }

    private mutating func announce(_ prepared: PreparedLine) -> ByteBuffer {
        machine.advance(to: prepared)
        logCheckpoint(prepared)
        return encode(prepared.line)
    }

    private mutating func sendData(
        _ positions: [StreamingSyncRequest.BucketPosition],
        _ checkpoint: StorageCheckpoint,
        _ lines: LineQueue,
        _ mailbox: CheckpointMailbox
    ) async throws {
        // The slot and the transaction of the storage are free again before the network is waited for.
        let storage = environment.storage
        let chunks: [BucketChunk]
        do {
            chunks = try await environment.dataReaders.withSlot {
                try await storage.bucketData(positions, at: checkpoint)
            }
        } catch let error as BucketStorageError where error.code == .checkpointInvalidated {
            logSuperseded(checkpoint, reason: "compacted")
            machine.abandonDownload()
            return
        }
        guard !mailbox.isFinished else { return }
        for chunk in chunks {
            try await lines.send(encode(.data(chunk.line)))
            machine.didSend(chunk)
            statistics.didSend(chunk.line)
            // A newer checkpoint that concerns the client takes over; the machine remembers what is left to send.
            if machine.isInterruptible, let newer = mailbox.takeIfAvailable(),
                try await announceIfNews(newer, lines, mailbox)
            {
                logSuperseded(checkpoint, reason: "checkpoint_superseded")
                return
            }
        }
        machine.didFinishRead(hasMore: chunks.last?.line.hasMore ?? false)
    }

    private func encode(_ line: SyncLine) -> ByteBuffer {
        var buffer = ByteBuffer()
        line.encode(as: encoding.format, rawData: encoding.isRawData, into: &buffer)
        return buffer
    }
}

// MARK: Logging

extension SyncSession {
    /// Most bucket names in one log entry.
    private static let loggedBuckets = 20

    private func logCheckpoint(_ prepared: PreparedLine) {
        let candidate = prepared.candidate
        var metadata: Logger.Metadata = [
            "checkpoint": "\(candidate.checkpoint.opID)",
            "write": "\(candidate.writeCheckpoint.map(\.description) ?? "none")",
            "buckets": "\(candidate.buckets.count)",
            "parameter_query_results": "\(resolver.parameterResultCount)",
        ]
        switch prepared.line {
        case .checkpointDiff(let diff):
            metadata["updated"] = .array(
                diff.updatedBuckets.prefix(Self.loggedBuckets).map { "\($0.name)" }
            )
            metadata["removed"] = .array(diff.removedBuckets.prefix(Self.loggedBuckets).map { "\($0)" })
            logger.info("Updated checkpoint", metadata: metadata)
        default:
            metadata["bucket_names"] = .array(
                candidate.buckets.prefix(Self.loggedBuckets).map { "\($0.name)" }
            )
            logger.info("New checkpoint", metadata: metadata)
        }
    }

    private func logCompletion(_ line: SyncLine) {
        var metadata: Logger.Metadata = ["operations_synced": "\(statistics.operationCount)"]
        switch line {
        case .partialCheckpointComplete(let completion):
            metadata["checkpoint"] = "\(completion.lastOpID?.description ?? "")"
            metadata["priority"] = "\(completion.priority)"
            logger.info("partial_checkpoint_complete", metadata: metadata)
        case .checkpointComplete(let completion):
            metadata["checkpoint"] = "\(completion.lastOpID?.description ?? "")"
            logger.info("checkpoint_complete", metadata: metadata)
        default: break
        }
    }

    private func logSuperseded(_ checkpoint: StorageCheckpoint, reason: String) {
        logger.info(
            "checkpoint_invalidated",
            metadata: ["checkpoint": "\(checkpoint.opID)", "reason": "\(reason)"]
        )
    }
}
