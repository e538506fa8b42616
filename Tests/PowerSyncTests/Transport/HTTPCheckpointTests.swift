import Foundation
import HTTPStackTestSupport
import NIOCore
import NIOHTTP1
import PowerSyncProtocol
import Testing

@testable import PowerSyncClient

/// The calls of the HTTP transport that ask for checkpoints.
@Suite(.timeLimit(.minutes(1))) struct HTTPCheckpointTests {
    @Test(arguments: HTTPStack.allCases) func writeCheckpointIsRead(_ stack: HTTPStack) async throws {
        try await LoopbackServer.run { _ in
            .init(
                headers: ["Content-Type": "application/json"],
                chunks: ByteBuffer(string: #"{"data":{"write_checkpoint":"9007199254740993"}}"#).chunks(of: 9)
            )
        } _: { server in
            let checkpoint = try await stack.transport.writeCheckpoint(
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

    @Test(
        arguments: HTTPStack.allCases,
        ["", "{}", #"{"data":{"write_checkpoint":7}}"#, #"{"data":{"write_checkpoint":"-1"}}"#]
    )
    func responseWithoutAWriteCheckpointIsAnError(_ stack: HTTPStack, body: String) async throws {
        try await LoopbackServer.run { _ in
            .init(chunks: [ByteBuffer(string: body)])
        } _: { server in
            let error = await #expect(throws: SyncTransportError.self) {
                _ = try await stack.transport.writeCheckpoint(
                    clientID: "c",
                    credentials: try server.credentials(),
                    log: .disabled
                )
            }
            #expect(error?.code == .unexpectedResponse)
        }
    }

    @Test(arguments: HTTPStack.allCases) func checkpointIsRequested(_ stack: HTTPStack) async throws {
        try await LoopbackServer.run { _ in
            .init(
                headers: ["Content-Type": "application/json"],
                chunks: [ByteBuffer(string: #"{"data":{"checkpoint_request_id":"43"}}"#)]
            )
        } _: { server in
            let checkpoint = try await stack.transport.requestCheckpoint(
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
