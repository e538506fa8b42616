import AsyncHTTPClient
package import Foundation
import NIOCore
package import NIOHTTP1
import NIOHTTPCompression
import NIOPosix
import PowerSyncHTTP
import PowerSyncProtocol
import PowerSyncServiceCore
package import PowerSyncAuth

/// Fetches a key set over HTTP.
///
/// Each server on the way, those of redirects included, is looked up first, checked, and then asked at that very address: a name
/// could have another one a moment later.
package struct KeySetClient: Sendable {
    /// The longest time for a key set, redirects and the whole document included: 30 s.
    static let timeout = Duration.seconds(30)
    /// The longest time for a connection: shorter, so that the reason why there is none is what is told.
    private static let connectTimeout = TimeAmount.seconds(20)
    private static let maximumRedirects = 3
    /// The longest document, in bytes: 1 MiB.
    private static let maximumBytes = 1 << 20

    package let url: URL
    /// Where key sets must not come from.
    let rejectedAddresses: AddressRanges
    /// Whether servers with IPv6 are refused.
    let rejectsIPv6: Bool
    /// Whether to try again for the whole time when there is no connection.
    package var retriesConnecting = true
    /// Measures ``timeout``.
    var clock: any Clock<Duration> = ContinuousClock()

    /// Fetches the keys.
    ///
    /// - Returns: The keys for verifying, and those that are not used.
    /// - Throws: An ``AuthorizationError`` with the reason in its details; the keys are not in it.
    func keys() async throws(AuthorizationError) -> KeySetDocument {
        try await fetch().document
    }

    /// What a server has answered.
    package struct Fetched: Sendable {
        /// The keys.
        package let document: KeySetDocument
        /// When, by the server's clock; `nil` when it is not known.
        package let date: String?
    }

    /// Fetches the keys, and the time of the server.
    ///
    /// - Throws: As ``keys()``.
    package func fetch() async throws(AuthorizationError) -> Fetched {
        do {
            let document = try await documentInTime()
            return Fetched(document: try KeySetDocument(json: document.text), date: document.date)
        } catch let error as AuthorizationError {
            throw error
        } catch {
            throw .keySetRequest("\(url.shown): \(HTTPExchangeError.reason(error) ?? "\(error)")")
        }
    }

    private struct Document: Sendable {
        let text: String
        let date: String?
    }

    /// The document, if it is there in time.
    ///
    /// The HTTP client has a limit for the time until an answer begins, and one for the time in which nothing comes. With these
    /// alone, a server could send a byte every now and then for days, and the keys would not be asked for again meanwhile. A
    /// resolver that is asked for an address takes the time that it has been given, as it cannot be interrupted.
    private func documentInTime() async throws -> Document {
        try await withTimeout(
            Self.timeout,
            clock: clock,
            throwing: AuthorizationError.keySetRequest("\(url.shown): no complete answer within \(Self.timeout)")
        ) {
            try await document()
        }
    }

    private func document() async throws -> Document {
        var url = url
        for _ in 0...Self.maximumRedirects {
            switch try await ask(url) {
            case .document(let document): return document
            case .redirect(let location): url = try Self.target(of: location, from: url)
            }
        }
        throw AuthorizationError.keySetRequest("\(self.url.shown) redirects more than \(Self.maximumRedirects) times")
    }

    /// Where a redirect leads.
    ///
    /// - Throws: `PSYNC_S2204` when that is no URL, or one without encryption from one with: over http, a node in between could put in
    ///   a key, which is not what was configured.
    static func target(of location: String, from url: URL) throws(AuthorizationError) -> URL {
        guard let next = URL(string: location, relativeTo: url)?.absoluteURL else {
            throw .keySetRequest("\(url.shown) redirects to \"\(location)\", which is no URL")
        }
        guard url.scheme?.lowercased() != "https" || next.scheme?.lowercased() != "http" else {
            throw .keySetRequest("\(url.shown) redirects from https to http, to \(next.shown), which is not followed")
        }
        return next
    }

    private enum Answer {
        case document(Document)
        case redirect(String)
    }

    private func ask(_ url: URL) async throws -> Answer {
        guard let host = url.host(percentEncoded: false), ["https", "http"].contains(url.scheme?.lowercased()) else {
            throw AuthorizationError(
                .keySetHost,
                "JWKS request failed",
                logDetails: "\(url.shown) is not a URL with https or http"
            )
        }
        var configuration = HTTPClient.Configuration(
            timeout: .init(connect: Self.connectTimeout, read: TimeAmount(Self.timeout))
        )
        configuration.redirectConfiguration = .disallow
        configuration.connectionPool.retryConnectionEstablishment = retriesConnecting
        configuration.decompression = .enabled(limit: .size(Self.maximumBytes))
        if !rejectedAddresses.isEmpty || rejectsIPv6 {
            let address = try await address(of: host, in: url)
            configuration.dnsOverride = [host: address.ipAddress ?? host]
        }
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        do {
            let answer = try await ask(url, client)
            try await client.shutdown()
            return answer
        } catch {
            try await client.shutdown()
            throw error
        }
    }

    private func ask(_ url: URL, _ client: HTTPClient) async throws -> Answer {
        var request = HTTPClientRequest(url: url.absoluteString)
        request.headers.add(name: "Accept", value: "application/json")
        let response = try await client.execute(request, timeout: TimeAmount(Self.timeout))
        switch response.status.code {
        case 200..<300:
            let text = String(buffer: try await response.body.collect(upTo: Self.maximumBytes))
            return .document(Document(text: text, date: response.headers.clock))
        case 301, 302, 303, 307, 308:
            return .redirect(response.headers.first(name: "Location") ?? "")
        default:
            throw AuthorizationError(
                .keySetRequest,
                "JWKS request failed with \(response.status.reasonPhrase)",
                logDetails: "\(url.shown) answers with \(response.status.code)"
            )
        }
    }

    /// The address that a host has, if it may be asked.
    private func address(of host: String, in url: URL) async throws -> SocketAddress {
        // A URL has an IPv6 address in brackets.
        let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let port = url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80)
        let address = try await NIOThreadPool.singleton.runIfActive {
            try SocketAddress.makeAddressResolvingHost(name, port: port)
        }
        if rejectsIPv6, address.isIPv6 {
            throw AuthorizationError(
                .keySetAddressFamily,
                "JWKS request failed",
                logDetails: "\(host) has an address of IPv6, which client_auth.block_local_jwks refuses"
            )
        }
        guard !rejectedAddresses.contains(address) else {
            throw AuthorizationError(
                .keySetAddressRange,
                "JWKS request failed",
                logDetails: "\(host) has an address in a range that client_auth refuses"
            )
        }
        return address
    }
}

extension URL {
    /// Without what may be secret: a user with a password, and the query.
    fileprivate var shown: String {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "a URL" }
        (parts.user, parts.password, parts.query, parts.fragment) = (nil, nil, nil, nil)
        return parts.string ?? "a URL"
    }
}

extension HTTPHeaders {
    /// What the clock of the server says that has just answered; `nil` for an answer that a cache has kept.
    package var clock: String? {
        // A cache passes on the date at which it has got the answer, and says how long ago that was (RFC 9111, 5.1).
        contains(name: "Age") ? nil : first(name: "Date")
    }
}
