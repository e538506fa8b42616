import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Sends the requests of attachments and checks what comes back.
///
/// Redirects are followed here and not by the HTTP client, for two reasons: headers of the app must not reach another host,
/// whatever their names are, and an upload must not turn into something else.
struct AttachmentHTTPClient: Sendable {
    /// How long nothing may be sent or received.
    static let idleTimeout = TimeAmount.seconds(60)
    /// The most bytes of an error response that are shown: 1 KiB.
    private static let errorTextLimit = 1024
    /// The most bytes of a response without a file that are read.
    private static let responseLimit = 64 * 1024
    private static let redirectLimit = 5
    /// What another host may see.
    private static let harmlessHeaders = ["Accept-Encoding", "Range", "If-Range", "User-Agent", "Content-Type"]

    private let client: HTTPClient

    /// Creates a client.
    ///
    /// - Parameter client: Must not follow redirects, and must not decompress: files arrive as they are stored.
    init(client: HTTPClient) {
        self.client = client
    }

    /// The client of the process, which lives as long.
    static let shared = AttachmentHTTPClient(client: HTTPClient(configuration: configuration))

    /// The settings that this type relies on.
    static var configuration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(30), read: idleTimeout, write: idleTimeout),
            decompression: .disabled
        )
        // A refused connection is reported at once: the queue waits and tries again by itself.
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }

    /// Sends a request, and again where redirects lead.
    ///
    /// - Returns: The response to the last request, with any other status than that of a redirect that can be followed.
    /// - Throws: ``AttachmentTransferError``, what the request's body throws, `CancellationError`
    func send(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        var request = request
        for _ in 0...AttachmentHTTPClient.redirectLimit {
            let response = try await execute(request)
            guard let next = try redirect(response, of: request) else { return response }
            request = next
        }
        throw AttachmentTransferError(.unexpectedResponse, message: "\(request.target) redirects in circles")
    }

    /// The whole body of a response without a file.
    func body(of response: HTTPClientResponse, to request: HTTPClientRequest) async throws -> ByteBuffer {
        do {
            return try await response.body.collect(upTo: AttachmentHTTPClient.responseLimit)
        } catch {
            throw try transferError(error, of: request)
        }
    }

    /// The error that a status other than 200 to 299 means.
    func failure(
        _ code: AttachmentTransferError.Code,
        of request: HTTPClientRequest,
        _ response: HTTPClientResponse
    ) async -> AttachmentTransferError {
        var text = ByteBuffer()
        do {
            for try await chunk in response.body {
                text.writeImmutableBuffer(chunk)
                if text.readableBytes >= AttachmentHTTPClient.errorTextLimit { break }
            }
        } catch {
            // The status is what counts.
        }
        return AttachmentTransferError(
            code,
            message: "\(request.target) failed with status \(response.status.code)",
            httpStatus: Int(response.status.code),
            responseText: String(
                decoding: text.readableBytesView.prefix(AttachmentHTTPClient.errorTextLimit),
                as: UTF8.self
            )
        )
    }

    /// The error of this module that an error of the HTTP client means.
    ///
    /// - Throws: `CancellationError` when the task has been cancelled.
    func transferError(_ error: any Error, of request: HTTPClientRequest) throws -> any Error {
        try Task.checkCancellation()
        // Errors of the body are what they are.
        if error is PowerSyncAttachmentError || error is AttachmentTransferError { return error }
        let timeouts: [HTTPClientError] = [.readTimeout, .writeTimeout, .connectTimeout, .deadlineExceeded]
        let isTimeout = (error as? HTTPClientError).map(timeouts.contains) ?? false
        return AttachmentTransferError(
            isTimeout ? .timeout : .connection,
            message: "\(request.target) failed",
            underlyingError: error
        )
    }

    private func execute(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        do {
            return try await client.execute(request, deadline: .distantFuture)
        } catch {
            throw try transferError(error, of: request)
        }
    }

    /// The request that a redirect asks for; `nil` when the response is none that may be followed.
    private func redirect(
        _ response: HTTPClientResponse,
        of request: HTTPClientRequest
    ) throws -> HTTPClientRequest? {
        let keepsMethod = [307, 308].contains(response.status.code)
        guard keepsMethod || (request.method == .GET && [301, 302, 303].contains(response.status.code)) else {
            return nil
        }
        guard
            let location = response.headers.first(name: "Location"),
            let url = URL(string: request.url),
            let next = URL(string: location, relativeTo: url)?.absoluteURL,
            let scheme = next.scheme?.lowercased(), ["http", "https"].contains(scheme)
        else { return nil }
        guard scheme == "https" || url.scheme?.lowercased() == "http" else {
            throw AttachmentTransferError(
                .unexpectedResponse,
                message: "\(request.target) redirects from https to http, which is not followed"
            )
        }
        var result = request
        result.url = next.absoluteString
        if next.origin != url.origin {
            let kept = request.headers.filter { header in
                AttachmentHTTPClient.harmlessHeaders.contains { $0.lowercased() == header.name.lowercased() }
            }
            result.headers = HTTPHeaders(kept.map { ($0.name, $0.value) })
        }
        return result
    }
}

extension HTTPClientRequest {
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
    fileprivate var origin: [String?] {
        let scheme = scheme?.lowercased()
        return [scheme, host()?.lowercased(), "\(port ?? (scheme == "https" ? 443 : 80))"]
    }
}
