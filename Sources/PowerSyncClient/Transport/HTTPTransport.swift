import Foundation
import NIOCore
import NIOHTTP1
package import PowerSyncHTTP
package import PowerSyncProtocol

/// Reaches a sync service over HTTP (docs/client-sync.md "Connections").
///
/// Asks for BSON and accepts JSON lines, each compressed with gzip or not. Redirects are not followed: the token is
/// for the configured endpoint only. Timeouts are the caller's: a service may need long for its first line.
package struct HTTPTransport: SyncTransport {
    /// The most bytes of an error response that are read.
    private static let errorBodyLimit = 16 * 1024
    /// The most bytes of an error response that are shown: 1 KiB.
    private static let errorTextLimit = 1024
    /// The most characters of a `Via` header that are shown.
    private static let viaLimit = 100
    /// The most bytes of a write checkpoint response.
    private static let responseLimit = 64 * 1024

    private static let acceptedMediaTypes =
        "\(SyncLineFormat.bson.mediaType);q=0.9,\(SyncLineFormat.ndjson.mediaType);q=0.8"

    /// The name under which the SDK presents itself to the service, for example `powersync-swift/0.1.0 linux/6.1.0`: the product token, and the
    /// operating system with its version.
    package static let userAgent: String = {
        let system = ProcessInfo.processInfo.operatingSystemVersion
        return """
            powersync-swift/\(PackageVersion.current) \
            \(HTTPTransport.systemName)/\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)
            """
    }()

    private let client: PowerSyncHTTPClient

    /// Creates a transport.
    ///
    /// - Parameter client: Sends requests for which the credentials name no other.
    package init(client: PowerSyncHTTPClient) {
        self.client = client
    }

    /// The transport of the process.
    package static let shared = HTTPTransport(client: .standard)

    package nonisolated(nonsending) func openStream(
        _ request: StreamingSyncRequest,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> any SyncLineStream {
        let url = credentials.endpoint.url(path: "/sync/stream")
        let body = request.encodedJSON()
        var httpRequest = makeRequest(.POST, url: url, credentials: credentials)
        httpRequest.headers.add(name: "Content-Type", value: "application/json")
        httpRequest.headers.add(name: "Accept", value: HTTPTransport.acceptedMediaTypes)
        httpRequest.headers.add(name: "Accept-Encoding", value: "gzip")
        httpRequest.body = .bytes(body)
        httpRequest.purpose = .stream
        let response = try await execute(httpRequest, credentials, log: log, body: String(buffer: body))
        let mediaType = response.headers.first(name: "Content-Type") ?? ""
        guard let format = SyncLineFormat(mediaType: mediaType) else {
            throw SyncTransportError(
                .unexpectedResponse,
                message: "POST \(url) answered with the media type \"\(mediaType)\", which is not that of sync lines.",
                httpStatus: response.status
            )
        }
        let via = response.headers.first(name: "Via").map { String($0.prefix(HTTPTransport.viaLimit)) }
        return HTTPLineStream(
            body: response.body,
            format: format,
            url: url,
            via: via,
            log: log
        )
    }

    package func writeCheckpoint(
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        let url = credentials.endpoint.url(path: "/write-checkpoint2.json", query: ["client_id": clientID])
        // {"data":{"write_checkpoint":"7"}}
        return try await checkpoint(
            named: "write_checkpoint",
            of: makeRequest(.GET, url: url, credentials: credentials),
            credentials,
            body: nil,
            log: log
        )
    }

    package func requestCheckpoint(
        _ id: WriteCheckpoint,
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        let url = credentials.endpoint.url(path: "/sync/checkpoint-request")
        let body: ExactJSON = ["client_id": .string(clientID), "checkpoint_request_id": .string("\(id.rawValue)")]
        var request = makeRequest(.POST, url: url, credentials: credentials)
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: body.text))
        // {"data":{"checkpoint_request_id":"7"}}
        return try await checkpoint(named: "checkpoint_request_id", of: request, credentials, body: body.text, log: log)
    }

    /// Sends a request that is answered with a number.
    private func checkpoint(
        named name: String,
        of request: HTTPExchangeRequest,
        _ credentials: ServiceCredentials,
        body requestBody: String?,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        let response = try await execute(request, credentials, log: log, body: requestBody)
        let target = "\(request.method) \(request.url)"
        let body: ByteBuffer
        do {
            body = try await response.body.collect(upTo: HTTPTransport.responseLimit)
        } catch {
            try Task.checkCancellation()
            log.failed(error)
            throw SyncTransportError(
                .connection,
                message: "The response to \(target) could not be read",
                underlyingError: error
            )
        }
        log.responseBody(String(buffer: body))
        guard
            case .object(let envelope) = try? ExactJSON(parsing: body),
            case .object(let data)? = envelope["data"],
            case .string(let text)? = data[name],
            let checkpoint = WriteCheckpoint(decimal: text)
        else {
            throw SyncTransportError(
                .unexpectedResponse,
                message: "\(target) did not answer with a write checkpoint: \(HTTPTransport.shortened(body))",
                httpStatus: response.status
            )
        }
        return checkpoint
    }

    private func makeRequest(
        _ method: HTTPMethod,
        url: String,
        credentials: ServiceCredentials
    ) -> HTTPExchangeRequest {
        var request = HTTPExchangeRequest(method, url)
        for (name, value) in credentials.additionalHeaders {
            request.headers.add(name: name, value: value)
        }
        request.headers.add(name: "Authorization", value: "Token \(credentials.token)")
        request.headers.add(name: "User-Agent", value: HTTPTransport.userAgent)
        return request
    }

    /// Sends a request and checks the status.
    ///
    /// - Throws: ``SyncTransportError`` when there is no response or its status is not 200.
    private func execute(
        _ request: HTTPExchangeRequest,
        _ credentials: ServiceCredentials,
        log: SyncRequestLog,
        body: @autoclosure () -> String?
    ) async throws -> HTTPExchangeResponse {
        let target = "\(request.method) \(request.url)"
        log.requestWillStart(request.method.rawValue, url: request.url, headers: request.headers.pairs, body: body())
        let exchange = (credentials.httpClient ?? client).exchange(trusting: credentials.trustedAuthorities)
        let response: HTTPExchangeResponse
        do {
            response = try await exchange.send(request)
        } catch {
            try Task.checkCancellation()
            log.failed(error)
            throw SyncTransportError(connecting: target, error)
        }
        let status = response.status
        log.responseStarted(status: status, url: request.url, headers: response.headers.pairs)
        guard status == 200 else {
            let body = await response.body.beginning(HTTPTransport.errorBodyLimit)
            log.responseBody(String(buffer: body))
            let error = SyncTransportError(
                .status,
                message: "\(target) failed with status \(status): "
                    + HTTPTransport.explanation(of: response, to: request, body),
                httpStatus: status,
                serviceCode: HTTPTransport.serviceCode(in: body)
            )
            log.failed(error)
            throw error
        }
        return response
    }

    /// The code in an error envelope: `{"error":{"code":"PSYNC_S2101",…}}`.
    private static func serviceCode(in body: ByteBuffer) -> ErrorCode? {
        guard
            case .object(let envelope) = try? ExactJSON(parsing: body),
            case .object(let error)? = envelope["error"],
            case .string(let code)? = error["code"]
        else { return nil }
        return ErrorCode(rawValue: code)
    }

    /// Where the answer redirects to, what the service says, or else what a status without a word means and what can be done about it.
    private static func explanation(
        of response: HTTPExchangeResponse,
        to request: HTTPExchangeRequest,
        _ body: ByteBuffer
    ) -> String {
        if let redirect = HTTPRedirect(status: response.status, headers: response.headers, of: request.url) {
            return redirect.sentence
        }
        guard body.readableBytes == 0, let advice = SyncTransportError.advice(onStatus: response.status) else {
            return shortened(body)
        }
        return advice
    }

    private static func shortened(_ body: ByteBuffer) -> String {
        guard body.readableBytes > 0 else { return "(empty response)" }
        guard body.readableBytes > errorTextLimit else { return String(buffer: body) }
        return String(decoding: body.readableBytesView.prefix(errorTextLimit), as: UTF8.self) + "…"
    }
}

extension HTTPHeaders {
    /// Names and values, in order.
    fileprivate var pairs: some Sequence<(name: String, value: String)> {
        lazy.map { (name: $0.name, value: $0.value) }
    }
}

extension SyncLineFormat {
    /// The format that a `Content-Type` names; parameters and case do not matter.
    fileprivate init?(mediaType: String) {
        let name = mediaType.prefix { $0 != ";" }.trimmingSuffix(while: \.isWhitespace).lowercased()
        guard let format = [SyncLineFormat.bson, .ndjson].first(where: { $0.mediaType == name }) else { return nil }
        self = format
    }
}

extension Substring {
    fileprivate func trimmingSuffix(while predicate: (Character) -> Bool) -> Substring {
        var text = self
        while let last = text.last, predicate(last) { text.removeLast() }
        return text
    }
}
