import Foundation
import PowerSyncServiceCore

/// What is wrong with replication.
///
/// The error of a stream counts until that stream succeeds, or is not tried any more: what another stream does says nothing about it. But
/// a storage that another stream is written to is not to blame.
struct ReplicationFailures {
    private struct Failure {
        var stream: ReplicationStreamID?
        var shown: AdminRoutes.Failure
        /// Since when the source is to blame, if it is for the last error.
        var sourceFailsSince: Date?
        /// Whether the storage is to blame, if not for the last error, then for one before, and nothing has succeeded since.
        var includesStorage: Bool
        /// Whether another stream was written since the first of these errors.
        var isOfStreamOnly: Bool
    }

    /// One of each stream at most, the newest last.
    private var failures: [Failure] = []

    /// The error that operators are told of; `nil` when nothing is wrong.
    var newest: AdminRoutes.Failure? { failures.last?.shown }

    /// Whether the storage cannot be written, so that clients do not get what is new.
    var includeStorage: Bool { failures.contains(where: \.includesStorage) }

    /// Since when a stream cannot be read from the source; `nil` while all can.
    var sourceFailsSince: Date? { failures.compactMap(\.sourceFailsSince).min() }

    /// Takes what replication tells.
    ///
    /// - Parameters:
    ///   - report: What has happened.
    ///   - stream: The stream that it was for; `nil` for what is there for all of them.
    ///   - date: When it was.
    mutating func record(_ report: ReplicationReport, of stream: ReplicationStreamID?, at date: Date) {
        let last = failures.firstIndex { $0.stream == stream }.map { failures.remove(at: $0) }
        guard let error = report.error else {
            if case .written = report { storageWasWritten() }
            return
        }
        let isOfStreamOnly = last?.isOfStreamOnly ?? false
        failures.append(
            Failure(
                stream: stream,
                shown: AdminRoutes.Failure(finding: Finding(.source, error), date: date),
                sourceFailsSince: error is ReplicationSourceError ? last?.sourceFailsSince ?? date : nil,
                includesStorage: !isOfStreamOnly && (Self.isOfStorage(error) || last?.includesStorage == true),
                isOfStreamOnly: isOfStreamOnly
            )
        )
    }

    private mutating func storageWasWritten() {
        for index in failures.indices {
            failures[index].includesStorage = false
            failures[index].isOfStreamOnly = true
        }
    }

    private static func isOfStorage(_ error: any Error) -> Bool {
        switch error {
        // Without its source, a process serves clients what there is as well as any other one.
        case is ReplicationSourceError: false
        case let error as BucketStorageError: error.code != .inUse && error.code != .leaseLost
        default: true
        }
    }
}
