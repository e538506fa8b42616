public import Foundation
import PowerSyncCore

/// Thrown by `uploadData` to say that the backend will never accept some local writes.
///
/// ```swift
/// func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
///     guard let transaction = try await database.getNextCrudTransaction() else { return }
///     do {
///         try await backend.apply(transaction.crud)
///     } catch let error as BackendError where error.isPermanent {
///         throw UploadRejectionError(reason: error.message)
///     }
///     try await transaction.complete()
/// }
/// ```
///
/// ``ConnectOptions/uploadRejectionPolicy`` says what becomes of the writes. Throw it only for what cannot succeed later;
/// any other error is tried again.
public struct UploadRejectionError: Error, Sendable {
    /// The rejected writes that the error names; empty when it is about the transaction at the head of the upload queue.
    public let rejections: [UploadRejection]
    /// Which writes are rejected, for the engine.
    let rejected: RejectedWrites.Rejection

    /// Rejects the transaction at the head of the upload queue, the one that
    /// ``PowerSyncDatabaseProtocol/getNextCrudTransaction()`` returns.
    ///
    /// - Parameter reason: Why it is not accepted, for the app to show.
    public init(reason: String) {
        rejections = []
        rejected = .head(reason: reason)
    }

    /// Rejects some writes of the upload queue, and nothing else: the others of their transactions stay in the queue, and are
    /// uploaded by the next call.
    ///
    /// - Parameter rejections: The writes, each with a reason. Those that have left the queue are ignored; when all have, the
    ///   error is an error like any other.
    public init(_ rejections: [UploadRejection]) {
        self.rejections = rejections
        rejected = .writes(
            reasons: Dictionary(rejections.map { ($0.entry.clientId, $0.reason) }, uniquingKeysWith: { $1 })
        )
    }
}

extension UploadRejectionError: LocalizedError, CustomStringConvertible {
    /// What was rejected and why, for people.
    public var errorDescription: String? { description }

    /// What was rejected and why.
    public var description: String {
        switch rejected {
        case .head(let reason):
            return "The backend rejects the next transaction of the upload queue: \(reason)"
        case .writes:
            let writes = rejections.map { "\($0.entry.op.rawValue) \($0.entry.table)/\($0.entry.id) (\($0.reason))" }
            return "The backend rejects local writes: \(writes.joined(separator: ", "))"
        }
    }
}
