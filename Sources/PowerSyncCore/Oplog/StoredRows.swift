import NIOConcurrencyHelpers

/// Which rows of `ps_oplog` were inserted or updated, by bucket, in the order in which that happened.
///
/// Rows of a line mostly get consecutive ids, so they are kept as runs. As in a ``KeyDirectory``, what a rolled-back
/// transaction has added stays, which is why copies of the engine value may share the object; row ids of later
/// transactions may be the same ones.
final class StoredRows: Sendable {
    private struct State {
        /// The finished runs.
        var runs: [Int64: [ClosedRange<Int64>]] = [:]
        /// Their number.
        var count = 0
        /// The run that grows, and its bucket.
        var current: (bucket: Int64, run: ClosedRange<Int64>)?

        /// Ends the run that grows.
        mutating func finishRun() {
            guard let (bucket, run) = current else { return }
            runs[bucket, default: []].append(run)
            count += 1
            current = nil
        }
    }

    /// The largest number of runs; they then take 64 MiB.
    private static let maximumCount = 4_000_000

    private let state = NIOLockedValueBox(State())

    /// Whether so many more rows can be added.
    func hasRoom(for count: Int) -> Bool {
        state.withLockedValue { $0.count <= Self.maximumCount - count }
    }

    /// Adds a row.
    func append(_ rowID: Int64, bucket: Int64) {
        state.withLockedValue { state in
            if let (lastBucket, run) = state.current, lastBucket == bucket, run.upperBound < rowID,
                run.upperBound + 1 == rowID
            {
                state.current = (bucket, run.lowerBound...rowID)
            } else {
                state.finishRun()
                state.current = (bucket, rowID...rowID)
            }
        }
    }

    /// The runs of a bucket except for the first ones.
    ///
    /// What is added later begins with a new run.
    func runs(ofBucket bucket: Int64, from start: Int) -> ArraySlice<ClosedRange<Int64>> {
        state.withLockedValue { state in
            state.finishRun()
            return state.runs[bucket]?[start...] ?? []
        }
    }
}
