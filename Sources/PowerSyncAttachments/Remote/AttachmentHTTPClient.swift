import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncClient
package import PowerSyncHTTP

/// Sends the requests of attachments and checks what comes back.
///
/// Redirects are followed here and not by the exchange, for two reasons: headers of the app must not reach another host,
/// whatever their names are, and an upload must not turn into something else.
package struct AttachmentHTTPClient: Sendable {
    /// The most bytes of an error response that are shown: 1 KiB.
    private static let errorTextLimit = 1024
    /// The most bytes of a response without a file that are read: 64 KiB.
    static let responseLimit = 64 * 1024
    private static let redirectLimit = 5
    /// What another host may see.
    private static let harmlessHeaders = ["Accept-Encoding", "Range", "If-Range", "User-Agent", "Content-Type"]

    private let exchange: any HTTPExchange

    /// Creates a client.
    package init(_ client: PowerSyncHTTPClient) {
        exchange = client.exchange
    }

    /// Sends a request, and again where redirects lead.
    ///
    /// - Returns: The answer to the last request, with any other status than that of a redirect that can be followed.
    /// - Throws: ``AttachmentTransferError``, what the request's body throws, `CancellationError`
    func send(_ request: HTTPExchangeRequest) async throws -> AttachmentHTTPAnswer {
        let first = request
        var request = request
        var redirects = AttachmentRedirects()
        request.purpose = .file
        for (name, value) in exchange.additionalHeaders where !request.headers.contains(name: name) {
            request.headers.add(name: name, value: value)
        }
        for _ in 0...AttachmentHTTPClient.redirectLimit {
            let response = try await execute(request, first, redirects)
            guard let next = try redirect(response, of: request, &redirects) else {
                return (response, redirects)
            }
            request = next
        }
        throw AttachmentTransferError(
            .unexpectedResponse,
            message: "\(first.target) redirects in circles\(redirects.note)"
        )
    }

    /// The whole body of a response without a file.
    func body(
        of answer: AttachmentHTTPAnswer,
        to request: HTTPExchangeRequest,
        upTo limit: Int = responseLimit
    ) async throws -> ByteBuffer {
        do {
            return try await answer.response.body.collect(upTo: limit)
        } catch {
            throw try transferError(error, of: request, answer.redirects)
        }
    }

    /// The error that a status other than 200 to 299 means.
    func failure(
        _ code: AttachmentTransferError.Code,
        of request: HTTPExchangeRequest,
        _ answer: AttachmentHTTPAnswer
    ) async -> AttachmentTransferError {
        let response = answer.response
        let text = await response.body.beginning(AttachmentHTTPClient.errorTextLimit)
        return AttachmentTransferError(
            code,
            message: "\(request.target) failed with status \(response.status)\(answer.redirects.note)",
            httpStatus: response.status,
            responseText: String(
                decoding: text.readableBytesView.prefix(AttachmentHTTPClient.errorTextLimit),
                as: UTF8.self
            )
        )
    }

    /// The error of this module that an error of the exchange means.
    ///
    /// - Throws: `CancellationError` when the task has been cancelled.
    func transferError(
        _ error: any Error,
        of request: HTTPExchangeRequest,
        _ redirects: AttachmentRedirects
    ) throws -> any Error {
        try Task.checkCancellation()
        // Errors of the body are what they are.
        if error is PowerSyncAttachmentError || error is AttachmentTransferError { return error }
        let code: AttachmentTransferError.Code =
            switch (error as? HTTPExchangeError)?.code {
            case .timeout: .timeout
            case .malformedCompression: .unexpectedResponse
            default: .connection
            }
        return AttachmentTransferError(
            code,
            message: "\(request.target) failed\(redirects.note)",
            underlyingError: error
        )
    }

    private func execute(
        _ request: HTTPExchangeRequest,
        _ first: HTTPExchangeRequest,
        _ redirects: AttachmentRedirects
    ) async throws -> HTTPExchangeResponse {
        do {
            return try await exchange.send(request)
        } catch {
            throw try transferError(error, of: first, redirects)
        }
    }

    /// The request that a redirect asks for; `nil` when the response is none that may be followed.
    private func redirect(
        _ response: HTTPExchangeResponse,
        of request: HTTPExchangeRequest,
        _ redirects: inout AttachmentRedirects
    ) throws -> HTTPExchangeRequest? {
        guard [301, 302, 303, 307, 308].contains(response.status) else { return nil }
        let url = URL(string: request.url)
        let location = response.headers.first(name: "Location")
        let next = location.flatMap { URL(string: $0, relativeTo: url)?.absoluteURL }
        guard [307, 308].contains(response.status) || request.method == .GET else {
            redirects.refused(
                to: next,
                because: "only 307 and 308 keep the method \(request.method). Use the address that it leads to."
            )
            return nil
        }
        guard let next, let scheme = next.scheme?.lowercased(), ["http", "https"].contains(scheme) else {
            redirects.refused(to: next, because: "its Location is no http or https URL.")
            return nil
        }
        guard scheme == "https" || url?.scheme?.lowercased() == "http" else {
            redirects.refused(to: next, because: "http is not encrypted.")
            throw AttachmentTransferError(
                .unexpectedResponse,
                message: "\(request.target) redirects from https to http\(redirects.note)"
            )
        }
        let isOtherHost = next.origin != url?.origin
        redirects.followed(to: next, withholdingHeaders: isOtherHost)
        var result = request
        result.url = next.absoluteString
        if isOtherHost {
            let kept = request.headers.filter { header in
                AttachmentHTTPClient.harmlessHeaders.contains { $0.lowercased() == header.name.lowercased() }
            }
            result.headers = HTTPHeaders(kept.map { ($0.name, $0.value) })
        }
        return result
    }
}

extension HTTPExchangeRequest {
    /// Method and URL for messages, without the query, which holds signatures, and without user and password.
    var target: String {
        guard var components = URLComponents(string: url) else { return "\(method)" }
        components.query = nil
        components.fragment = nil
        components.user = nil
        components.password = nil
        return "\(method) \(components.string ?? "")"
    }
}

extension URL {
    /// Scheme, host and port: the receiver of a request.
    var origin: [String?] {
        let scheme = scheme?.lowercased()
        return [scheme, host()?.lowercased(), "\(port ?? (scheme == "https" ? 443 : 80))"]
    }
}
