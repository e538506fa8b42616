package import Logging
import Metrics
import NIOConcurrencyHelpers
import PowerSyncProtocol
import Tracing

/// Counts what one stream sends, and knows what it is doing: for its last log entry, for operators, and for the metrics of the
/// process.
package final class StreamStatistics: Sendable {
    private struct Counts {
        var operations: [SyncOperation.Kind: Int] = [:]
        var bytes = 0
        var progress = StreamProgressReport()
        var activity = StreamActivity.opening
        /// Since when, in seconds since 1970.
        var activeSince: Double
        /// When the write began that the network has not taken; `nil` when there is none.
        var writingSince: Double?
    }

    /// What can be told of a stream at one moment.
    struct State {
        var operations: Int
        var bytes: Int
        var progress: StreamProgressReport
        var activity: StreamActivity
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
    }

    private let counts: NIOLockedValueBox<Counts>
    private let now: @Sendable () -> Double
    /// Of the request for the stream, which has been answered when the stream is written.
    private let context = ServiceContext.current ?? .topLevel

    /// Creates the statistics of a stream that is being opened.
    ///
    /// - Parameter now: The seconds since 1970.
    package init(now: @escaping @Sendable () -> Double = { Timing().seconds }) {
        self.now = now
        counts = NIOLockedValueBox(Counts(activeSince: now()))
    }

    /// All operations sent so far.
    var operationCount: Int { counts.withLockedValue { $0.operations.values.reduce(0, +) } }

    /// All bytes of lines sent so far.
    package var byteCount: Int { counts.withLockedValue { $0.bytes } }

    /// How many operations of each kind were sent.
    var operationCounts: [SyncOperation.Kind: Int] { counts.withLockedValue { $0.operations } }

    /// What the stream has sent, and what it is doing.
    var state: State {
        let now = now()
        return counts.withLockedValue { counts in
            var state = State(
                operations: counts.operations.values.reduce(0, +),
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
    func began(_ activity: StreamActivity) {
        let now = now()
        counts.withLockedValue { counts in
            guard counts.activity != activity else { return }
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
        counts.withLockedValue { counts in
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
    ///   - bucketsLeft: How many buckets the client still has to download for its checkpoint.
    func didSend(_ operations: [SyncOperation.Kind: Int], bucketsLeft: Int) {
        Self.syncedOperations.increment(by: operations.values.reduce(0, +))
        counts.withLockedValue { counts in
            counts.operations.merge(operations, uniquingKeysWith: +)
            counts.progress.bucketsLeft = bucketsLeft
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
        fileprivate let time = ContinuousClock.now
        fileprivate let work: TracedWork
    }

    /// The stream begins.
    ///
    /// - Returns: For ``didEnd(_:begun:logger:)``.
    package func didStart() -> Beginning {
        Self.connections.increment()
        return Beginning(work: TracedWork(.stream, in: context))
    }

    /// The stream has ended.
    ///
    /// - Parameters:
    ///   - end: Why; `nil` when the task was cancelled.
    ///   - beginning: From ``didStart()``.
    ///   - logger: With the ids of the request.
    package func didEnd(_ end: LineQueue.End?, begun beginning: Beginning, logger: Logger) {
        Self.connections.decrement()
        let reason =
            switch end {
            case .clientClosed: "client closing stream"
            case .completed: "service closing stream"
            case .failed: "stream error"
            case .unread: "client not reading"
            case .shutdown: "process shutdown"
            case nil: "unknown"
            }
        let counts = operationCounts
        var metadata: Logger.Metadata = [
            LogKey.operationsSynced: .stringConvertible(operationCount),
            LogKey.syncedBytes: .stringConvertible(byteCount),
            LogKey.operationCounts: [
                "put": .stringConvertible(counts[.put, default: 0]),
                "remove": .stringConvertible(counts[.remove, default: 0]),
                "move": .stringConvertible(counts[.move, default: 0]),
                "clear": .stringConvertible(counts[.clear, default: 0]),
            ],
            LogKey.streamDuration: .stringConvertible(Int((ContinuousClock.now - beginning.time) / .milliseconds(1))),
            LogKey.closeReason: "\(reason)",
        ]
        beginning.work.set("operations_synced", operationCount)
        beginning.work.set("data_synced_bytes", byteCount)
        beginning.work.set("close_reason", reason)
        if case .failed(let error) = end {
            metadata.add(error)
            beginning.work.end(error)
            logger.error("Sync stream complete", metadata: metadata)
        } else {
            beginning.work.end()
            logger.info("Sync stream complete", metadata: metadata)
        }
    }
}
