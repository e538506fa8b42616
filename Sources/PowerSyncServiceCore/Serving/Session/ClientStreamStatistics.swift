package import Logging
import Metrics
import NIOConcurrencyHelpers
package import PowerSyncProtocol
import Tracing

/// Counts what one stream sends, and knows what it is doing: for its last log entry, for operators, and for the metrics
/// of the process.
package final class ClientStreamStatistics: Sendable {
    private struct Counts {
        var operations = OperationCounts()
        var bytes = 0
        var progress = ClientStreamProgress()
        var activity = ClientStreamActivity.opening
        /// Since when, in seconds since 1970.
        var activeSince: Double
        var story = CheckpointStory()
        /// The beginning of the write that the network has not taken; `nil` when there is none.
        var writingSince: Double?
    }

    /// The state of a stream at one moment.
    struct State {
        var operations: Int
        var bytes: Int
        var progress: ClientStreamProgress
        var activity: ClientStreamActivity
        var activeSince: Double
    }

    /// A write that takes longer than that waits for the client: 1 s.
    static let writePatience = 1.0

    private static let syncedOperations = Counter(label: "powersync_operations_synced_total")
    private static let connections = Meter(label: "powersync_concurrent_connections")
    private static let syncedBytes = Counter(label: "powersync_data_synced_bytes_total")
    private static let sentBytes = Counter(label: "powersync_data_sent_bytes_total")

    /// Makes the metrics of streams exist before the first stream, with 0.
    package static func register() {
        _ = (syncedOperations, connections, syncedBytes, sentBytes)
        StreamEnd.register()
    }

    /// Counts a stream that did not begin.
    ///
    /// - Parameters:
    ///   - code: The code of the error that the client got.
    ///   - transport: What the stream would have been sent over.
    package static func didRefuse(_ code: ErrorCode, over transport: StreamTransport) {
        StreamEnd.refusal.count(code, transport)
    }

    private let counts: NIOLockedValueBox<Counts>
    private let now: @Sendable () -> Double
    private let clock: any Clock<Duration>
    /// Of the request for the stream, which has been answered when the stream is written.
    private let context = ServiceContext.current ?? .topLevel

    /// Creates the statistics of a stream that is being opened.
    ///
    /// - Parameters:
    ///   - now: The seconds since 1970.
    ///   - clock: Measures the duration of the stream.
    package init(
        now: @escaping @Sendable () -> Double = { Timing().seconds },
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.now = now
        self.clock = clock
        counts = NIOLockedValueBox(Counts(activeSince: now()))
    }

    /// All operations sent so far.
    var operationCount: Int { counts.withLockedValue { $0.operations.total } }

    /// All bytes of lines sent so far.
    package var byteCount: Int { counts.withLockedValue { $0.bytes } }

    /// The number of operations that were sent, by kind.
    var operationCounts: OperationCounts { counts.withLockedValue { $0.operations } }

    /// The totals of the stream, and its activity.
    var state: State {
        let now = now()
        return counts.withLockedValue { counts in
            var state = State(
                operations: counts.operations.total,
                bytes: counts.bytes,
                progress: counts.progress,
                activity: counts.activity,
                activeSince: counts.activeSince
            )
            // Whatever the session does meanwhile, the client has the next move.
            if let since = counts.writingSince, now - since >= Self.writePatience {
                (state.activity, state.activeSince) = (.waitingForClient, since)
            }
            return state
        }
    }

    /// The session does something else from now on.
    func began(_ activity: ClientStreamActivity) {
        let now = now()
        counts.withLockedValue { counts in
            guard counts.activity != activity else { return }
            counts.story.didEnd(counts.activity, from: counts.activeSince, to: now)
            (counts.activity, counts.activeSince) = (activity, now)
        }
    }

    /// A checkpoint is announced.
    ///
    /// - Parameters:
    ///   - checkpoint: Its op id.
    ///   - buckets: How many buckets the client has at it.
    ///   - downloads: How many of them it has to download.
    func didAnnounce(_ checkpoint: OpID, buckets: Int, downloads: Int) {
        let now = now()
        counts.withLockedValue { counts in
            counts.story.didAnnounce(at: now)
            counts.progress.checkpoint = checkpoint
            counts.progress.buckets = buckets
            (counts.progress.downloads, counts.progress.bucketsLeft) = (downloads, downloads)
        }
    }

    /// A checkpoint is complete: the client has everything up to it.
    func didComplete(_ checkpoint: OpID?) {
        counts.withLockedValue { counts in
            counts.progress.completed = checkpoint
            counts.progress.bucketsLeft = 0
        }
    }

    /// A data line was sent.
    ///
    /// - Parameters:
    ///   - operations: How many operations of each kind it has.
    ///   - byteCount: The size of the line.
    ///   - bucketsLeft: How many buckets the client still has to download for its checkpoint.
    func didSend(_ operations: [SyncOperation.Kind: Int], byteCount: Int = 0, bucketsLeft: Int) {
        let count = operations.values.reduce(0, +)
        Self.syncedOperations.increment(by: count)
        counts.withLockedValue { counts in
            counts.operations.add(operations)
            counts.progress.bucketsLeft = bucketsLeft
            counts.story.didSend(operations: count, bytes: byteCount)
        }
    }

    /// A line without operations was sent.
    func didSend(lineOf byteCount: Int) {
        counts.withLockedValue { $0.story.didSend(operations: 0, bytes: byteCount) }
    }

    /// The numbers of a log line about the checkpoint that was announced last.
    func takeCheckpointLine() -> CheckpointStory.Line {
        let now = now()
        return counts.withLockedValue { counts in
            counts.story.takeLine(at: now, while: counts.activity, since: counts.activeSince)
        }
    }

    /// Lines are given to the network, which may take its time.
    package func willWrite() {
        let now = now()
        counts.withLockedValue { $0.writingSince = now }
    }

    /// Lines of some bytes were written.
    package func didWrite(byteCount: Int) {
        Self.syncedBytes.increment(by: byteCount)
        counts.withLockedValue { counts in
            counts.bytes += byteCount
            counts.writingSince = nil
        }
    }

    /// Bytes were sent over some stream, after compression.
    package static func didSend(byteCount: Int) {
        sentBytes.increment(by: byteCount)
    }

    /// A stream that has begun.
    package struct Beginning: Sendable {
        fileprivate let stopwatch: Stopwatch
        fileprivate let work: TracedWork
    }

    /// The stream begins.
    ///
    /// - Returns: For ``didEnd(_:code:over:begun:logger:)``.
    package func didStart() -> Beginning {
        Self.connections.increment()
        return Beginning(stopwatch: Stopwatch(clock), work: TracedWork(.stream, in: context))
    }

    /// The stream has ended.
    ///
    /// - Parameters:
    ///   - end: Why; `nil` when the task was cancelled.
    ///   - code: The code of the error that ended it, if one did.
    ///   - transport: What it was sent over.
    ///   - beginning: From ``didStart()``.
    ///   - logger: With the ids of the request.
    package func didEnd(
        _ end: LineQueue.End?,
        code: ErrorCode?,
        over transport: StreamTransport,
        begun beginning: Beginning,
        logger: Logger
    ) {
        Self.connections.decrement()
        let description = StreamEnd(end)
        description.count(code, transport)
        let reason = description.reason.rawValue
        let counts = operationCounts
        var metadata: Logger.Metadata = [
            LogKey.operationsSynced: .stringConvertible(operationCount),
            LogKey.syncedBytes: .stringConvertible(byteCount),
            LogKey.operationCounts: [
                "put": .stringConvertible(counts.put),
                "remove": .stringConvertible(counts.remove),
                "move": .stringConvertible(counts.move),
                "clear": .stringConvertible(counts.clear),
            ],
            LogKey.streamDuration: .stringConvertible(Int(beginning.stopwatch.elapsed / .milliseconds(1))),
            LogKey.closeReason: "\(reason)",
        ]
        beginning.work.set("operations_synced", operationCount)
        beginning.work.set("data_synced_bytes", byteCount)
        beginning.work.set("close_reason", reason)
        if case .failed(let error) = end {
            metadata.add(error)
            if let code { metadata[LogKey.code] = "\(code)" }
            beginning.work.end(error)
            logger.error("Sync stream complete", metadata: metadata)
        } else {
            beginning.work.end()
            logger.info("Sync stream complete", metadata: metadata)
        }
    }
}

/// Operations by kind; a dictionary would be an allocation for each open stream.
struct OperationCounts: Equatable {
    var put = 0
    var remove = 0
    var move = 0
    var clear = 0

    /// All of them.
    var total: Int { put + remove + move + clear }

    /// Adds the operations of a line.
    mutating func add(_ counts: [SyncOperation.Kind: Int]) {
        put += counts[.put, default: 0]
        remove += counts[.remove, default: 0]
        move += counts[.move, default: 0]
        clear += counts[.clear, default: 0]
    }
}
