import HTTPStackTestSupport
import NIOCore
import NIOHTTP1
import PowerSyncProtocol
import Testing

@testable import PowerSync

@Suite(.timeLimit(.minutes(1))) struct CompressionLimitTests {
    /// A gzip member of a million line feeds, which are no lines: 1,004 bytes, made with zlib.
    private static let member: [UInt8] =
        [
            0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xed, 0xc1, 0x31, 0x01, 0x00, 0x00, 0x00, 0xc2,
            0xa0, 0x7f, 0xfd, 0x03, 0x1b, 0x44, 0xa0,
        ] + [UInt8](repeating: 0, count: 968) + [0x80, 0x57, 0x03, 0xac, 0x15, 0x68, 0xaf, 0x40, 0x42, 0x0f, 0x00]

    private static func response(to request: LoopbackServer.Request) -> LoopbackServer.Response {
        var line = ByteBuffer()
        SyncLine.keepalive(tokenExpiresIn: 7).encode(as: .ndjson, into: &line)
        guard request.header("Accept-Encoding") == "gzip" else {
            return .init(headers: ["Content-Type": SyncLineFormat.ndjson.mediaType], chunks: [line])
        }
        return .init(
            headers: ["Content-Type": SyncLineFormat.ndjson.mediaType, "Content-Encoding": "gzip"],
            chunks: [ByteBuffer(bytes: member)]
        )
    }

    @Test func aStreamThatBecomesTooLongIsAskedForWithoutCompression() async throws {
        try await LoopbackServer.run {
            Self.response(to: $0)
        } _: { server in
            let transport = HTTPStack.nio.transport
            let credentials = ServiceCredentials(endpoint: try ServiceEndpoint(server.url), token: "secret")
            func open() async throws -> any SyncLineStream {
                try await transport.openStream(StreamingSyncRequest(), credentials: credentials, log: .disabled)
            }
            let inflated = try await open()
            let error = await #expect(throws: SyncTransportError.self) { while try await inflated.next() != nil {} }
            #expect(error?.code == .connection)
            #expect(error?.message.contains("without compression") == true)

            let plain = try await open()
            #expect(try await plain.next() != nil)
            #expect(server.received.map { $0.header("Accept-Encoding") } == ["gzip", "identity"])
        }
    }
}
