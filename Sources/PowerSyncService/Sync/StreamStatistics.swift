import Metrics
import PowerSyncProtocol
import Synchronization

/// Counts what one stream sends, for its last log entry and for the metrics of the process (`wire-protocol.md` 18, 19).
final class StreamStatistics: Sendable {
    private struct Counts {
        var operations: [SyncOperation.Kind: Int] = [:]
        var bytes = 0
    }

    private static let syncedOperations = Counter(label: "powersync_operations_synced_total")
    private static let syncedBytes = Counter(label: "powersync_data_synced_bytes_total")

    private let counts = Mutex(Counts())

    /// All operations sent so far.
    var operationCount: Int { counts.withLock { $0.operations.values.reduce(0, +) } }

    /// All bytes of lines sent so far.
    var byteCount: Int { counts.withLock { $0.bytes } }

    /// How many operations of each kind were sent.
    var operationCounts: [SyncOperation.Kind: Int] { counts.withLock { $0.operations } }

    /// A data line was sent.
    func didSend(_ line: DataLine) {
        Self.syncedOperations.increment(by: line.operations.count)
        counts.withLock { counts in
            for operation in line.operations { counts.operations[operation.kind, default: 0] += 1 }
        }
    }

    /// A line of some bytes was written.
    func didWrite(byteCount: Int) {
        Self.syncedBytes.increment(by: byteCount)
        counts.withLock { $0.bytes += byteCount }
    }
}
