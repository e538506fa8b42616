import Foundation
import HTTPStackTestSupport
import NIOCore
import NIOHTTP1
import NIOPosix
import PowerSyncHTTP
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// Redirects: no request of the client follows one, and each says where it leads.
@Suite(.onEachHTTPStack, .timeLimit(.minutes(1))) struct RedirectTests {
    /// The requests of a client.
    enum Request: String, CaseIterable, CustomTestStringConvertible {
        case stream, webSocket, writeCheckpoint, checkpointRequest, upload

        var testDescription: String { rawValue }

        /// Sends the request.
        ///
        /// - Returns: The message of the error.
        func send(to server: LoopbackServer) async throws -> String {
            do {
                let credentials = try server.credentials()
                let http = HTTPStack.current.transport
                switch self {
                case .stream:
                    _ = try await http.openStream(StreamingSyncRequest(), credentials: credentials, log: .disabled)
                case .webSocket:
                    let transport = WebSocketTransport(http: http, group: .singletonMultiThreadedEventLoopGroup)
                    _ = try await transport.openStream(
                        StreamingSyncRequest(),
                        credentials: credentials,
                        log: .disabled
                    )
                case .writeCheckpoint:
                    _ = try await http.writeCheckpoint(clientID: "c", credentials: credentials, log: .disabled)
                case .checkpointRequest:
                    _ = try await http.requestCheckpoint(
                        WriteCheckpoint(1),
                        clientID: "c",
                        credentials: credentials,
                        log: .disabled
                    )
                case .upload: try await upload(to: server)
                }
            } catch let error as SyncTransportError {
                #expect(error.code == .status)
                return error.message
            } catch let error as HTTPBackendError {
                #expect(error.code == .status)
                return error.message
            }
            return "no error"
        }

        private func upload(to server: LoopbackServer) async throws {
            let harness = SyncHarness()
            try await harness.insert("a")
            var options = HTTPBackendOptions()
            options.httpClient = HTTPStack.current.client
            let connector = try HTTPBackendConnector(uploadURL: "\(server.url)/upload", options: options) {
                PowerSyncCredentials(endpoint: server.url, token: "secret")
            }
            do {
                try await connector.uploadData(database: harness.database)
                try await harness.database.close()
            } catch {
                try await harness.database.close()
                throw error
            }
        }
    }

    @Test(arguments: Request.allCases, [301, 302, 303, 307, 308])
    func theTargetIsNamedAndNotAskedFor(_ request: Request, status: Int) async throws {
        let target = try await LoopbackServer { _ in .init(status: .ok) }
        try await LoopbackServer.run { _ in
            .init(
                status: HTTPResponseStatus(statusCode: status),
                headers: ["Location": "\(target.url)/login?next=private#part"],
                chunks: [ByteBuffer(string: "<html>moved</html>")]
            )
        } _: { server in
            let message = try await request.send(to: server)
            #expect(message.contains("status \(status)"))
            #expect(message.contains("It redirects to \(target.url), which is not followed"), "\(message)")
            #expect(!message.contains("private"))
            #expect(!message.contains("secret"))
            #expect(server.received.count == 1)
        }
        #expect(target.received.isEmpty)
        try await target.stop()
    }

    @Test(arguments: Request.allCases) func aRedirectWithoutATargetIsSaid(_ request: Request) async throws {
        try await LoopbackServer.run { _ in
            .init(status: .found)
        } _: { server in
            let message = try await request.send(to: server)
            #expect(message.contains("names no address"), "\(message)")
        }
    }
}

/// What a `Location` means.
@Suite struct HTTPRedirectTests {
    static let cases: [(location: String, target: String?)] = [
        ("https://sync.example.com/a?b=c", "https://sync.example.com"),
        ("https://user:password@sync.example.com:8443/", "https://sync.example.com:8443"),
        ("//other.example.com/x", "http://other.example.com"),
        ("/login?token=1", "http://127.0.0.1:8080"), ("login", "http://127.0.0.1:8080"),
        ("HTTPS://EXAMPLE.com", "https://EXAMPLE.com"), ("http://[::1]:80/", "http://[::1]:80"),
        ("javascript:alert(1)", nil), ("mailto:a@b.c", nil), ("https://", nil),
        ("https://\(String(repeating: "a", count: 400)).test", nil),
    ]

    @Test(arguments: cases) func itsTargetIsSchemeHostAndPort(location: String, target: String?) {
        let redirect = HTTPRedirect(
            status: 302,
            headers: ["Location": location],
            of: "http://127.0.0.1:8080/sync/stream?client_id=1"
        )
        #expect(redirect != nil)
        #expect(redirect?.target == target)
    }

    @Test(arguments: [200, 300, 304, 401, 500]) func anotherStatusIsNone(status: Int) {
        #expect(HTTPRedirect(status: status, headers: ["Location": "https://a.test"], of: "https://b.test") == nil)
    }
}
