import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import PowerSyncNIO
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// Connections that files go over, with SwiftNIO.
@Suite(.timeLimit(.minutes(1))) struct FileConnectionTests {
    /// What a client with one connection does, shut down at the end.
    private func withClient(
        idleTimeout: Duration = .seconds(60),
        on group: any EventLoopGroup = HTTPClient.defaultEventLoopGroup,
        _ body: (HTTPClient) async throws -> Void
    ) async throws {
        var configuration = NIOExchange.fileConfiguration(idleTimeout: idleTimeout)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1
        let client = HTTPClient(eventLoopGroup: group, configuration: configuration)
        do {
            try await body(client)
        } catch {
            try? await client.shutdown()
            throw error
        }
        try await client.shutdown()
    }

    private func upload(to url: String, _ chunks: AsyncStream<ByteBuffer>, length: Int64) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: url)
        request.method = .PUT
        request.body = .stream(chunks, length: .known(length))
        return request
    }

    /// With the last byte of a body the server has the request, and may answer before the client has noticed the end.
    @Test func anAnswerBeforeTheEndOfTheRequestLeavesTheConnectionToTheNextOne() async throws {
        try await StorageServer.run { _ in
            StorageServer.Response(body: .init(pattern: 10))
        } _: { server in
            try await withClient { client in
                for _ in 0..<20 {
                    let chunks = AsyncStream.makeStream(of: ByteBuffer.self)
                    chunks.continuation.yield(ByteBuffer(string: "test"))
                    let request = upload(to: server.url, chunks.stream, length: 4)
                    let first = try await client.execute(request, deadline: .distantFuture)
                    async let second = client.execute(HTTPClientRequest(url: server.url), deadline: .distantFuture)
                    #expect(try await first.body.collect(upTo: 100).readableBytes == 10)
                    chunks.continuation.finish()
                    #expect(try await second.body.collect(upTo: 100).readableBytes == 10)
                }
            }
            #expect(server.received.map(\.method) == Array(repeating: [.PUT, .GET], count: 20).flatMap(\.self))
        }
    }

    @Test func anUploadThatStandsStillIsGivenUp() async throws {
        try await StorageServer.run { _ in
            StorageServer.Response()
        } _: { server in
            try await withClient(idleTimeout: .seconds(1)) { client in
                let chunks = AsyncStream.makeStream(of: ByteBuffer.self)
                chunks.continuation.yield(ByteBuffer(string: "te"))
                let request = upload(to: server.url, chunks.stream, length: 4)
                await #expect(throws: HTTPClientError.readTimeout) {
                    try await client.execute(request, deadline: .distantFuture)
                }
            }
            #expect(server.received.isEmpty)
        }
    }

    /// What a pool does not use is as silent as what hangs.
    @Test func aConnectionLeavesThePoolBeforeItsSilenceIsAnError() {
        let configuration = NIOExchange.fileConfiguration(idleTimeout: .seconds(2))
        #expect(configuration.connectionPool.idleTimeout == .seconds(1))
    }

    /// The request has to be in its stream when the stream ends: the client has nothing to fail otherwise, and ends the process.
    @Test func aServerThatGreetsAndLeavesFailsTheRequest() async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let server = try await LeavingHTTP2Server(on: eventLoop)
        let configuration = try TrustedAuthorities(pem: LoopbackCertificates.authority).tlsConfiguration
        try await withClient(on: eventLoop) { client in
            for _ in 0..<10 {
                await #expect(throws: (any Error).self) {
                    var request = HTTPClientRequest(url: server.url)
                    request.method = .PUT
                    request.body = .bytes(ByteBuffer(string: "test"))
                    request.tlsConfiguration = configuration
                    return try await client.execute(request, deadline: .distantFuture)
                }
            }
        }
        #expect(server.greetings > 0)
        try await server.stop()
    }
}
