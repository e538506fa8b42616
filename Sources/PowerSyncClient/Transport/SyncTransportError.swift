package import PowerSyncProtocol
import Foundation
import PowerSyncHTTP

/// Why a request to the sync service failed.
package struct SyncTransportError: Error, Sendable {
    /// The kinds of failures.
    package enum Code: Sendable, Equatable {
        /// The service could not be reached, or the connection broke.
        case connection
        /// Nothing arrived for the time in which the service sends at least a keepalive.
        case idle
        /// The service answered with an error: another status than 200, or an ERROR frame.
        case status
        /// The service refused a WebSocket connection before it looked at the request.
        case setupRejected
        /// The service answered with something that has no sync lines, or not the expected JSON.
        case unexpectedResponse
    }

    /// What kind of failure this is.
    package let code: Code
    /// What happened, with method and URL.
    ///
    /// Without tokens.
    package let message: String
    /// The HTTP status, when the service answered.
    package let httpStatus: Int?
    /// The code in the service's error body, for example `PSYNC_S2101`.
    package let serviceCode: ErrorCode?
    /// What caused it.
    package let underlyingError: (any Error)?

    /// Creates an error.
    package init(
        _ code: Code,
        message: String,
        httpStatus: Int? = nil,
        serviceCode: ErrorCode? = nil,
        underlyingError: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.httpStatus = httpStatus
        self.serviceCode = serviceCode
        self.underlyingError = underlyingError
    }

    /// Whether the token was refused, so that the next attempt needs a new one.
    ///
    /// That is also assumed of a WebSocket connection that was refused without a code.
    package var isUnauthorized: Bool {
        if httpStatus == 401 || serviceCode?.isTokenRejected == true { return true }
        return code == .setupRejected && serviceCode == nil
    }
}

extension SyncTransportError {
    /// Whether the service refuses a request because of its subscriptions: they have too many buckets, the body is too long, or they
    /// are too many.
    ///
    /// The last of these has no code of its own: it is an error of the parameters about the list of subscriptions, not about one of them.
    var refusesSubscriptions: Bool {
        if serviceCode == .bucketLimit || httpStatus == 413 { return true }
        let isAboutParameters = httpStatus == 400 || serviceCode == .generic
        return isAboutParameters
            && (message.contains("subscriptions: has ") || message.lowercased().contains("too many subscriptions"))
    }
}

extension SyncTransportError {
    /// What a status means, and what can be done about it, for an answer that says nothing else; `nil` for those that speak
    /// for themselves.
    static func advice(onStatus status: Int) -> String? {
        guard status == 429 else { return nil }
        return """
            The service, or a proxy in front of it, has as many connections or requests as it allows. The client tries \
            again by itself. If that does not help, raise the limit there, or have fewer clients connected at a time.
            """
    }
}

extension SyncTransportError: LocalizedError, CustomStringConvertible {
    /// The text that apps see.
    package var errorDescription: String? { description }

    /// The message and the cause.
    package var description: String {
        // What is wrong with a certificate is said by the message.
        guard let underlyingError, HTTPExchangeError.certificateProblem(underlyingError) == nil else { return message }
        return "\(message): \(underlyingError.lineOfText)"
    }
}
