public import Foundation

/// Why no request to a bucket could be made.
///
/// What the storage answers is an `AttachmentTransferError`.
public struct S3Error: Error, Sendable, LocalizedError {
    /// What is wrong.
    public let message: String

    /// The text for people.
    public var errorDescription: String? { message }
}

extension S3Error: CustomStringConvertible {
    /// The text for people.
    public var description: String { message }
}
