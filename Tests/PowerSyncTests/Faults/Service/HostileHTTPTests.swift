import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import PowerSyncProtocol
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// What a proxy in a bad mood, or a service that is no sync service, may answer; over real connections.
@Suite(.timeLimit(.minutes(1))) struct HostileHTTPTests {
    /// Answers that must not lose or change anything.
    struct Answer: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let response: LoopbackServer.Response
        /// Whether the client says that it was an error; the end of a stream is none.
        var isError = true
    }

    private static func bson(_ bytes: [UInt8]) -> LoopbackServer.Response {
        .init(headers: ["Content-Type": SyncLineFormat.bson.mediaType], chunks: [ByteBuffer(bytes: bytes)])
    }

    private static func lines(_ text: String, end: LoopbackServer.Response.End = .normal) -> LoopbackServer.Response {
        .init(
            headers: ["Content-Type": SyncLineFormat.ndjson.mediaType],
            chunks: [ByteBuffer(string: text)],
            end: end
        )
    }

    private static func status(_ status: HTTPResponseStatus, _ headers: HTTPHeaders = [:]) -> LoopbackServer.Response {
        .init(status: status, headers: headers, chunks: [ByteBuffer(string: "<html>no</html>")])
    }

    private static let answers = [
        Answer(testDescription: "a redirect", response: status(.temporaryRedirect, ["Location": "/elsewhere"])),
        Answer(
            testDescription: "a redirect to itself",
            response: status(.movedPermanently, ["Location": "/sync/stream"])
        ),
        Answer(testDescription: "no content", response: .init(status: .noContent)),
        Answer(testDescription: "a page", response: status(.ok, ["Content-Type": "text/html"])),
        Answer(testDescription: "no media type", response: status(.ok)),
        Answer(testDescription: "a refused token", response: status(.unauthorized)),
        Answer(testDescription: "no permission", response: status(.forbidden)),
        Answer(testDescription: "an error without body", response: .init(status: .badGateway)),
        Answer(testDescription: "an error that breaks off", response: .init(status: .badGateway, end: .abrupt)),
        Answer(testDescription: "nothing", response: lines(""), isError: false),
        Answer(testDescription: "nothing, abruptly", response: lines("", end: .abrupt), isError: false),
        Answer(testDescription: "half a line", response: lines(#"{"token_expires_in"#)),
        Answer(testDescription: "half a line, abruptly", response: lines(#"{"token_expires_in"#, end: .abrupt)),
        Answer(testDescription: "BSON where lines were announced", response: lines("\u{1b}\0\0\0")),
        Answer(testDescription: "a document of 2 GiB", response: bson([0xff, 0xff, 0xff, 0x7f, 3, 0x61, 0])),
        Answer(testDescription: "a document of no length", response: bson([4, 0, 0, 0])),
        Answer(testDescription: "a document of negative length", response: bson([0, 0, 0, 0x80])),
        Answer(testDescription: "half a document", response: bson([0x1b, 0, 0, 0, 0x10, 0x74])),
        Answer(
            testDescription: "what is not gzip",
            response: .init(
                headers: ["Content-Type": SyncLineFormat.ndjson.mediaType, "Content-Encoding": "gzip"],
                chunks: [ByteBuffer(string: "this is not compressed at all")]
            )
        ),
    ]

    @Test(arguments: answers) func errorAndThenAStreamInSmallPieces(_ answer: Answer) async throws {
        let transcript = ModelTranscript()
        let body = ByteBuffer(string: transcript.lines.map { $0 + "\n" }.joined())
        let good = LoopbackServer.Response(
            headers: ["Content-Type": SyncLineFormat.ndjson.mediaType],
            chunks: body.chunks(of: 13),
            end: .open
        )
        let requests = NIOLockedValueBox(0)
        try await LoopbackServer.run { _ in
            let number = requests.withLockedValue { count in
                count += 1
                return count
            }
            return number <= 2 ? answer.response : good
        } _: { server in
            let clock = TestClock()
            let connector = ScriptedConnector()
            connector.onFetch { call in PowerSyncCredentials(endpoint: server.url, token: "token \(call)") }
            let log = RecordingLogger()
            let database = SyncedDatabase(
                schema: SyncHarness.schema,
                dbFilename: ":memory:",
                logger: log,
                environment: SyncEnvironment(transport: HTTPTransport.shared, clock: clock)
            )
            try await clock.withoutDelays {
                try await database.connect(connector: connector, options: ConnectOptions())
                let views = try database.watch("SELECT id, name FROM lists") { cursor in
                    (try cursor.getString(index: 0), try cursor.getString(index: 1))
                }
                for try await view in views
                where Dictionary(uniqueKeysWithValues: view) == transcript.model.rows { break }
            }
            #expect(server.received.count == 3)
            #expect(server.received.allSatisfy { $0.head.uri == "/sync/stream" })
            #expect(log.messages(.error).count == (answer.isError ? 2 : 0))
            #expect(connector.fetches == (answer.testDescription == "a refused token" ? 3 : 1))
            try await database.close()
        }
    }
}
