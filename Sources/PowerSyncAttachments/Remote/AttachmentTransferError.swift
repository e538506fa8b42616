public import Foundation
import PowerSyncClient

/// Why a transfer over HTTP failed.
///
/// A file that the storage does not have is ``AttachmentStorageError/notFound`` instead, a local file that cannot be read or written
/// a ``PowerSyncAttachmentError``.
public struct AttachmentTransferError: Error, Sendable {
    /// The kinds of failures.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: Sendable {
            case connection, timeout, status, backend, unexpectedResponse, sizeMismatch, digestMismatch, inProgress
        }

        private let value: Value

        /// The storage could not be reached, or the connection broke before the end.
        public static let connection = Code(value: .connection)
        /// Nothing was sent or received for too long.
        public static let timeout = Code(value: .timeout)
        /// The storage answered with a status other than 200 to 299.
        public static let status = Code(value: .status)
        /// The app's backend gave no signed URL.
        public static let backend = Code(value: .backend)
        /// The storage answered with something that does not fit the request, for example with another part of the file.
        public static let unexpectedResponse = Code(value: .unexpectedResponse)
        /// The file does not have the size that was announced.
        public static let sizeMismatch = Code(value: .sizeMismatch)
        /// The file does not have the SHA-256 digest that was announced.
        public static let digestMismatch = Code(value: .digestMismatch)
        /// Another download of the file is going on, or has just ended, in this process or in another one.
        public static let inProgress = Code(value: .inProgress)

        /// The name of the code.
        public var description: String { "\(value)" }
    }

    /// What kind of failure this is.
    public let code: Code
    /// What happened, with method and URL; without the URL's query, which holds the signature.
    public let message: String
    /// The HTTP status, when there was an answer.
    public let httpStatus: Int?
    /// The beginning of the answer's body, when it tells of an error.
    public let responseText: String?
    /// What caused it.
    public let underlyingError: (any Error)?

    /// Creates an error.
    package init(
        _ code: Code,
        message: String,
        httpStatus: Int? = nil,
        responseText: String? = nil,
        underlyingError: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.httpStatus = httpStatus
        self.responseText = responseText
        self.underlyingError = underlyingError
    }

    /// Whether the same transfer may succeed later, without a change of anything.
    ///
    /// That is so for broken connections, timeouts, overloaded servers (408, 425, 429 and 5xx), damaged files and a download that
    /// is in the way; not for a request that the storage refused.
    public var isRetriable: Bool {
        guard let httpStatus, code == .status || code == .backend else { return code != .unexpectedResponse }
        return [408, 425, 429].contains(httpStatus) || httpStatus >= 500
    }
}

extension AttachmentTransferError: LocalizedError, CustomStringConvertible {
    /// The text for people.
    public var errorDescription: String? { description }

    /// The message, the answer and the cause.
    public var description: String {
        var text = message
        if let responseText, !responseText.isEmpty { text += ": \(responseText)" }
        if let underlyingError { text += ": \(underlyingError.lineOfText)" }
        return text
    }
}
