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
///
/// A backend that makes write checkpoints itself gives a rejection one, too; there may be nothing else in the queue that would get one:
///
/// ```swift
/// throw UploadRejectionError(reason: answer.message, writeCheckpoint: answer.writeCheckpoint)  // "17"
/// ```
public struct UploadRejectionError: Error, Sendable {
    /// The rejected writes that the error names; empty when it is about the transaction at the head of the upload queue.
    public let rejections: [UploadRejection]
    /// A write checkpoint that the app's own backend made, as decimal digits.
    ///
    /// It counts when the rejected writes leave the queue (``UploadRejectionPolicy/skip``, ``UploadRejectionPolicy/park``) and it is empty
    /// afterwards, as the one of ``CrudTransaction/complete(writeCheckpoint:)`` does. With a text that is no number, the writes stay in the
    /// queue, and are tried again.
    public let writeCheckpoint: String?
    /// Which writes are rejected, for the engine.
    let rejected: RejectedWrites.Rejection

    /// Rejects the transaction at the head of the upload queue, the one that
    /// ``PowerSyncDatabaseProtocol/getNextCrudTransaction()`` returns.
    ///
    /// - Parameters:
    ///   - reason: Why it is not accepted, for the app to show.
    ///   - writeCheckpoint: A write checkpoint that the app's own backend made, as decimal digits; `nil` when the service makes them.
    public init(reason: String, writeCheckpoint: String? = nil) {
        rejections = []
        self.writeCheckpoint = writeCheckpoint
        rejected = .head(reason: reason)
    }

    /// Rejects some writes of the upload queue, and nothing else: the others of their transactions stay in the queue, and are
    /// uploaded by the next call.
    ///
    /// - Parameters:
    ///   - rejections: The writes, each with a reason. Those that have left the queue are ignored; when all have, the error is an error
    ///     like any other.
    ///   - writeCheckpoint: A write checkpoint that the app's own backend made, as decimal digits; `nil` when the service makes them.
    public init(_ rejections: [UploadRejection], writeCheckpoint: String? = nil) {
        self.rejections = rejections
        self.writeCheckpoint = writeCheckpoint
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
