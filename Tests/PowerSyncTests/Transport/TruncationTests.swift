import HTTPStackTestSupport
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncClient

/// Responses that end after each of their bytes, over real connections.
@Suite(.timeLimit(.minutes(1))) struct TruncationTests {
    private static let lines: [SyncLine] = [
        .checkpoint(2, [.bucket("ä", count: 2, priority: 1)], writeCheckpoint: 1), .put("ä", 1...2), .done(1),
        .keepalive(tokenExpiresIn: 3600), .done,
    ]

    @Test(
        arguments: HTTPStack.allCases,
        [SyncLineFormat.bson, .ndjson]
    )
    func givesTheLinesBeforeItsEndAndAnErrorIfThereIsHalfALine(
        _ stack: HTTPStack,
        _ format: SyncLineFormat
    ) async throws {
        var body = ByteBuffer()
        // Where a response may end without loss, and how many lines there are up to there.
        var ends = [0: 0]
        for (index, line) in TruncationTests.lines.enumerated() {
            line.encode(as: format, into: &body)
            ends[body.readableBytes] = index + 1
            // The last line feed may be missing.
            if format == .ndjson { ends[body.readableBytes - 1] = index + 1 }
        }
        let length = NIOLockedValueBox(0)
        try await LoopbackServer.run { [body] _ in
            let length = length.withLockedValue(\.self)
            return LoopbackServer.Response(
                headers: ["Content-Type": format.mediaType],
                chunks: [body.getSlice(at: 0, length: length) ?? ByteBuffer()],
                end: length % 2 == 0 ? .normal : .abrupt
            )
        } _: { server in
            let credentials = ServiceCredentials(endpoint: try ServiceEndpoint(server.url), token: "t")
            for end in 0...body.readableBytes {
                length.withLockedValue { $0 = end }
                let stream = try await stack.transport.openStream(
                    StreamingSyncRequest(),
                    credentials: credentials,
                    log: .disabled
                )
                var lines: [SyncLine] = []
                var failure: SyncTransportError?
                do {
                    while let next = try await stream.nextLines() { lines += next.map(\.line) }
                } catch let error as SyncTransportError {
                    failure = error
                }
                let whole = ends.keys.filter { $0 <= end }.max() ?? 0
                #expect(lines == Array(TruncationTests.lines.prefix(ends[whole] ?? 0)), "\(end) bytes")
                let isWhole = ends[end] != nil
                #expect((failure == nil) == isWhole, "\(end) bytes: \(String(describing: failure))")
                if let failure {
                    #expect(failure.code == .connection)
                    #expect(failure.message == "The connection to \(server.url)/sync/stream was cut inside a sync line")
                }
            }
        }
    }
}
