public import Foundation
import PowerSyncCore

/// A local write that the backend will never accept, and why.
public struct UploadRejection: Sendable {
    /// The write.
    public let entry: CrudEntry
    /// Why it is not accepted, for the app to show.
    public let reason: String

    /// Creates a rejection.
    ///
    /// - Parameters:
    ///   - entry: A write of the batch or transaction that is completed or uploaded.
    ///   - reason: Why it is not accepted.
    public init(_ entry: CrudEntry, reason: String) {
        self.entry = entry
        self.reason = reason
    }
}

/// A local write that was taken out of the upload queue because the backend will never accept it, or because it waits behind
/// such a write.
public struct RejectedWrite: Sendable, Identifiable {
    /// What keeps a write out of the upload queue.
    public struct Kind: Sendable, Hashable {
        private let kind: RejectedWrites.Kind

        init(_ kind: RejectedWrites.Kind) {
            self.kind = kind
        }

        /// It was rejected, and taken out alone: later writes of its row are uploaded.
        public static let skipped = Kind(.skipped)
        /// It was rejected, and later writes of its row wait behind it: ``UploadRejectionPolicy/park``.
        public static let parked = Kind(.parked)
        /// It was not rejected: it waits behind a parked write of its row.
        public static let waiting = Kind(.waiting)
    }

    /// The write.
    ///
    /// Its position and transaction are those that it had in the queue.
    public let entry: CrudEntry
    /// What keeps the write out of the queue.
    public let kind: Kind
    /// Why it was rejected; for a waiting write, why the one in front of it was.
    public let reason: String
    /// When it was rejected; for a waiting write, when the one in front of it was.
    public let rejectedAt: Date

    /// The position that the write had in the queue.
    public var id: Int64 { entry.clientId }
}

extension RejectedWrite {
    init(_ entry: RejectedWrites.Entry, _ kinds: ColumnKinds) {
        self.init(
            entry: CrudEntry(entry.write, kinds),
            kind: Kind(entry.kind),
            reason: entry.reason,
            rejectedAt: Date(entry.rejectedAt)
        )
    }
}

extension RejectedWrite.Kind: CustomStringConvertible {
    /// `skipped`, `parked` or `waiting`.
    public var description: String { "\(kind)" }
}

extension UploadRejection: CustomStringConvertible {
    /// The write and the reason, in a line; without values.
    public var description: String { "\(entry): \(reason)" }
}

extension RejectedWrite: CustomStringConvertible {
    /// The write, what became of it, and the reason, in a line; without values.
    public var description: String { "\(entry), \(kind): \(reason)" }
}
