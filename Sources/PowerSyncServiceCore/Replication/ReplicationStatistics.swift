import Metrics
import NIOConcurrencyHelpers
import PowerSyncRules

/// Counts what is replicated, for the metrics of the process and for operators.
package final class ReplicationStatistics: Sendable {
    /// What has been replicated since the process began.
    package struct Counts: Sendable, Equatable {
        /// Rows.
        package var rows = 0
        /// The bytes of their values.
        package var bytes = 0
        /// Transactions of the source.
        package var transactions = 0
        /// Runs of rows while tables are copied.
        package var chunks = 0
        /// How far the active stream is behind its source, in seconds; `nil` until that is known.
        package var lag: Double?
    }

    private static let lagLabel = "powersync_replication_lag_seconds"

    private let rows = Counter(label: "powersync_rows_replicated_total")
    private let bytes = Counter(label: "powersync_data_replicated_bytes_total")
    private let transactions = Counter(label: "powersync_transactions_replicated_total")
    private let chunks = Counter(label: "powersync_chunks_replicated_total")
    private let state = NIOLockedValueBox(Counts())

    /// Begins to count; the metrics exist from now on, with 0.
    package init() {}

    /// What has been counted.
    package var counts: Counts { state.withLockedValue(\.self) }

    /// Rows were copied from a table.
    func didCopy(_ copied: [SourceRow]) {
        chunks.increment()
        state.withLockedValue { $0.chunks += 1 }
        count(copied.count, copied.reduce(0) { $0 + $1.byteCount })
    }

    /// Rows have changed.
    func didSave(_ changes: [SourceChange]) {
        count(changes.count, changes.reduce(0) { $0 + ($1.row?.byteCount ?? 0) })
    }

    /// A transaction was committed.
    func didCommit() {
        transactions.increment()
        state.withLockedValue { $0.transactions += 1 }
    }

    /// The active stream is so many seconds behind.
    func recordLag(_ seconds: Double) {
        // The metric does not exist before it is known.
        Gauge(label: Self.lagLabel).record(seconds)
        state.withLockedValue { $0.lag = seconds }
    }

    private func count(_ rowCount: Int, _ byteCount: Int) {
        rows.increment(by: rowCount)
        bytes.increment(by: byteCount)
        state.withLockedValue { counts in
            counts.rows += rowCount
            counts.bytes += byteCount
        }
    }
}

extension SourceRow {
    /// The bytes of the values: those of texts and blobs, and eight for a number.
    fileprivate var byteCount: Int {
        values.reduce(0) { sum, value in
            switch value {
            case .null: sum
            case .integer, .real: sum + 8
            case .text(let text): sum + text.utf8.count
            case .blob(let bytes): sum + bytes.count
            }
        }
    }
}
