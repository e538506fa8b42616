import PowerSyncProtocol

extension SyncEngine {
    /// The states of a sync iteration, without SQL (docs/client-sync.md "Iterations").
    ///
    /// ```
    ///            start              checkpoint             checkpoint_complete,
    ///   idle ───────────▶ before ───────────────▶ tracking ───────────────────▶ heldBack
    ///    ▲                  │                     ▲  │  ▲     local writes wait     │
    ///    │ stop, end,       │                     └──┘  └───────────────────────────┘
    ///    └──────────────────┴── from any state    diff        upload completed, diff, checkpoint
    ///      expiry, mismatch
    /// ```
    ///
    /// The engine asks the machine what an event means, does the SQL, and tells the machine how it went. Both work on
    /// a copy until the transaction is committed, so a failed one leaves the machine where it was.
    struct StateMachine: Sendable {
        private enum State: Sendable {
            /// No iteration.
            case idle
            /// The request was built; no checkpoint has arrived.
            case before(Iteration)
            /// A checkpoint is known, and being downloaded or published.
            case tracking(Iteration, TrackedCheckpoint)
            /// The tracked checkpoint was downloaded and validated, but local writes keep it from being published.
            /// A completed upload is the occasion to try again.
            case heldBack(Iteration, TrackedCheckpoint)
        }

        private var state = State.idle
        /// Whether the iteration has received a line.
        private var hasReceivedLine = false

        /// What a sync line asks for.
        enum LineAction {
            /// Tracks a checkpoint from scratch, and deletes the buckets among `known` that are not part of it.
            case track(Checkpoint, known: KnownBuckets)
            /// Patches the tracked checkpoint.
            case patch(TrackedCheckpoint, CheckpointDiff)
            /// Stores operations.
            case store(DataLine)
            /// Validates and publishes.
            case complete(TrackedCheckpoint, Completion)
            /// Renews subscriptions.
            case keepAlive(Iteration, Keepalive)
            /// Nothing.
            case ignore(kind: String)
        }

        /// The buckets that a first or later `checkpoint` line replaces.
        enum KnownBuckets {
            /// Those of the request.
            case requested([BucketName])
            /// Those of the checkpoint that was tracked so far.
            case tracked(TrackedCheckpoint)
        }

        /// What a keepalive means.
        enum Keepalive: Equatable {
            /// The token expired.
            case expired
            /// New credentials should be fetched while the stream stays open.
            case expiresSoon
            /// Time to look for expired subscriptions.
            case routine

            /// The remaining lifetime in seconds up to which credentials are prefetched.
            static let prefetchSeconds: Int32 = 30

            init(tokenExpiresIn seconds: Int32) {
                self =
                    if seconds <= 0 {
                        .expired
                    } else if seconds <= Self.prefetchSeconds {
                        .expiresSoon
                    } else {
                        .routine
                    }
            }
        }

        /// How an attempt to publish ended.
        enum CompletionOutcome {
            /// Published.
            case applied
            /// Valid, but local writes are not acknowledged yet.
            case heldBack
        }
    }

    /// What an iteration was started with.
    struct Iteration: Sendable {
        /// The subscriptions that the open request contains.
        var request: SubscriptionRequest
        /// The buckets that the request contains.
        let requestedBuckets: [BucketName]
        /// How many bytes the request has without its subscriptions.
        let otherBytes: Int
    }
}

// MARK: - Queries

extension SyncEngine.StateMachine {
    /// Whether an iteration is running.
    var isActive: Bool {
        switch state {
        case .idle: false
        case .before, .tracking, .heldBack: true
        }
    }

    /// The checkpoint that waits for an upload.
    var heldBackCheckpoint: TrackedCheckpoint? {
        switch state {
        case .idle, .before, .tracking: nil
        case .heldBack(_, let checkpoint): checkpoint
        }
    }

    /// The checkpoint that data lines belong to.
    var trackedCheckpoint: TrackedCheckpoint? {
        switch state {
        case .idle, .before: nil
        case .tracking(_, let checkpoint), .heldBack(_, let checkpoint): checkpoint
        }
    }

    /// The positions in the request of the subscriptions that the service has no room for, as the tracked checkpoint says.
    var refusedPositions: Set<Int> { trackedCheckpoint?.association.refusedPositions ?? [] }

    /// The running iteration.
    ///
    /// - Throws: ``SyncEngineError`` with code `state` when there is none.
    func requireIteration() throws(SyncEngineError) -> SyncEngine.Iteration {
        switch state {
        case .idle: throw SyncEngineError(.state, "No iteration is active")
        case .before(let iteration), .tracking(let iteration, _), .heldBack(let iteration, _): iteration
        }
    }

