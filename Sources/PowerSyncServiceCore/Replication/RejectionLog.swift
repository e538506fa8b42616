package import Logging
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig

/// Tells operators that rows are missing on clients.
///
/// A row that is too large is logged each time. What cannot be evaluated is logged once for each table, target and reason,
/// and rows without an id once for each table: a column that is wrong seldom is so in one row only.
final class RejectionLog: Sendable {
    /// What is logged once.
    private enum Problem: Hashable {
        case notEvaluated(RowEvaluationError)
        case withoutID(SourceTableName, definitions: [String])
    }

    private let logger: Logger
    private let statistics: ReplicationStatistics
    private let reported = NIOLockedValueBox<Set<Problem>>([])

    init(logger: Logger, statistics: ReplicationStatistics) {
        self.logger = logger
        self.statistics = statistics
    }

    /// Logs what has not been logged, and counts the rows without an id.
    func report(_ rejected: [RejectedRow]) {
        for row in rejected {
            switch row.reason {
            case .tooLarge(let bytes, let limit, let buckets):
                let others = buckets.count > 1 ? " and \(buckets.count - 1) more" : ""
                logger.warning(
                    "A row is too large for some buckets: clients keep what they have of it",
                    metadata: metadata(of: row).merging([
                        LogKey.code: "\(ErrorCode.rowTooLarge.rawValue)",
                        LogKey.bytes: .stringConvertible(bytes), LogKey.limitBytes: .stringConvertible(limit),
                        LogKey.target: "\(buckets.first?.rawValue ?? "")\(others)",
                    ]) { $1 }
                )
            case .notEvaluated(let error):
                guard isNew(.notEvaluated(error)) else { continue }
                logger.warning(
                    "A row cannot be evaluated; other rows of the table with the same error are not logged",
                    metadata: metadata(of: row).merging([
                        LogKey.target: "\(error.target)",
                        LogKey.error: "\(error.underlyingError)",
                    ]) { $1 }
                )
            case .withoutID(let definitions):
                statistics.didLeaveOut(row.table)
                guard isNew(.withoutID(row.table, definitions: definitions)) else { continue }
                logger.warning(
                    "A row has no id, and is not sent; the status counts such rows, others are not logged",
                    metadata: metadata(of: row).merging([
                        LogKey.target: "buckets of \(definitions.joined(separator: ", "))",
                        LogKey.remedy: .remedyOfMissingID,
                    ]) { $1 }
                )
            }
        }
    }

    private func isNew(_ problem: Problem) -> Bool {
        reported.withLockedValue { $0.insert(problem).inserted }
    }

    private func metadata(of row: RejectedRow) -> Logger.Metadata {
        let key = row.key.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
        return [LogKey.table: "\(row.table)", LogKey.rowKey: "\(key.prefix(200))"]
    }
}

extension Logger.MetadataValue {
    /// The value of ``LogKey/remedy`` where the query of a sync config gives its rows no id.
    package static let remedyOfMissingID: Logger.MetadataValue = """
        give the query an id, such as `a || '-' || b AS id`, or `user_id AS id` where each user has one row
        """
}
