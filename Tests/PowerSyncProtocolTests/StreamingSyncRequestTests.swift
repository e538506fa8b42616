import NIOCore
import PowerSyncProtocol
import Testing

@Suite struct StreamingSyncRequestTests {
    @Test func requestsAreWrittenInOneForm() {
        let request = StreamingSyncRequest(
            buckets: [.init(name: BucketName("1#lists|0[\"u1\"]"), after: OpID(6))],
            clientID: "c1",
            parameters: ["region": "eu"],
            streams: .init(
                includeDefaults: true,
                subscriptions: [
                    .init(stream: "todos", parameters: ["list_id": "l1"], overridePriority: Priority(1)),
                    .init(stream: "stats"),
                ]
            ),
            appMetadata: ["b": "2", "a": "1"]
        )
        #expect(
            request.encodedJSON().text == #"{"buckets":[{"name":"1#lists|0[\"u1\"]","after":"6"}],"#
                + #""include_checksum":true,"raw_data":true,"binary_data":true,"client_id":"c1","#
                + #""parameters":{"region":"eu"},"streams":{"include_defaults":true,"subscriptions":["#
                + #"{"stream":"todos","parameters":{"list_id":"l1"},"override_priority":1},"#
                + #"{"stream":"stats","parameters":null,"override_priority":null}]},"app_metadata":{"a":"1","b":"2"}}"#
        )
    }

    @Test func requestsComeBackAsTheyWere() throws {
        let requests = [
            StreamingSyncRequest(),
            StreamingSyncRequest(clientID: "c", rawData: false),
            StreamingSyncRequest(
                buckets: [.init(name: BucketName("a"), after: .zero), .init(name: BucketName("b"), after: .max)],
                clientID: "ü",
                parameters: ["n": 9_007_199_254_740_993, "d": 1.0, "x": nil],
                streams: .init(includeDefaults: false, subscriptions: [.init(stream: "s", parameters: [:])]),
                appMetadata: ["k": "v"]
            ),
        ]
        for request in requests { #expect(try StreamingSyncRequest(json: request.encodedJSON()) == request) }
    }

    @Test(
        arguments: [
            ("{}", StreamingSyncRequest(rawData: false)),
            (#"{"parameters":null,"app_metadata":null,"streams":null}"#, StreamingSyncRequest(rawData: false)),
            (
                #"{"raw_data":true,"include_checksum":false,"binary_data":false,"only":["a"],"future":{"x":1}}"#,
                StreamingSyncRequest()
            ),
            (
                #"{"streams":{"subscriptions":[]},"client_id":""}"#,
                StreamingSyncRequest(clientID: "", streams: .init(), rawData: false)
            ),
            (
                #"{"buckets":[{"name":"a","after":"1"},{"name":"b","after":"007"},{"name":"a","after":"3"}]}"#,
                StreamingSyncRequest(
                    buckets: [
                        .init(name: BucketName("a"), after: OpID(3)), .init(name: BucketName("b"), after: OpID(7)),
                    ],
                    rawData: false
                )
            ),
            (
                #"{"streams":{"subscriptions":[{"stream":"s","parameters":null,"override_priority":2.0}]}}"#,
                StreamingSyncRequest(
                    streams: .init(subscriptions: [.init(stream: "s", overridePriority: Priority(2))]),
                    rawData: false
                )
            ),
        ])
    func validBodiesAreAccepted(json: String, request: StreamingSyncRequest) throws {
        #expect(try StreamingSyncRequest(json: ByteBuffer(string: json)) == request)
    }

    @Test(
        arguments: [
            ("", [""]), ("[]", [""]), ("{", [""]), (#"{"client_id":null}"#, ["client_id"]),
            (#"{"client_id":1}"#, ["client_id"]),
            (#"{"buckets":{}}"#, ["buckets"]), (#"{"buckets":null}"#, ["buckets"]),
            (#"{"buckets":[1]}"#, ["buckets[0]"]),
            (#"{"buckets":[{"name":1,"after":"1"},{"name":"a"}]}"#, ["buckets[0].name", "buckets[1].after"]),
            (#"{"buckets":[{"name":"a","after":""}]}"#, ["buckets[0].after"]),
            (#"{"buckets":[{"name":"a","after":5}]}"#, ["buckets[0].after"]),
            (#"{"buckets":[{"name":"a","after":"-1"}]}"#, ["buckets[0].after"]),
            (#"{"buckets":[{"name":"a","after":"9223372036854775808"}]}"#, ["buckets[0].after"]),
            (#"{"buckets":[{"name":"a","after":"00000000000000000001"}]}"#, ["buckets[0].after"]),
            (#"{"parameters":[]}"#, ["parameters"]), (#"{"parameters":"x"}"#, ["parameters"]),
            (#"{"app_metadata":{"a":1,"b":"x","c":null}}"#, ["app_metadata.a", "app_metadata.c"]),
            (
                #"{"raw_data":1,"include_checksum":"x","binary_data":null}"#,
                ["raw_data", "include_checksum", "binary_data"]
            ),
            (#"{"only":[1]}"#, ["only[0]"]), (#"{"streams":[]}"#, ["streams"]),
            (#"{"streams":{}}"#, ["streams.subscriptions"]),
            (
                #"{"streams":{"include_defaults":1,"subscriptions":{}}}"#,
                ["streams.include_defaults", "streams.subscriptions"]
            ),
            (#"{"streams":{"subscriptions":["x"]}}"#, ["streams.subscriptions[0]"]),
            (
                #"{"streams":{"subscriptions":[{}]}}"#,
                [
                    "streams.subscriptions[0].parameters", "streams.subscriptions[0].override_priority",
                    "streams.subscriptions[0].stream",
                ]
            ),
            (
                #"{"streams":{"subscriptions":[{"stream":1,"parameters":[],"override_priority":4}]}}"#,
                [
                    "streams.subscriptions[0].stream", "streams.subscriptions[0].parameters",
                    "streams.subscriptions[0].override_priority",
                ]
            ),
        ])
    func invalidBodiesAreReportedWithTheirFields(json: String, paths: [String]) {
        let error = #expect(throws: RequestValidationError.self) {
            try StreamingSyncRequest(json: ByteBuffer(string: json))
        }
        #expect(error?.problems.map(\.path) == paths)
        #expect(error?.messages.allSatisfy { !$0.isEmpty } == true)
    }

    @Test(arguments: ["-1", "4", "1.5", "\"1\"", "true", "1e300", "9223372036854775808"])
    func overridePrioritiesAreIntegersUpToThree(priority: String) {
        let json = #"{"streams":{"subscriptions":[{"stream":"s","parameters":{},"override_priority":\#(priority)}]}}"#
        #expect(throws: RequestValidationError.self) { try StreamingSyncRequest(json: ByteBuffer(string: json)) }
    }

    @Test(arguments: [("0", 0), ("1", 1), ("3", 3), ("0.0", 0), ("3.0", 3), ("null", nil)] as [(String, Int32?)])
    func overridePrioritiesReachFromZeroToThree(text: String, priority: Int32?) throws {
        let json = #"{"streams":{"subscriptions":[{"stream":"s","parameters":{},"override_priority":\#(text)}]}}"#
        let request = try StreamingSyncRequest(json: ByteBuffer(string: json))
        #expect(request.streams.subscriptions.map(\.overridePriority?.rawValue) == [priority])
    }

    @Test(arguments: ["9223372036854775807", "0000000000000000001", "0"])
    func positionsHaveUpTo19Digits(digits: String) throws {
        let json = #"{"buckets":[{"name":"a","after":"\#(digits)"}]}"#
        let request = try StreamingSyncRequest(json: ByteBuffer(string: json))
        #expect(request.buckets.map(\.after.rawValue) == [Int64(digits)])
    }

    @Test func clientIDsAreLimited() throws {
        let longest = String(repeating: "i", count: StreamingSyncRequest.maximumClientIDLength)
        let request = try StreamingSyncRequest(json: ByteBuffer(string: #"{"client_id":"\#(longest)"}"#))
        #expect(request.clientID == longest)
        let error = #expect(throws: RequestValidationError.self) {
            try StreamingSyncRequest(json: ByteBuffer(string: #"{"client_id":"\#(longest)i"}"#))
        }
        #expect(error?.problems.map(\.path) == ["client_id"])
    }

    @Test func clientIDsAreLimitedInBytes() {
        let id = String(repeating: "ü", count: StreamingSyncRequest.maximumClientIDLength / 2 + 1)
        let error = #expect(throws: RequestValidationError.self) {
            try StreamingSyncRequest(json: ByteBuffer(string: #"{"client_id":"\#(id)"}"#))
        }
        #expect(error?.problems.map(\.path) == ["client_id"])
    }

    @Test func longNamesAreCutOffInPaths() {
        let name = String(repeating: "n", count: 65)
        let error = #expect(throws: RequestValidationError.self) {
            try StreamingSyncRequest(json: ByteBuffer(string: #"{"app_metadata":{"\#(name)":1}}"#))
        }
        #expect(error?.problems.map(\.path) == ["app_metadata.\(name.dropLast())"])
    }

    @Test func asManySubscriptionsAsTheLimitAreAccepted() throws {
        let one = #"{"stream":"s","parameters":null,"override_priority":null}"#
        let count = StreamingSyncRequest.maximumSubscriptions
        let json =
            #"{"streams":{"subscriptions":["# + Array(repeating: one, count: count).joined(separator: ",") + "]}}"
        #expect(try StreamingSyncRequest(json: ByteBuffer(string: json)).streams.subscriptions.count == count)
    }

    @Test func asManyProblemsAsTheLimitAreReported() {
        let count = RequestValidationError.maximumProblemCount
        for count in [count - 1, count] {
            let json = #"{"buckets":["# + Array(repeating: "1", count: count).joined(separator: ",") + "]}"
            let error = #expect(throws: RequestValidationError.self) {
                try StreamingSyncRequest(json: ByteBuffer(string: json))
            }
            #expect(error?.problems.map(\.path) == (0..<count).map { "buckets[\($0)]" })
        }
    }

    @Test func theNumberOfSubscriptionsIsLimited() {
        let one = #"{"stream":"s","parameters":null,"override_priority":null}"#
        let json =
            #"{"streams":{"subscriptions":["#
            + Array(repeating: one, count: StreamingSyncRequest.maximumSubscriptions + 1).joined(separator: ",") + "]}}"
        let error = #expect(throws: RequestValidationError.self) {
            try StreamingSyncRequest(json: ByteBuffer(string: json))
        }
        #expect(error?.problems.map(\.path) == ["streams.subscriptions"])
    }

    @Test func theNumberOfReportedProblemsIsLimited() {
        let json = #"{"buckets":["# + Array(repeating: "1", count: 500).joined(separator: ",") + "]}"
        let error = #expect(throws: RequestValidationError.self) {
            try StreamingSyncRequest(json: ByteBuffer(string: json))
        }
        #expect(error?.problems.count == RequestValidationError.maximumProblemCount)
    }
}
