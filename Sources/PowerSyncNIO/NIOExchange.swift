package import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
package import NIOSSL
package import PowerSyncHTTP

/// Sends HTTP requests with SwiftNIO.
package final class NIOExchange: HTTPExchange {
    /// The exchange of the process, which lives as long as the process.
    package static let shared = NIOExchange(
        calls: CallClients { HTTPClient(configuration: callConfiguration) },
        files: HTTPClient(configuration: fileConfiguration()),
        tlsConfiguration: nil
    )

    /// The content codings that are restored.
    private static let decompressed: Set = ["gzip", "deflate"]

    /// How long opening a connection may take.
    private static let connectTimeout = TimeAmount.seconds(30)

    package let additionalHeaders: [String: String] = [:]
    private let calls: CallClients
    private let files: HTTPClient
    private let tlsConfiguration: TLSConfiguration?

    /// Creates an exchange on clients that somebody else shuts down.
    ///
    /// - Parameters:
    ///   - calls: For calls and streams, with ``callConfiguration``.
    ///   - files: For files, with ``fileConfiguration(idleTimeout:)``.
    ///   - tlsConfiguration: Names the authorities for certificates; `nil` for those that the system trusts.
    package convenience init(calls: HTTPClient, files: HTTPClient, tlsConfiguration: TLSConfiguration? = nil) {
        self.init(calls: CallClients(only: calls), files: files, tlsConfiguration: tlsConfiguration)
    }

    private init(calls: CallClients, files: HTTPClient, tlsConfiguration: TLSConfiguration?) {
        self.calls = calls
        self.files = files
        self.tlsConfiguration = tlsConfiguration
    }

    package func trusting(_ configuration: TLSConfiguration) -> (any HTTPExchange)? {
        NIOExchange(calls: calls, files: files, tlsConfiguration: configuration)
    }

    /// What calls and streams rely on.
    package static var callConfiguration: HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: HTTPClient.Configuration.Timeout(connect: connectTimeout),
            // The client would restore each read from the socket as a whole, before back-pressure can do anything, and could only
            // limit a body as a whole, which has no end; see `InflatedBody`.
            decompression: .disabled
        )
        // A refused connection is an error at once; the sync client has its own way of trying again.
        configuration.connectionPool.retryConnectionEstablishment = false
        // A connection of its own for each stream and request: who gives a silent one up closes it, and the next attempt
        // does not go the same broken way. One of HTTP/2 would be shared, and would stay.
        configuration.httpVersion = .http1Only
        // The longer a connection has been idle, the more likely it broke unnoticed, and the next request waits in vain.
        configuration.connectionPool.idleTimeout = .seconds(3)
        // Streams occupy connections for hours; the next database must not queue behind those of others, however many there are.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = .max
        return configuration
    }

    /// What files rely on.
    ///
    /// - Parameter idleTimeout: How long nothing of a file may be sent or received.
    /// - Returns: The configuration.
    package static func fileConfiguration(
        idleTimeout: Duration = HTTPExchangeRequest.fileIdleTimeout
    ) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: connectTimeout),
            // A bitmap may become more than 100 times as small; what a file may become is limited where it is written.
            decompression: .enabled(limit: .none)
        )
        // A refused connection is reported at once: the queue waits and tries again by itself.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.limitSilence(to: TimeAmount(idleTimeout))
        // A connection in the pool is silent, too. It has to go before that counts as an error, or else a request that gets it at
        // that moment fails with it.
        configuration.connectionPool.idleTimeout = TimeAmount(idleTimeout / 2)
        return configuration
    }

    package func send(_ request: HTTPExchangeRequest) async throws -> HTTPExchangeResponse {
        // What the client says of a header that it does not send has the header in it.
        _ = try request.destination
        var clientRequest = HTTPClientRequest(url: request.url)
        clientRequest.method = request.method
        clientRequest.headers = request.headers
        clientRequest.tlsConfiguration = tlsConfiguration
        switch request.body {
        case .none: break
        case .bytes(let bytes): clientRequest.body = .bytes(bytes)
        case .file(let file): clientRequest.body = .stream(FileChunks(file: file), length: .known(file.size))
        }
        let calls = request.purpose == .file ? nil : self.calls.current
        do {
            let response = try await (calls?.http ?? files).execute(clientRequest, deadline: .distantFuture)
            let body = NIOExchangeBody(response.body, of: calls)
            let coding = response.headers[canonicalForm: "Content-Encoding"].first?.lowercased()
            // The client of files restores them itself.
            let isCompressed = request.purpose != .file && coding.map { Self.decompressed.contains($0) } ?? false
            return HTTPExchangeResponse(
                status: Int(response.status.code),
                headers: response.headers,
                decompressed: Self.decompressed,
                body: isCompressed ? InflatedBody(body) : body
            )
        } catch {
            if Task.isCancelled, let calls { self.calls.gaveUp(on: calls) }
            throw try HTTPExchangeError.classified(error)
        }
    }
}

/// The body of an answer; the client reads ahead one chunk.
private final class NIOExchangeBody: HTTPExchangeBody {
    private var chunks: HTTPClientResponse.Body.AsyncIterator?
    /// Held until the body has been read or dropped.
    private let client: CallClients.Client?

    init(_ body: HTTPClientResponse.Body, of client: CallClients.Client?) {
        chunks = body.makeAsyncIterator()
        self.client = client
    }

    nonisolated(nonsending) func next() async throws -> ByteBuffer? {
        // Moved out while it changes.
        guard var chunks else { return nil }
        self.chunks = nil
        do {
            let chunk = try await chunks.next(isolation: #isolation)
            // A cancelled answer ends like a finished one.
            if chunk == nil { try Task.checkCancellation() } else { self.chunks = chunks }
            return chunk
        } catch {
            throw try HTTPExchangeError.classified(error)
        }
    }
}

extension HTTPExchangeError {
    private static let timeouts: [HTTPClientError] = [.readTimeout, .writeTimeout, .connectTimeout, .deadlineExceeded]

    /// What an error of the HTTP client means.
    ///
    /// - Throws: `CancellationError` when the task has been cancelled.
    fileprivate static func classified(_ error: any Error) throws -> any Error {
        try Task.checkCancellation()
        return switch error {
        case let error as FileChunks.ReadError: error.cause
        case let error as HTTPClientError where error == .remoteConnectionClosed:
            HTTPExchangeError(.closedEarly)
        case HTTPParserError.invalidEOFState: HTTPExchangeError(.closedEarly)
        case NIOHTTPDecompression.DecompressionError.inflationError: malformedCompression(error)
        case let error as NIOHTTPDecompression.ExtraDecompressionError where error == .invalidTrailingData:
            malformedCompression(error)
        case let error as HTTPClientError where timeouts.contains(error):
            HTTPExchangeError(.timeout)
        default: HTTPExchangeError(certificateProblem(error) ?? .connection, underlyingError: error)
        }
    }

    private static func malformedCompression(_ error: any Error) -> HTTPExchangeError {
        HTTPExchangeError(.malformedCompression, underlyingError: error)
    }
}
