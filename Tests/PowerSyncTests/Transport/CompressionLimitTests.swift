import HTTPStackTestSupport
import NIOCore
import NIOHTTP1
import PowerSyncHTTP
import PowerSyncProtocol
import Testing

@testable import PowerSyncClient

/// Compressed answers, whatever becomes of them.
@Suite(.timeLimit(.minutes(1))) struct CompressionLimitTests {
    /// A gzip member of a million line feeds, which are no lines: 1,004 bytes, made with zlib.
    private static let million: [UInt8] =
        [
            0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xed, 0xc1, 0x31, 0x01, 0x00, 0x00, 0x00, 0xc2,
            0xa0, 0x7f, 0xfd, 0x03, 0x1b, 0x44, 0xa0,
        ] + [UInt8](repeating: 0, count: 968) + [0x80, 0x57, 0x03, 0xac, 0x15, 0x68, 0xaf, 0x40, 0x42, 0x0f, 0x00]

    /// `{"token_expires_in":7}` and a line feed as `deflate`, which is zlib's format.
    private static let deflated: [UInt8] = [
        0x78, 0xda, 0xab, 0x56, 0x2a, 0xc9, 0xcf, 0x4e, 0xcd, 0x8b, 0x4f, 0xad, 0x28, 0xc8, 0x2c, 0x4a, 0x2d, 0x8e,
        0xcf,
        0xcc, 0x53, 0xb2, 0x32, 0xaf, 0xe5, 0x02, 0x00, 0x6c, 0x29, 0x08, 0x6e,
    ]

    private static let lines = "{\"token_expires_in\":7}\n{\"checkpoint_complete\":{\"last_op_id\":\"1\"}}\n"

    /// A body that arrives in chunks.
    private final class Chunks: HTTPExchangeBody {
        private var chunks: ArraySlice<ByteBuffer>
        private(set) var takenCount = 0

        init(_ bytes: [UInt8], of size: Int) {
            var buffer = ByteBuffer(bytes: bytes)
            var chunks: [ByteBuffer] = []
            while buffer.readableBytes > 0 {
                chunks.append(buffer.readSlice(length: min(size, buffer.readableBytes)) ?? ByteBuffer())
            }
            self.chunks = chunks[...]
        }

        nonisolated(nonsending) func next() async throws -> ByteBuffer? {
            takenCount += 1
            return chunks.popFirst()
        }
    }

    private nonisolated(nonsending) func text(_ body: InflatedBody) async throws -> String {
        var text = ByteBuffer()
        while let piece = try await body.next() { text.writeImmutableBuffer(piece) }
        #expect(try await body.next() == nil)
        return String(buffer: text)
    }

    @Test func rowsThatCanBeCompressedAThousandTimesArriveInTheFirstAttempt() async throws {
        try await LoopbackServer.run { _ in
            .init(
                headers: ["Content-Type": SyncLineFormat.ndjson.mediaType, "Content-Encoding": "gzip"],
                chunks: [ByteBuffer(bytes: Self.million + GzipFixture.first + GzipFixture.second)]
            )
        } _: { server in
            let credentials = ServiceCredentials(endpoint: try ServiceEndpoint(server.url), token: "secret")
            let stream = try await HTTPStack.nio.transport.openStream(
                StreamingSyncRequest(),
                credentials: credentials,
                log: .disabled
            )
            var lines: [SyncLine] = []
            while let next = try await stream.nextLines() { lines += next.map(\.line) }
            #expect(
                lines == [
                    .keepalive(tokenExpiresIn: 7), .checkpointComplete(CheckpointComplete(lastOpID: OpID(1))),
                ]
            )
            #expect(server.received.map { $0.header("Accept-Encoding") } == ["gzip"])
        }
    }

    @Test func fewBytesAreRestoredInPiecesThatAreAskedFor() async throws {
        let chunks = Chunks((0..<50).flatMap { _ in Self.million }, of: 16_384)
        let body = InflatedBody(chunks)
        var count = 0
        var pieces = 0
        while let piece = try await body.next() {
            #expect(piece.readableBytes <= InflatedBody.pieceSize)
            count += piece.readableBytes
            pieces += 1
            // A chunk is taken when the one before is used up: it has 16 members.
            #expect(chunks.takenCount <= 1 + count / 15_000_000)
        }
        #expect(count == 50_000_000)
        #expect(pieces >= count / InflatedBody.pieceSize)
    }

    @Test(arguments: [1, 2, 3, 7, 20, 1_000]) func chunksDoNotMatter(_ size: Int) async throws {
        let member = GzipFixture.first + GzipFixture.second
        #expect(try await text(InflatedBody(Chunks(member, of: size))) == Self.lines)
        #expect(try await text(InflatedBody(Chunks(member + member, of: size))) == Self.lines + Self.lines)
        #expect(
            try await text(InflatedBody(Chunks(Self.deflated, of: size))) == "{\"token_expires_in\":7}\n"
        )
        #expect(try await text(InflatedBody(Chunks([], of: size))).isEmpty)
    }

    /// Whether a line is whole is for the reader of lines to say.
    @Test func whatIsCutEnds() async throws {
        let member = GzipFixture.first + GzipFixture.second
        for count in member.indices {
            let text = try await text(InflatedBody(Chunks(Array(member[..<count]), of: 16)))
            #expect(Self.lines.hasPrefix(text))
            if count >= GzipFixture.first.count { #expect(text.hasPrefix("{\"token_expires_in\":7}\n")) }
        }
    }

    @Test(arguments: [
        Array("this is not compressed at all".utf8), GzipFixture.first + [0xff, 0xff, 0xff],
        GzipFixture.first + GzipFixture.second + Array("behind the member".utf8), Array(deflated.dropLast() + [0]),
    ]) func whatIsNotCompressedIsAnError(_ bytes: [UInt8]) async throws {
        let body = InflatedBody(Chunks(bytes, of: 8))
        let error = await #expect(throws: HTTPExchangeError.self) { while try await body.next() != nil {} }
        #expect(error?.code == .malformedCompression)
        #expect(try await body.next() == nil)
    }
}
