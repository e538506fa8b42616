public import Foundation
import PowerSyncCore

/// An entry of the upload queue that something else than this SDK has written, or an older version of it, and that is not what
/// an entry should be.
///
/// Such an entry does not stop the queue. It comes to `uploadData(database:)` like any other, with what could be read: numbers
/// that JSON cannot hold are the texts `Infinity` and `-Infinity` or null; without a known operation, `op` is
/// `UpdateType.patch`; without table or id these are empty. The app decides: upload what is there, or take the entry out of
/// the queue and keep it for later.
///
/// ```swift
/// func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
///     while let transaction = try await database.getNextCrudTransaction() {
///         let damaged = transaction.crud.filter { $0.damage != nil }
///         try await backend.post(transaction.crud.filter { $0.damage == nil })
///         try await transaction.complete(
///             rejecting: damaged.map { UploadRejection($0, reason: $0.damage?.localizedDescription ?? "") }
///         )
///     }
/// }
/// ```
public struct DamagedCrudEntryError: LocalizedError, Sendable, Hashable {
    /// The position in the queue.
    public let clientId: Int64
    /// The text that is stored.
    ///
    /// It has data of the user; bytes that are not UTF-8 are U+FFFD.
    public let rawText: String
    /// What is wrong, in one sentence that names the entry and the member, without data of the user.
    public let reason: String

    /// The reason.
    public var errorDescription: String? { reason }

    init(clientId: Int64, _ damage: QueuedWrite.Damage) {
        self.clientId = clientId
        rawText = damage.rawText
        reason = damage.reason
    }
}

extension DamagedCrudEntryError: CustomStringConvertible {
    /// The reason, without data of the user.
    public var description: String { reason }
}
