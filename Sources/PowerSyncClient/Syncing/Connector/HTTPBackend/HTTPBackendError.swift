public import Foundation

/// Why an ``HTTPBackendConnector`` could not upload.
///
/// It is in ``SyncStatusData/uploadError`` until an upload succeeds. All of them are tried again.
///
/// ```swift
/// if let error = database.currentStatus.uploadError as? HTTPBackendError, error.code == .unauthorized {
///     showSignIn()
/// }
/// ```
public struct HTTPBackendError: Error, Sendable {
    /// The kinds of failures.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case connection, timeout, unauthorized, status, unexpectedResponse, noProgress, later
        }

        private let value: Value

        /// The backend could not be reached, or the connection broke.
        public static let connection = Code(value: .connection)
        /// The backend did not answer in time.
        public static let timeout = Code(value: .timeout)
        /// The backend refused new credentials too, or no user is signed in.
        public static let unauthorized = Code(value: .unauthorized)
        /// The backend answered with a status that says that something is wrong with it or with the whole request.
        public static let status = Code(value: .status)
        /// What the backend answered is not an `UploadResponse` to what it was sent.
        public static let unexpectedResponse = Code(value: .unexpectedResponse)
        /// The backend answered without having applied or rejected anything.
        public static let noProgress = Code(value: .noProgress)
        /// The backend wants a write again later.
        public static let later = Code(value: .later)

        /// The name of the code.
        public var description: String { value.rawValue }
    }

    /// What kind of failure this is.
    public let code: Code
    /// What happened, with the address of the backend and without values of rows.
    public let message: String
    /// The HTTP status, when the backend answered.
    public let httpStatus: Int?
    /// For how many seconds the backend wants to be left alone.
    public let retryAfter: TimeInterval?
    /// What caused it.
    public let underlyingError: (any Error)?

    init(
        _ code: Code,
        _ message: String,
        httpStatus: Int? = nil,
        retryAfter: TimeInterval? = nil,
        underlyingError: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.httpStatus = httpStatus
        self.retryAfter = retryAfter
        self.underlyingError = underlyingError
    }
}

extension HTTPBackendError: LocalizedError, CustomStringConvertible {
    /// The message and the cause.
    public var errorDescription: String? { description }

    /// The message and the cause.
    public var description: String {
        guard let underlyingError else { return message }
        return "\(message): \(underlyingError.lineOfText)"
    }
}
