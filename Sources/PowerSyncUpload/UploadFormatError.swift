public import Foundation

/// Bytes are not what is uploaded, or not the answer to it.
///
/// ```swift
/// do {
///     request = try UploadRequest(json: body)
/// } catch {
///     return .badRequest(error.message)  // data[3]: id must be a string
/// }
/// ```
public struct UploadFormatError: Error, LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, and where.
    ///
    /// Without values of columns.
    public let message: String

    /// The message.
    public var description: String { message }

    /// The message.
    public var errorDescription: String? { message }

    package init(_ message: String) {
        self.message = message
    }
}
