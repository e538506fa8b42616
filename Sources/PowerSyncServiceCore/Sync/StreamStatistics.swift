package import Logging
import Metrics
import NIOConcurrencyHelpers
import PowerSyncProtocol

/// Counts what one stream sends, for its last log entry and for the metrics of the process.
package final class StreamStatistics: Sendable {
    private struct Counts {
        var operations: [SyncOperation.Kind: Int] = [:]
        var bytes = 0
    }

    private static let syncedOperations = Counter(label: "powersync_operations_synced_total")
    private static let connections = Meter(label: "powersync_concurrent_connections")
    private static let syncedBytes = Counter(label: "powersync_data_synced_bytes_total")

    /// Makes the metrics of streams exist before the first stream, with 0.
    package static func register() {
        _ = (syncedOperations, connections, syncedBytes)
    }

    private let counts = NIOLockedValueBox(Counts())

    /// All operations sent so far.
    var operationCount: Int { counts.withLockedValue { $0.operations.values.reduce(0, +) } }

    /// All bytes of lines sent so far.
    package var byteCount: Int { counts.withLockedValue { $0.bytes } }

    /// How many operations of each kind were sent.
    var operationCounts: [SyncOperation.Kind: Int] { counts.withLockedValue { $0.operations } }

    /// A data line was sent.
    ///
    /// - Parameter operations: How many operations of each kind it has.
    func didSend(_ operations: [SyncOperation.Kind: Int]) {
        Self.syncedOperations.increment(by: operations.values.reduce(0, +))
        counts.withLockedValue { $0.operations.merge(operations, uniquingKeysWith: +) }
    }

    /// A line of some bytes was written.
    package func didWrite(byteCount: Int) {
        Self.syncedBytes.increment(by: byteCount)
        counts.withLockedValue { $0.bytes += byteCount }
    }

    /// The stream begins.
    ///
    /// - Returns: The time.
    package func didStart() -> ContinuousClock.Instant {
        Self.connections.increment()
        return ContinuousClock.now
    }

    /// The stream has ended.
    ///
    /// - Parameters:
    ///   - end: Why; `nil` when the task was cancelled.
    ///   - start: When it began.
    ///   - logger: With the ids of the request.
    package func didEnd(_ end: LineQueue.End?, startedAt start: ContinuousClock.Instant, logger: Logger) {
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
            "operations_synced": "\(operationCount)",
            "data_synced_bytes": "\(byteCount)",
            "operation_counts": [
                "put": "\(counts[.put, default: 0])", "remove": "\(counts[.remove, default: 0])",
                "move": "\(counts[.move, default: 0])", "clear": "\(counts[.clear, default: 0])",
            ],
            "stream_ms": "\(Int((ContinuousClock.now - start) / .milliseconds(1)))",
            "close_reason": "\(reason)",
        ]
        if case .failed(let error) = end {
            metadata["error"] = "\(error)"
            logger.error("Sync stream failed", metadata: ["error": "\(error)"])
        }
        logger.info("Sync stream complete", metadata: metadata)
    }
}