    /// What to do with a line.
    ///
    /// - Throws: ``SyncEngineError`` when no iteration is active, or when the line is not allowed before a checkpoint.
    func action(for line: SyncLine) throws(SyncEngineError) -> LineAction {
        let iteration = try requireIteration()
        switch line {
        case .checkpoint(let checkpoint):
            let known = trackedCheckpoint.map { .tracked($0) } ?? KnownBuckets.requested(iteration.requestedBuckets)
            return .track(checkpoint, known: known)
        case .checkpointDiff(let diff):
            return .patch(try requireCheckpoint("checkpoint_diff", .protocol), diff)
        case .data(let line):
            return .store(line)
        case .partialCheckpointComplete(let line):
            let checkpoint = try requireCheckpoint("partial_checkpoint_complete", .state)
            return .complete(checkpoint, .partial(line.priority))
        case .checkpointComplete:
            return .complete(try requireCheckpoint("checkpoint_complete", .state), .complete)
        case .keepalive(let seconds):
            return .keepAlive(iteration, Keepalive(tokenExpiresIn: seconds))
        case .unknown(let kind):
            return .ignore(kind: kind)
        }
    }

    private func requireCheckpoint(
        _ line: String,
        _ code: SyncEngineError.Code
    ) throws(SyncEngineError) -> TrackedCheckpoint {
        guard let trackedCheckpoint else {
            throw SyncEngineError(code, "The service sent \(line) before any checkpoint")
        }
        return trackedCheckpoint
    }
}

// MARK: - Transitions

extension SyncEngine.StateMachine {
    /// A request was built, which replaces an iteration that is running.
    mutating func iterationStarted(_ iteration: SyncEngine.Iteration) {
        state = .before(iteration)
        hasReceivedLine = false
    }

    /// A line was handled.
    ///
    /// - Returns: Why to look at the upload queue: a line is a sign of life of the service; `nil` when it is none, or when the
    ///   iteration is over.
    mutating func lineHandled(isKeepalive: Bool) -> UploadReason? {
        guard isActive else { return nil }
        guard hasReceivedLine else {
            hasReceivedLine = true
            return .news
        }
        return isKeepalive ? .keepalive : nil
    }

    /// The iteration is over, for whatever reason.
    mutating func iterationEnded() {
        state = .idle
    }

    /// A checkpoint replaced the tracked one; what was held back is superseded.
    mutating func checkpointTracked(_ checkpoint: TrackedCheckpoint) {
        switch state {
        case .idle: break
        case .before(let iteration), .tracking(let iteration, _), .heldBack(let iteration, _):
            state = .tracking(iteration, checkpoint)
        }
    }

    /// The subscriptions of the tracked checkpoint were looked at again.
    mutating func checkpointReassociated(_ checkpoint: TrackedCheckpoint) {
        switch state {
        case .idle, .before: break
        case .tracking(let iteration, _): state = .tracking(iteration, checkpoint)
        case .heldBack(let iteration, _): state = .heldBack(iteration, checkpoint)
        }
    }

    /// A completion was handled; `checkpoint` has the times of its subscriptions updated.
    mutating func completionFinished(
        _ outcome: CompletionOutcome,
        of completion: Completion,
        _ checkpoint: TrackedCheckpoint
    ) {
        switch (state, completion, outcome) {
        case (.idle, _, _), (.before, _, _):
            break
        case (.tracking(let iteration, _), .complete, .heldBack), (.heldBack(let iteration, _), .complete, .heldBack),
            (.heldBack(let iteration, _), .partial, _):
            state = .heldBack(iteration, checkpoint)
        case (.tracking(let iteration, _), .complete, .applied), (.heldBack(let iteration, _), .complete, .applied),
            (.tracking(let iteration, _), .partial, _):
            state = .tracking(iteration, checkpoint)
        }
    }

    /// An upload was completed.
    ///
    /// - Returns: The checkpoint to publish now, which is no longer held back.
    mutating func takeHeldBackCheckpoint() -> TrackedCheckpoint? {
        switch state {
        case .idle, .before, .tracking:
            return nil
        case .heldBack(let iteration, let checkpoint):
            state = .tracking(iteration, checkpoint)
            return checkpoint
        }
    }

    /// The subscriptions were looked at again and the request would be the same: takes over the new row ids, to which
    /// replies refer.
    mutating func requestConfirmed(_ request: SubscriptionRequest) {
        func update(_ iteration: SyncEngine.Iteration) -> SyncEngine.Iteration {
            SyncEngine.Iteration(
                request: request,
                requestedBuckets: iteration.requestedBuckets,
                otherBytes: iteration.otherBytes
            )
        }
        switch state {
        case .idle: break
        case .before(let iteration): state = .before(update(iteration))
        case .tracking(let iteration, let checkpoint): state = .tracking(update(iteration), checkpoint)
        case .heldBack(let iteration, let checkpoint): state = .heldBack(update(iteration), checkpoint)
        }
    }
}
