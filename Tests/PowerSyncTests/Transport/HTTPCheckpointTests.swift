import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncProtocol
import Testing

@testable import PowerSync

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The calls of the HTTP transport that ask for checkpoints.
@Suite(.timeLimit(.minutes(1))) struct HTTPCheckpointTests {
    @Test func writeCheckpointIsRead() async throws {
        try await LoopbackServer.run { _ in
            .init(
                headers: ["Content-Type": "application/json"],
                chunks: ByteBuffer(string: #"{"data":{"write_checkpoint":"9007199254740993"}}"#).chunks(of: 9)
            )
        } _: { server in
            let checkpoint = try await HTTPTransport.shared.writeCheckpoint(
                clientID: "a b",
                credentials: try server.credentials(path: "/p/"),
                log: .disabled
            )
            #expect(checkpoint == WriteCheckpoint(9_007_199_254_740_993))
            let request = try #require(server.received.first)
            #expect(request.head.method == .GET)
            #expect(request.head.uri == "/p/write-checkpoint2.json?client_id=a%20b")
            #expect(request.header("Authorization") == "Token secret")
        }
    }

    @Test(arguments: ["", "{}", #"{"data":{"write_checkpoint":7}}"#, #"{"data":{"write_checkpoint":"-1"}}"#])
    func responseWithoutAWriteCheckpointIsAnError(body: String) async throws {
        try await LoopbackServer.run { _ in
            .init(chunks: [ByteBuffer(string: body)])
        } _: { server in
            let error = await #expect(throws: SyncTransportError.self) {
                _ = try await HTTPTransport.shared.writeCheckpoint(
                    clientID: "c",
                    credentials: try server.credentials(),
                    log: .disabled
                )
            }
            #expect(error?.code == .unexpectedResponse)
        }
    }

    @Test("Headers of the app go with each request, except for those that the client sets")
    func additionalHeadersAreSent() async throws {
        let configuration = URLSessionConfiguration.default
        configuration.httpAdditionalHeaders = ["X-Tenant": "north", "authorization": "Basic app"]
        let settings = SyncClientConfiguration(urlSession: URLSession(configuration: configuration))
        #expect(settings.additionalHeaders == ["X-Tenant": "north"])
        try await LoopbackServer.run { _ in
            .init(chunks: [ByteBuffer(string: #"{"data":{"write_checkpoint":"1"}}"#)])
        } _: { server in
            var credentials = try server.credentials()
            credentials.additionalHeaders = settings.additionalHeaders
            _ = try await HTTPTransport.shared.writeCheckpoint(
                clientID: "c",
                credentials: credentials,
                log: .disabled
            )
            let request = try #require(server.received.first)
            #expect(request.header("X-Tenant") == "north")
            #expect(request.header("Authorization") == "Token secret")
        }
    }

    @Test func checkpointIsRequested() async throws {
        try await LoopbackServer.run { _ in
            .init(
                headers: ["Content-Type": "application/json"],
                chunks: [ByteBuffer(string: #"{"data":{"checkpoint_request_id":"43"}}"#)]
            )
        } _: { server in
            let checkpoint = try await HTTPTransport.shared.requestCheckpoint(
                WriteCheckpoint(42),
                clientID: "c1",
                credentials: try server.credentials(path: "/p/"),
                log: .disabled
            )
            #expect(checkpoint == WriteCheckpoint(43))
            let request = try #require(server.received.first)
            #expect(request.head.method == .POST)
            #expect(request.head.uri == "/p/sync/checkpoint-request")
            #expect(request.header("Authorization") == "Token secret")
            #expect(String(buffer: request.body) == #"{"client_id":"c1","checkpoint_request_id":"42"}"#)
        }
    }
}
