import Metrics
import NIOConcurrencyHelpers
package import PowerSyncSyncConfig

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
        /// Rows that were left out because they have no id, by table.
        package var rowsWithoutID: [String: Int] = [:]
        /// How far the active stream is behind its source, in seconds.
        ///
        /// `nil` until that is known, and while the stream is not replicated.
        package var lag: Double?
        /// A large transaction of the source of which not everything has come.
        package var openTransaction: OpenTransaction?
        /// The tables that are being copied, one for each stream that copies.
        package var copies: [ReplicationStreamID: TableCopy] = [:]
    }

    /// A table that is being copied: clients of its stream get nothing before the last one is.
    package struct TableCopy: Sendable, Equatable {
        /// The table.
        package var table: SourceTableName
        /// How many rows of it have been copied by this attempt.
        package var rows = 0
        /// About how many rows it has; `nil` when the source does not know, and when an earlier attempt has copied a part of it.
        package var estimatedRows: Int64?
        /// How many tables this attempt has copied before.
        package var copiedTables: Int
        /// How many tables this attempt copies.
        package var tables: Int
    }

    /// A large transaction that is being read: clients get nothing of it before its end.
    package struct OpenTransaction: Sendable, Equatable {
        /// How many changes of it have come.
        package var changes: Int
        /// When it was committed, in seconds since 1970, by the source's clock.
        package var committedAt: Double
        /// The stream that reads it.
        fileprivate var stream: ReplicationStreamID
    }

    /// How far the active stream was behind its source.
    private struct Lag {
        var stream: ReplicationStreamID
        /// In seconds.
        var seconds: Double
        /// When that was, in seconds since 1970.
        var recordedAt: Double
    }

    private struct State {
        var counts = Counts()
        /// What was recorded last, unless another process replicates now.
        var lag: Lag?
    }

    private static let lagLabel = "powersync_replication_lag_seconds"
    /// The histogram of how long after its commit a transaction of the source was published.
    package static let publicationLabel = "powersync_checkpoint_lag_seconds"
    /// The upper bounds of its buckets, in seconds.
    package static let publicationBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600]

    private let rows = Counter(label: "powersync_rows_replicated_total")
    private let bytes = Counter(label: "powersync_data_replicated_bytes_total")
    private let transactions = Counter(label: "powersync_transactions_replicated_total")
    private let chunks = Counter(label: "powersync_chunks_replicated_total")
    private let attempts = Counter(label: "powersync_replication_attempts_total")
    private let errors = Counter(label: "powersync_replication_errors_total")
    private let publications = Recorder(label: publicationLabel, aggregate: true)
    private let state = NIOLockedValueBox(State())

    /// Begins to count; the metrics exist from now on, with 0.
    package init() {}

    /// What has been counted.
    package var counts: Counts { state.withLockedValue(\.counts) }

    /// A stream begins to copy a table.
    func willCopy(_ copy: TableCopy, for stream: ReplicationStreamID) {
        state.withLockedValue { $0.counts.copies[stream] = copy }
    }

    /// A stream copies no table any more: it has all of them, or begins again later.
    func didEndCopies(of stream: ReplicationStreamID) {
        state.withLockedValue { $0.counts.copies[stream] = nil }
    }

    /// Rows were copied from the table that a stream copies.
    func didCopy(_ copied: [SourceRow], for stream: ReplicationStreamID) {
        state.withLockedValue { $0.counts.copies[stream]?.rows += copied.count }
        didCopy(rows: copied.count, bytes: copied.reduce(0) { $0 + $1.byteCount })
    }

    /// Rows were copied from a table.
    func didCopy(rows: Int, bytes: Int) {
        chunks.increment()
        state.withLockedValue { $0.counts.chunks += 1 }
        count(rows, bytes)
    }

    /// Rows have changed.
    func didSave(_ changes: [SourceChange]) {
        count(changes.count, changes.reduce(0) { $0 + ($1.row?.byteCount ?? 0) })
    }

    /// A row of a table was left out because it has no id.
    func didLeaveOut(_ table: SourceTableName) {
        state.withLockedValue { $0.counts.rowsWithoutID["\(table)", default: 0] += 1 }
    }

    /// Replication of a stream begins, for the first time or again.
    func didBegin() {
        attempts.increment()
    }

    /// Replication has failed, and is tried again.
    func didFail() {
        errors.increment()
    }

    /// A transaction of the source was published some seconds after its commit, by two clocks.
    func didPublish(after seconds: Double) {
        publications.record(max(0, seconds))
    }

    /// Changes of a large transaction have come.
    ///
    /// - Parameters:
    ///   - changes: How many by now.
    ///   - committedAt: When it was committed, in seconds since 1970.
    ///   - stream: The stream that reads it.
    func didRead(_ changes: Int, ofTransactionAt committedAt: Double, by stream: ReplicationStreamID) {
        state.withLockedValue {
            $0.counts.openTransaction = OpenTransaction(changes: changes, committedAt: committedAt, stream: stream)
        }
    }

    /// The large transaction that a stream was reading has ended, or is read again later.
    func didEndTransaction(of stream: ReplicationStreamID) {
        state.withLockedValue { state in
            if state.counts.openTransaction?.stream == stream { state.counts.openTransaction = nil }
        }
    }

    /// A transaction was committed.
    func didCommit() {
        transactions.increment()
        state.withLockedValue { $0.counts.transactions += 1 }
    }

    /// The active stream is so many seconds behind.
    ///
    /// - Parameters:
    ///   - seconds: How far.
    ///   - stream: The stream.
    ///   - now: The seconds since 1970.
    func recordLag(_ seconds: Double, of stream: ReplicationStreamID, at now: Double) {
        // The metric does not exist before it is known.
        Gauge(label: Self.lagLabel).record(seconds)
        state.withLockedValue { state in
            state.counts.lag = seconds
            state.lag = Lag(stream: stream, seconds: seconds, recordedAt: now)
        }
    }

    /// A stream is not replicated at the moment, so that its lag is not known.
    ///
    /// The metric cannot say that, and is the worst that may be: as if the source had gone on since it was recorded.
    ///
    /// - Parameters:
    ///   - stream: The stream; nothing happens for another one than that whose lag is known.
    ///   - now: The seconds since 1970.
    func didStop(_ stream: ReplicationStreamID, at now: Double) {
        let last = state.withLockedValue { state -> Lag? in
            guard let lag = state.lag, lag.stream == stream else { return nil }
            state.counts.lag = nil
            return lag
        }
        if let last { Gauge(label: Self.lagLabel).record(last.seconds + max(0, now - last.recordedAt)) }
    }

    /// Another process replicates a stream, and tells how far it is behind; the metric of this one ends.
    func didYield(_ stream: ReplicationStreamID) {
        let wasKnown = state.withLockedValue { state in
            guard state.lag?.stream == stream else { return false }
            state.lag = nil
            state.counts.lag = nil
            return true
        }
        if wasKnown { Gauge(label: Self.lagLabel).destroy() }
    }

    private func count(_ rowCount: Int, _ byteCount: Int) {
        rows.increment(by: rowCount)
        bytes.increment(by: byteCount)
        state.withLockedValue { state in
            state.counts.rows += rowCount
            state.counts.bytes += byteCount
        }
    }
}

extension SourceRow {
    /// The bytes of the values: those of texts and blobs, and eight for a number.
    var byteCount: Int {
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
