import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import PowerSyncHTTP
package import PowerSyncProtocol

/// Questions to a running service, over its admin API.
package struct AdminRequest: Sendable {
    /// The base address of the service, without a slash at the end.
    package let address: String
    /// One of `api.tokens`.
    private let token: String
    /// Whether the address is one of this machine, whose certificate is for another name.
    private let isLocal: Bool

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - address: The base address of the service, without a slash at the end.
    ///   - token: One of `api.tokens`.
    ///   - isLocal: Whether the address is one of this machine, so that the certificate is not checked.
    package init(address: String, token: String, isLocal: Bool) {
        self.address = address
        self.token = token
        self.isLocal = isLocal
    }

    /// Why a service does not answer, for people.
    ///
    /// - Parameter error: An error of a connection.
    /// - Returns: The end of a sentence: `the connection was refused`.
    package static func reason(_ error: any Error) -> String {
        let client = (error as? HTTPClientError)?.shortDescription
        return HTTPExchangeError.reason(error) ?? client.map { $0.prefix(1).lowercased() + $0.dropFirst() }
            ?? "\(error)"
    }

    /// Asks what the service replicates, how far it is, and who is connected.
    ///
    /// - Returns: The `data` of `/api/admin/v1/diagnostics`.
    /// - Throws: ``UnexpectedAnswer`` for an answer without diagnostics, or an error of the connection.
    package func diagnostics() async throws -> JSONObject {
        try await post("/api/admin/v1/diagnostics", expecting: "the diagnostics")
    }

    /// Asks what deploying a sync config would do; nothing is deployed.
    ///
    /// - Parameter text: The sync config.
    /// - Returns: The `data` of `/api/sync-rules/v1/deploy?dry_run=true`.
    /// - Throws: ``UnexpectedAnswer``, also for a config that the service refuses, or an error of the connection.
    package func deployment(of text: String) async throws -> JSONObject {
        try await post("/api/sync-rules/v1/deploy?dry_run=true", yaml: text, expecting: "what a deployment does")
    }

    private func post(_ path: String, yaml: String? = nil, expecting wanted: String) async throws -> JSONObject {
        var request = HTTPClientRequest(url: address + path)
        request.method = .POST
        request.headers.add(name: "Authorization", value: "Token \(token)")
        if let yaml {
            request.headers.add(name: "Content-Type", value: "application/yaml")
            request.body = .bytes(ByteBuffer(string: yaml))
        }
        // A service that is not there is told at once, not after 30 seconds of attempts.
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        if isLocal {
            // The certificate is for the public name. Over plain HTTP, nobody would have checked who has the port, either.
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.certificateVerification = .none
            configuration.tlsConfiguration = tls
        }
        let client = HTTPClient(configuration: configuration)
        let response: HTTPClientResponse
        let body: ByteBuffer
        do {
            response = try await client.execute(request, timeout: .seconds(30))
            body = try await response.body.collect(upTo: 16 * 1024 * 1024)
        } catch {
            try await client.shutdown()
            throw error
        }
        try await client.shutdown()
        guard response.status == .ok else {
            throw UnexpectedAnswer(status: Int(response.status.code), body: String(buffer: body), insteadOf: wanted)
        }
        guard case .object(let answer)? = try? ExactJSON(parsing: body), case .object(let data) = answer["data"] else {
            throw UnexpectedAnswer(description: "something else answers there, not a sync service")
        }
        return data
    }

    /// The service answers, but not with what was asked for.
    package struct UnexpectedAnswer: Error {
        /// What it has answered.
        package let description: String
    }
}

extension AdminRequest.UnexpectedAnswer {
    /// An answer with another status than 200, and what it says about the reason.
    init(status: Int, body: String, insteadOf wanted: String) {
        guard status != 401 else {
            description = "the token is not one of api.tokens"
            return
        }
        var parts = ["status \(status) instead of \(wanted)"]
        if let error = ErrorEnvelope(json: ByteBuffer(string: body)) {
            parts += ["[\(error.code.rawValue)] \(error.description)"] + [error.details].compactMap(\.self)
        }
        description = parts.joined(separator: ": ").printable
    }
}
