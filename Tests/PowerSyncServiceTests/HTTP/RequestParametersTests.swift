import HTTPTypes
import Hummingbird
import NIOCore
import PowerSyncProtocol
import Testing

@testable import PowerSyncService

/// What a sync request may be, as the HTTP request comes (docs/protocol.md "The sync request").
@Suite(.timeLimit(.minutes(1))) struct RequestParametersTests {
    /// Reads a request as its route does.
    private static func read(
        _ body: String,
        headers: HTTPFields,
        path: String = "/sync/stream"
    ) async throws -> StreamingSyncRequest {
        let head = HTTPRequest(method: .post, scheme: "http", authority: "a", path: path, headerFields: headers)
        var request = Request(head: head, body: RequestBody(buffer: ByteBuffer(string: body)))
        let parameters = try await RequestParameters(
            &request,
            bodyLimit: ServiceRoutes.bodyLimit,
            timeLimit: RequestParameters.bodyTimeLimit,
            clock: ContinuousClock(),
            halfPairs: StreamingSyncRequest.halfPairs
        )
        return try ServiceRoutes.syncRequest(parameters)
    }

    struct BodyCase: CustomTestStringConvertible, Sendable {
        var body: String
        var type = "application/json"
        var status = 400
        var details: String?
        var testDescription: String { "\(type) \(body.prefix(60))" }
    }

    @Test(arguments: [
        BodyCase(body: #"{"buckets":[{"name":"x"}]}"#, details: "buckets"),
        BodyCase(body: #"{"buckets":[{"name":"x","after":"-1"}]}"#, details: "after"),
        BodyCase(
            body: #"{"streams":{"subscriptions":[{"stream":"a","override_priority":null}]}}"#,
            details: "parameters"
        ),
        BodyCase(
            body: #"{"streams":{"subscriptions":[{"stream":"a","parameters":null,"override_priority":9}]}}"#,
            details: "override_priority"
        ),
        BodyCase(body: #"{"client_id":null}"#, details: "client_id"),
        BodyCase(body: #"{"app_metadata":{"a":1}}"#, details: "app_metadata"),
        BodyCase(body: #"{"client_id":"c\ud83d"}"#, details: "half a surrogate pair"),
        BodyCase(body: "{"), BodyCase(body: ""), BodyCase(body: #"{"a":1}x"#),
        BodyCase(body: "<a/>", type: "application/xml", status: 415),
        BodyCase(body: "a=1", type: "application/x-www-form-urlencoded", status: 415),
    ])
    func bodiesAreChecked(_ test: BodyCase) async throws {
        let error = await #expect(throws: ErrorEnvelope.self) {
            try await Self.read(test.body, headers: [.contentType: test.type])
        }
        #expect(error?.httpStatus == test.status)
        guard test.status == 400 else { return }
        #expect(error?.code.rawValue == "PSYNC_S2001")
        let details = try #require(error?.details)
        if let expected = test.details { #expect(details.contains(expected)) }
    }

    @Test(
        arguments: [
            "application/json", "application/json; charset=utf-8", "APPLICATION/Json ; Charset=utf-8",
        ]
    )
    func aMediaTypeIsReadWithoutItsParameters(_ type: String) async throws {
        let request = try await Self.read(#"{"client_id":"c"}"#, headers: [.contentType: type])
        #expect(request.clientID == "c")
    }

    @Test(arguments: ["Identity", "identity,identity", " , "])
    func anEncodingThatIsNoneIsRead(_ encoding: String) async throws {
        let headers: HTTPFields = [.contentType: "application/json", .contentEncoding: encoding]
        #expect(try await Self.read(#"{"client_id":"c"}"#, headers: headers).clientID == "c")
    }

    @Test(arguments: ["gzip", "identity, gzip", "br"])
    func otherEncodingsAreRefused(_ encoding: String) async throws {
        let error = await #expect(throws: ErrorEnvelope.self) {
            try await Self.read("{}", headers: [.contentType: "application/json", .contentEncoding: encoding])
        }
        #expect(error?.httpStatus == 415)
        #expect(error?.code.rawValue == "PSYNC_S2004")
    }

    @Test func theBodyWinsOverTheQuery() async throws {
        let headers: HTTPFields = [.contentType: "application/json"]
        let path = "/sync/stream?client_id=query"
        #expect(try await Self.read("{}", headers: headers, path: path).clientID == "query")
        #expect(try await Self.read(#"{"client_id":"body"}"#, headers: headers, path: path).clientID == "body")
    }

    @Test func aBodyOverTheLimitIsRefused() async throws {
        let body = #"{"x":""# + String(repeating: "x", count: ServiceRoutes.bodyLimit) + #""}"#
        let error = await #expect(throws: ErrorEnvelope.self) {
            try await Self.read(body, headers: [.contentType: "application/json"])
        }
        #expect(error?.httpStatus == 413)
    }
}
