import AsyncHTTPClient
import Foundation
import HTTPStackTestSupport
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import PowerSyncCoreTestSupport
import PowerSyncNIO
import PowerSyncProtocol
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct HTTPTransportTests {
    private static let lines: [SyncLine] = [
        .checkpoint(2, [.bucket("ä", count: 2, priority: 1)]), .put("ä", 1...2), .keepalive(tokenExpiresIn: 3600),
        .done,
    ]

    private static func body(_ format: SyncLineFormat) -> ByteBuffer {
        var body = ByteBuffer()
        for line in lines { line.encode(as: format, into: &body) }
        return body
    }

    private static func response(
        _ format: SyncLineFormat,
        contentType: String? = nil,
        chunkSize: Int = .max,
        end: LoopbackServer.Response.End = .normal
    ) -> LoopbackServer.Response {
        .init(
            headers: ["Content-Type": contentType ?? format.mediaType],
            chunks: body(format).chunks(of: chunkSize),
            end: end
        )
    }

    private func open(
        _ server: LoopbackServer,
        _ stack: HTTPStack,
        path: String = "",
        request: StreamingSyncRequest = StreamingSyncRequest(),
        log: SyncRequestLog = .disabled
    ) async throws -> any SyncLineStream {
        try await stack.transport.openStream(
            request,
            credentials: try server.credentials(path: path),
            log: log
        )
    }

    private func readAll(_ stream: any SyncLineStream) async throws -> [SyncLine] {
        var lines: [SyncLine] = []
        while let next = try await stream.nextLines() { lines += next.map(\.line) }
        return lines
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var format: SyncLineFormat
        var contentType: String?
        var chunkSize: Int

        var testDescription: String { "\(contentType ?? format.mediaType) in chunks of \(chunkSize)" }
    }

    @Test func connectionsToAServiceHaveNoLimitOfOurs() {
        let pool = NIOExchange.callConfiguration.connectionPool
        #expect(pool.concurrentHTTP1ConnectionsPerHostSoftLimit == .max)
    }

    @Test(
        arguments: HTTPStack.allCases,
        [
            Case(format: .bson, chunkSize: .max),
            Case(format: .bson, chunkSize: 1),
            Case(format: .bson, chunkSize: 7),
            Case(format: .ndjson, chunkSize: .max),
            Case(format: .ndjson, chunkSize: 1),
            Case(format: .ndjson, chunkSize: 7),
            Case(format: .ndjson, contentType: "Application/X-NDJSON; charset=utf-8", chunkSize: 100),
            Case(format: .bson, contentType: "application/vnd.powersync.bson-stream;a=b", chunkSize: 100),
        ]
    )
    func linesArriveWhateverTheFormatAndTheChunks(_ stack: HTTPStack, _ testCase: Case) async throws {
        try await LoopbackServer.run { _ in
            Self.response(testCase.format, contentType: testCase.contentType, chunkSize: testCase.chunkSize)
        } _: { server in
            let lines = try await readAll(open(server, stack))
            #expect(lines == Self.lines)
        }
    }

    @Test(arguments: HTTPStack.allCases) func requestHasTheHeadersOfTheProtocol(_ stack: HTTPStack) async throws {
        let request = StreamingSyncRequest(clientID: "c", parameters: ["a": 1], appMetadata: ["v": "1"])
        try await LoopbackServer.run { _ in
            Self.response(.bson)
        } _: { server in
            _ = try await open(server, stack, request: request)
            let received = try #require(server.received.first)
            #expect(received.head.method == .POST)
            #expect(received.head.uri == "/sync/stream")
            #expect(received.header("Authorization") == "Token secret")
            #expect(received.header("Content-Type") == "application/json")
            #expect(
                received.header("Accept")
                    == "application/vnd.powersync.bson-stream;q=0.9,application/x-ndjson;q=0.8"
            )
            #expect(received.header("Accept-Encoding") == "gzip")
            #expect(received.header("User-Agent")?.hasPrefix("powersync-swift/") == true)
            #expect(try StreamingSyncRequest(json: received.body) == request)
        }
    }

    @Test(
        arguments: HTTPStack.allCases,
        [("", "/sync/stream"), ("/", "/sync/stream"), ("/prefix/", "/prefix/sync/stream")]
    )
    func pathIsAppendedToTheEndpoint(_ stack: HTTPStack, _ testCase: (path: String, uri: String)) async throws {
        try await LoopbackServer.run { _ in
            Self.response(.ndjson)
        } _: { server in
            _ = try await open(server, stack, path: testCase.path)
            #expect(server.received.map(\.head.uri) == [testCase.uri])
        }
    }

    @Test(arguments: HTTPStack.allCases) func gzipIsDecodedAsItArrives(_ stack: HTTPStack) async throws {
        try await LoopbackServer.run { _ in
            .init(
                headers: ["Content-Type": SyncLineFormat.ndjson.mediaType, "Content-Encoding": "gzip"],
                chunks: [ByteBuffer(bytes: GzipFixture.first)],
                end: .open
            )
        } _: { server in
            let stream = try await open(server, stack)
            var lines: [SyncLine] = []
            while lines.isEmpty { lines += try #require(try await stream.nextLines()).map(\.line) }
            #expect(lines == [.keepalive(tokenExpiresIn: 7)])
        }
        try await LoopbackServer.run { _ in
            .init(
                headers: ["Content-Type": SyncLineFormat.ndjson.mediaType, "Content-Encoding": "gzip"],
                chunks: ByteBuffer(bytes: GzipFixture.first + GzipFixture.second).chunks(of: 5)
            )
        } _: { server in
            let lines = try await readAll(open(server, stack))
            #expect(
                lines == [
                    .keepalive(tokenExpiresIn: 7), .checkpointComplete(CheckpointComplete(lastOpID: OpID(1))),
                ]
            )
        }
    }

    @Test(
        arguments: HTTPStack.allCases,
        [
            (401, #"{"error":{"code":"PSYNC_S2101","status":401}}"#, true),
            (403, #"{"error":{"code":"PSYNC_S2105"}}"#, true),
            (500, #"{"error":{"code":"PSYNC_S2302"}}"#, false),
            (429, "", false),
        ]
    )
    func errorsOfTheService(
        _ stack: HTTPStack,
        _ answer: (status: Int, body: String, isUnauthorized: Bool)
    ) async throws {
        let (status, body, isUnauthorized) = answer
        try await LoopbackServer.run { _ in
            .init(
                status: HTTPResponseStatus(statusCode: status),
                headers: ["Content-Type": "application/json"],
                chunks: [ByteBuffer(string: body)]
            )
        } _: { server in
            let error = await #expect(throws: SyncTransportError.self) { _ = try await open(server, stack) }
            #expect(error?.code == .status)
            #expect(error?.httpStatus == status)
            #expect(error?.isUnauthorized == isUnauthorized)
            #expect(error?.message.contains("POST \(server.url)/sync/stream failed with status \(status)") == true)
            #expect(body.isEmpty || error?.message.contains(body) == true)
            #expect(status != 429 || error?.message.contains("raise the limit there") == true)
        }
    }

    @Test(arguments: HTTPStack.allCases) func aRequestThatIsGivenUpTakesItsConnectionWithIt(
        _ stack: HTTPStack
    ) async throws {
        let answer = ByteBuffer(string: #"{"data":{"write_checkpoint":"7"}}"#)
        let (requests, continuation) = AsyncStream.makeStream(of: Void.self)
        let count = NIOLockedValueBox(0)
        try await LoopbackServer.run { _ in
            let number = count.withLockedValue { count in
                count += 1
                return count
            }
            // Not before: the next request may be served by another thread.
            continuation.yield()
            return .init(chunks: [answer], end: number == 2 ? .open : .normal)
        } _: { server in
            let credentials = try server.credentials()
            func writeCheckpoint() async throws -> WriteCheckpoint {
                try await stack.transport.writeCheckpoint(
                    clientID: "c",
                    credentials: credentials,
                    log: .disabled
                )
            }
            var received = requests.makeAsyncIterator()
            #expect(try await writeCheckpoint() == WriteCheckpoint(7))
            await received.next()
            let unanswered = Task { try await writeCheckpoint() }
            await received.next()
            unanswered.cancel()
            await #expect(throws: CancellationError.self) { _ = try await unanswered.value }
            #expect(try await writeCheckpoint() == WriteCheckpoint(7))
            let ports = server.received.map(\.clientPort)
            #expect(ports.count == 3)
            #expect(ports[1] != ports[2])
        }
    }

    @Test(arguments: HTTPStack.allCases) func anErrorBodyWithoutAnEndIsShortened(_ stack: HTTPStack) async throws {
        try await LoopbackServer.run { _ in
            .init(status: .badGateway, chunks: [ByteBuffer(repeating: UInt8(ascii: "x"), count: 100_000)], end: .open)
        } _: { server in
            let error = await #expect(throws: SyncTransportError.self) { _ = try await open(server, stack) }
            #expect(error.map { $0.message.count < 1200 } == true)
        }
    }

    @Test(arguments: HTTPStack.allCases, ["text/html", "application/json", ""]) func wrongMediaTypeIsAnError(
        _ stack: HTTPStack,
        contentType: String
    ) async throws {
        try await LoopbackServer.run { _ in
            Self.response(.ndjson, contentType: contentType)
        } _: { server in
            let error = await #expect(throws: SyncTransportError.self) { _ = try await open(server, stack) }
            #expect(error?.code == .unexpectedResponse)
        }
    }

    @Test(arguments: HTTPStack.allCases) func redirectsAreNotFollowed(_ stack: HTTPStack) async throws {
        try await LoopbackServer.run { _ in
            .init(status: .temporaryRedirect, headers: ["Location": "/elsewhere"])
        } _: { server in
            let error = await #expect(throws: SyncTransportError.self) { _ = try await open(server, stack) }
            #expect(error?.httpStatus == 307)
            #expect(server.received.count == 1)
        }
    }

    @Test(arguments: HTTPStack.allCases) func connectionClosedBetweenLinesEndsTheStream(_ stack: HTTPStack) async throws
    {
        for format in [SyncLineFormat.bson, .ndjson] {
            try await LoopbackServer.run { _ in
                Self.response(format, end: .abrupt)
            } _: { server in
                let lines = try await readAll(open(server, stack))
                #expect(lines == Self.lines)
            }
        }
    }

    @Test(arguments: HTTPStack.allCases) func truncatedDocumentIsAnErrorAfterTheLinesBeforeIt(
        _ stack: HTTPStack
    ) async throws {
        for format in [SyncLineFormat.bson, .ndjson] {
            let body = Self.body(format)
            let truncated = body.getSlice(at: 0, length: body.readableBytes - 3) ?? body
            try await LoopbackServer.run { _ in
                .init(headers: ["Content-Type": format.mediaType], chunks: [truncated])
            } _: { server in
                let stream = try await open(server, stack)
                var lines: [SyncLine] = []
                let error = await #expect(throws: SyncTransportError.self) {
                    while let next = try await stream.nextLines() { lines += next.map(\.line) }
                }
                #expect(error?.code == .connection)
                #expect(error?.message == "The connection to \(server.url)/sync/stream was cut inside a sync line")
                #expect(lines == Array(Self.lines.dropLast()))
            }
        }
    }

    @Test(arguments: HTTPStack.allCases) func refusedConnectionIsAnError(_ stack: HTTPStack) async throws {
        let server = try await LoopbackServer { _ in .init() }
        try await server.stop()
        let error = await #expect(throws: SyncTransportError.self) { _ = try await open(server, stack) }
        #expect(error?.code == .connection)
        #expect(error?.underlyingError != nil)
    }

    @Test(arguments: HTTPStack.allCases) func cancelledRequestThrowsCancellationError(_ stack: HTTPStack) async throws {
        try await LoopbackServer.run { _ in
            .init(headers: ["Content-Type": SyncLineFormat.ndjson.mediaType], end: .open)
        } _: { server in
            let task = Task {
                let stream = try await open(server, stack)
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await stream.nextLines()
            }
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test(arguments: HTTPStack.allCases) func requestLogHasEachLineVerbatimAndNoToken(_ stack: HTTPStack) async throws {
        let lines = [#"{"token_expires_in":  7}"#, #"{"checkpoint_complete":{"last_op_id":"1"}}"#]
        let log = LineCollector()
        let configuration = SyncRequestLoggerConfiguration(requestLevel: .all) { log.append($0) }
        try await LoopbackServer.run { _ in
            .init(
                headers: ["Content-Type": SyncLineFormat.ndjson.mediaType],
                chunks: ByteBuffer(string: lines.joined(separator: "\n")).chunks(of: 10)
            )
        } _: { server in
            _ = try await readAll(open(server, stack, log: SyncRequestLog(configuration)))
            #expect(log.all.contains("Starting request to POST \(server.url)/sync/stream"))
            #expect(log.all.contains("Got response code 200 on \(server.url)/sync/stream"))
            for line in lines { #expect(log.all.contains("Response line: \(line)")) }
            #expect(log.all.last == "End of response")
            #expect(!log.all.contains { $0.contains("secret") })
        }
    }

    @Test(arguments: HTTPStack.allCases, ["1\n", "1\r\nX-B: 2", "\0"])
    func aTokenThatCannotBeSentIsNotShown(_ stack: HTTPStack, _ end: String) async throws {
        let log = LineCollector()
        let configuration = SyncRequestLoggerConfiguration(requestLevel: .all) { log.append($0) }
        let endpoint = try ServiceEndpoint("http://127.0.0.1:1")
        let credentials = ServiceCredentials(endpoint: endpoint, token: "secret" + end)
        let error = await #expect(throws: SyncTransportError.self) {
            _ = try await stack.transport.openStream(
                StreamingSyncRequest(),
                credentials: credentials,
                log: SyncRequestLog(configuration)
            )
        }
        #expect(error.map { "\($0)" }?.contains("header") == true)
        #expect(error.map { "\($0)" }?.contains("secret") == false)
        #expect(!log.all.contains { $0.contains("secret") })
    }

    /// A search from its beginning for each part of it would take hours.
    @Test func aLongLineIsLoggedInTheTimeOfItsLength() async throws {
        let log = LineCollector()
        let configuration = SyncRequestLoggerConfiguration(requestLevel: .body) { log.append($0) }
        let text = String(repeating: "x", count: 4 << 20)
        try await LoopbackServer.run { _ in
            .init(
                headers: ["Content-Type": SyncLineFormat.ndjson.mediaType],
                chunks: ByteBuffer(string: #"{"later":"\#(text)"}"# + "\n").chunks(of: 1_000)
            )
        } _: { server in
            _ = try await readAll(open(server, .nio, log: SyncRequestLog(configuration)))
            #expect(log.all.contains { $0.utf8.count > text.utf8.count })
        }
    }

    @Test(arguments: HTTPStack.allCases) func linesOfABinaryStreamAreLoggedAsJSON(_ stack: HTTPStack) async throws {
        let log = LineCollector()
        let configuration = SyncRequestLoggerConfiguration(requestLevel: .body) { log.append($0) }
        try await LoopbackServer.run { _ in
            Self.response(.bson)
        } _: { server in
            _ = try await readAll(open(server, stack, log: SyncRequestLog(configuration)))
            #expect(log.all.contains(#"Response line: {"token_expires_in":3600}"#))
        }
    }
}

extension ByteBuffer {
    /// The bytes in pieces.
    func chunks(of size: Int) -> [ByteBuffer] {
        var rest = self
        var chunks: [ByteBuffer] = []
        while rest.readableBytes > 0, let chunk = rest.readSlice(length: Swift.min(size, rest.readableBytes)) {
            chunks.append(chunk)
        }
        return chunks
    }
}
