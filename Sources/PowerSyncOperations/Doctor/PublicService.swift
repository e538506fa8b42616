import PowerSyncService
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import PowerSyncHTTP
import PowerSyncProtocol
package import PowerSyncServiceCore

/// A running service at the address that clients use, with every proxy that is between.
package struct PublicService: Sendable {
    /// The base address, without a slash at the end.
    let url: String
    /// Of a client; `nil` to do without a real stream.
    let token: String?
    /// The authorities whose certificates are trusted, PEM; `nil` for those of the system.
    let authorities: [NIOSSLCertificate]?

    /// Whether the certificate has to be for the address, and of an authority that is trusted.
    var checksCertificate = true
    /// How long to wait for an answer to a request.
    var patience = Self.timeout

    /// How long to wait for an answer.
    static let timeout = TimeAmount.seconds(15)
    /// The most that is kept of a body: 1 MiB.
    static let maximumBodySize = 1 << 20

    /// Creates the address of a service.
    ///
    /// - Parameters:
    ///   - address: `https://sync.example.com`, with a path if there is one.
    ///   - token: Of a client.
    ///   - authorityFile: A file with the certificates of authorities, PEM; `nil` for those of the system.
    /// - Throws: ``ServiceError`` that says what is wrong with the address or the file.
    package init(address: String, token: String?, authorityFile: String? = nil) throws(ServiceError) {
        // It is shown with what was found.
        guard !address.contains("@") else {
            throw ServiceError(
                .invalidConfiguration,
                "the address has a user or a password, which nobody asks for; leave them out: https://sync.example.com"
            )
        }
        guard let parsed = URL(string: address), ["https", "http"].contains(parsed.scheme?.lowercased()),
            parsed.host(percentEncoded: false)?.isEmpty == false
        else {
            throw ServiceError(.invalidConfiguration, "\(address) is not an address such as https://sync.example.com")
        }
        var url = address
        while url.hasSuffix("/") { url.removeLast() }
        self.url = url
        self.token = token
        guard let authorityFile else {
            authorities = nil
            return
        }
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(authorityFile), !certificates.isEmpty else {
            throw ServiceError(.invalidConfiguration, "has no certificate in PEM form", file: authorityFile)
        }
        authorities = certificates
    }

    /// How connections are encrypted.
    var tlsConfiguration: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let authorities { configuration.trustRoots = .certificates(authorities) }
        if !checksCertificate { configuration.certificateVerification = .none }
        return configuration
    }

    /// Sends requests for the duration of a closure.
    func withClient<Result>(_ body: (HTTPClient) async throws -> Result) async throws -> Result {
        var configuration = HTTPClient.Configuration(tlsConfiguration: tlsConfiguration)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.redirectConfiguration = .disallow
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        do {
            let result = try await body(client)
            try await client.shutdown()
            return result
        } catch {
            try await client.shutdown()
            throw error
        }
    }

    /// An answer with its whole body.
    struct Reply {
        var status: Int
        var date: String?
        /// Where the answer refers to instead.
        var redirect: HTTPRedirect?
        var body: String

        /// The code of an error envelope.
        var code: ErrorCode? { ErrorEnvelope(json: ByteBuffer(string: body))?.code }
    }

    /// Sends a request.
    func send(
        _ method: HTTPMethod,
        _ path: String,
        authorization: String? = nil,
        _ client: HTTPClient
    ) async throws -> Reply {
        let response = try await client.execute(request(method, path, authorization), timeout: patience)
        return Reply(
            status: Int(response.status.code),
            date: response.headers.clock,
            redirect: redirect(path, response.status, response.headers),
            body: String(buffer: try await response.body.collect(upTo: Self.maximumBodySize))
        )
    }

    /// Where an answer refers to instead.
    func redirect(_ path: String, _ status: HTTPResponseStatus, _ headers: HTTPHeaders) -> HTTPRedirect? {
        HTTPRedirect(status: Int(status.code), headers: headers, of: url + path)
    }

    func request(_ method: HTTPMethod, _ path: String, _ authorization: String? = nil) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: url + path)
        request.method = method
        if let authorization { request.headers.add(name: "Authorization", value: authorization) }
        if method == .POST {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: "{\"raw_data\":true}"))
        }
        return request
    }
}
