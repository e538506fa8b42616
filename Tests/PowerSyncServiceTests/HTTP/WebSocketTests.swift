import Foundation
import NIOCore
import PowerSyncProtocol
import RunningServiceTestSupport
import PowerSyncTesting
import RSocket
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// Sync streams over WebSocket, against a peer that sends frames by hand (docs/protocol.md "WebSocket").
@Suite(.timeLimit(.minutes(2))) struct WebSocketTests {
    private typealias Scenario = ServiceScenario

    /// A service with a list of `u1` that has two todos; the entry of the parameter index has op id 2.
    private static func run(
        log: CollectedLog? = nil,
        configure: (inout ServiceConfiguration) -> Void = { _ in },
        _ body: (ServiceScenario) async throws -> Void
    ) async throws {
        try await Scenario.run(log: log, configure: configure) { scenario in
            try await scenario.write(
                Scenario.put("lists", "l1", ["owner_id": "u1", "name": "Groceries"]),
                Scenario.put("todos", "t1", ["list_id": "l1", "title": "Milk"]),
                Scenario.put("todos", "t2", ["list_id": "l1", "title": "Bread"])
            )
            try await scenario.settle()
            try await body(scenario)
        }
    }

    private static let firstLines = [
        #"checkpoint 4: 1#lists|0["u1"] ×1 p1, 1#todos|0["l1"] ×2 p3"#,
        #"data 1#lists|0["u1"] 0…1 ×1"#,
        "partial 1",
        #"data 1#todos|0["l1"] 0…4 ×2"#,
        "complete 4",
    ]

    @Test func payloadsFollowTheCreditKeepalivesNeedNone() async throws {
        try await Self.run { scenario in
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(.setup(token: try scenario.token()), .request(1, credit: 1))
                #expect(try await peer.lines(1) == Array(Self.firstLines[..<1]))
                try await peer.expectSilence()
                try await peer.send(.requestN(StreamID(1), RequestN(clamping: 2)))
                #expect(try await peer.lines(2) == Array(Self.firstLines[1...2]))
                try await peer.expectSilence()
                try await peer.send(.requestN(StreamID(1), .maximum), .requestN(StreamID(1), .maximum))
                #expect(try await peer.lines(2) == Array(Self.firstLines[3...]))
            }
        }
    }

    @Test(arguments: ["/", "/sync/stream"])
    func aCancelledStreamSendsNothingMoreAndTheConnectionServesAnotherOne(path: String) async throws {
        let log = CollectedLog()
        try await Self.run(log: log) { scenario in
            try await RSocketPeer.connect(port: scenario.address.port, path: path) { peer in
                try await peer.send(.setup(token: try scenario.token()), .request(1, credit: 2))
                _ = try await peer.lines(2)
                try await peer.send(.cancel(StreamID(1)), .requestN(StreamID(1), .maximum), .request(3, credit: 100))
                #expect(try await peer.lines(5, on: 3) == Self.firstLines)
                #expect(try await log.line(containing: "Sync stream complete").contains("client closing stream"))
            }
        }
    }

    @Test func aClientThatGoesAwayInTheMiddleOfItsStreamEndsIt() async throws {
        let log = CollectedLog()
        try await Self.run(log: log) { scenario in
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(.setup(token: try scenario.token()), .request(1, credit: 1))
                _ = try await peer.lines(1)
            }
            #expect(try await log.line(containing: "Sync stream complete").contains("client closing stream"))
        }
    }

    @Test func requestsMayBeBSONLinesAreBSONInAnyCase() async throws {
        try await Self.run { scenario in
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(
                    .setup(
                        metadata: .bson(["token": "Token \(try scenario.token())"]),
                        mimeTypes: ("application/bson", "application/bson")
                    ),
                    .requestStream(
                        RequestStreamFrame(
                            streamID: StreamID(1),
                            initialRequestN: RequestN(clamping: 100),
                            payload: Payload(
                                metadata: .bson(["path": "/sync/stream"]),
                                data: .bson(["client_id": "c1"])
                            )
                        )
                    )
                )
                #expect(try await peer.lines(5) == Self.firstLines)
            }
        }
    }

    @Test func aSETUPWithoutKEEPALIVEForItsLifetimeEndsInAClosedSocket() async throws {
        try await Self.run { scenario in
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(.setup(token: try scenario.token(), lifetime: .milliseconds(100)))
                #expect(try await peer.next() == nil)
            }
        }
    }

    @Test func bytesThatAreNoFrameCloseTheSocketAndTheServiceGoesOn() async throws {
        try await Self.run { scenario in
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(message: ByteBuffer(string: "hi"))
                #expect(try await peer.next() == nil)
            }
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(.setup(token: try scenario.token()), .request(1, credit: 1))
                #expect(try await peer.lines(1) == Array(Self.firstLines[..<1]))
            }
        }
    }

    /// What cannot be the first frame.
    enum BadBeginning: CaseIterable {
        case noSetup, noMetadata, metadataNotAnObject, emptyToken, malformedToken, expiredToken, lease, resume
        case metadataType, dataType

        var rejection: (RSocketErrorCode, String) {
            switch self {
            case .noSetup: (.unsupportedSetup, "[PSYNC_S2001] Unsupported setup")
            case .noMetadata: (.rejectedSetup, "[PSYNC_S2101] No context meta data provided")
            case .metadataNotAnObject: (.rejectedSetup, "[PSYNC_S2001] Validation failed")
            case .emptyToken: (.rejectedSetup, "[PSYNC_S2106] Authentication required")
            case .malformedToken: (.rejectedSetup, "[PSYNC_S2101] Token is not a well-formed JWT")
            case .expiredToken: (.rejectedSetup, "[PSYNC_S2103] JWT has expired")
            case .lease: (.rejectedSetup, "[PSYNC_S2001] Lease has to be disabled")
            case .resume: (.rejectedSetup, "[PSYNC_S2001] No resume support")
            case .metadataType, .dataType:
                (
                    .rejectedSetup,
                    "[PSYNC_S2004] Unsupported Media Type\n  Expected JSON or BSON request, got text/plain"
                )
            }
        }

        func frame(_ scenario: ServiceScenario) throws -> Frame {
            let token = try scenario.token()
            var frame = SetupFrame.example(metadata: ByteBuffer(string: #"{"token":"Token \#(token)"}"#))
            switch self {
            case .noSetup: return .request(1, credit: 1)
            case .noMetadata: frame.payload.metadata = nil
            case .metadataNotAnObject: frame.payload.metadata = ByteBuffer(string: "[]")
            case .emptyToken: return .setup(metadata: ByteBuffer(string: #"{"token":""}"#))
            case .malformedToken: return .setup(token: "aaa.bbb.ccc")
            case .expiredToken: return .setup(token: try scenario.token(now: Date(timeIntervalSinceNow: -10_000)))
            case .lease: frame.usesLeases = true
            case .resume: frame.resumeToken = ByteBuffer(string: "x")
            case .metadataType: frame.metadataMIMEType = "text/plain"
            case .dataType: frame.dataMIMEType = "text/plain"
            }
            return .setup(frame)
        }
    }

    @Test(arguments: BadBeginning.allCases)
    func whoeverBeginsWronglyIsToldWhyThenTheSocketCloses(_ beginning: BadBeginning) async throws {
        try await Scenario.run { scenario in
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(try beginning.frame(scenario))
                guard case .error(let error) = try await peer.next() else {
                    Issue.record("no ERROR")
                    return
                }
                let (code, message) = beginning.rejection
                #expect(error.streamID == .connection && error.code == code)
                #expect(error.message.hasPrefix(message), "\(error.message)")
                #expect(try await peer.next() == nil)
            }
        }
    }

    @Test(
        arguments: [
            (#"{"path":"/nope"}"#, "{}", "[PSYNC_S2002] The path does not exist on this server\n  The path \"/nope\" "),
            (nil, "{}", "[PSYNC_S2001] Validation failed\n  \"Metadata is not provided\""),
            (#"{"path":"/sync/stream"}"#, #"{"buckets":5}"#, "[PSYNC_S2001] Validation failed"),
            (#"{"path":"/sync/stream"}"#, "", "[PSYNC_S2001] Validation failed"),
            ("7", "{}", "[PSYNC_S2001] Validation failed"),
        ] as [(String?, String, String)]
    )
    func aRequestThatCannotBeAnsweredFailsAlone(metadata: String?, body: String, message: String) async throws {
        try await Self.run { scenario in
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(
                    .setup(token: try scenario.token()),
                    .requestStream(
                        RequestStreamFrame(
                            streamID: StreamID(1),
                            initialRequestN: RequestN(clamping: 10),
                            payload: Payload(
                                metadata: metadata.map { ByteBuffer(string: $0) },
                                data: ByteBuffer(string: body)
                            )
                        )
                    )
                )
                guard case .error(let error) = try await peer.next() else {
                    Issue.record("no ERROR")
                    return
                }
                #expect(error.streamID == StreamID(1) && error.code == .applicationError)
                #expect(error.message.hasPrefix(message), "\(error.message)")
                try await peer.send(.request(3, credit: 1))
                #expect(try await peer.lines(1, on: 3) == Array(Self.firstLines[..<1]))
            }
        }
    }

    @Test func connectionsHaveALimitOfTheirOwn() async throws {
        try await Self.run(configure: { $0.limits.maxConcurrentConnections = 1 }) { scenario in
            let token = try scenario.token()
            try await RSocketPeer.connect(port: scenario.address.port) { first in
                try await first.send(.setup(token: token), .request(1, credit: 1))
                _ = try await first.lines(1)
                try await RSocketPeer.connect(port: scenario.address.port) { second in
                    try await second.send(.setup(token: token))
                    guard case .error(let error) = try await second.next() else {
                        Issue.record("no ERROR")
                        return
                    }
                    #expect(error.code == .rejectedSetup && error.message.hasPrefix("[PSYNC_S2304]"))
                }
                // HTTP streams are counted apart.
                var stream = try await scenario.stream(token)
                #expect(try await stream.summary() == Self.firstLines[0])
            }
        }
    }

    @Test func aTokenThatExpiresEndsTheStreamWithoutPeriodicKeepalivesBefore() async throws {
        let clock = TestClock()
        try await Scenario.run(timing: clock.timing) { scenario in
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(
                    .setup(token: try scenario.token(lifetime: .seconds(65), now: TestClock.start)),
                    .request(1, credit: 100)
                )
                #expect(try await peer.lines(2).last == "complete 0")
                try await clock.waitForTimer(of: .seconds(45))
                clock.advance(by: .seconds(45))
                #expect(try await peer.payload().text == #"{"token_expires_in":20}"#)
                try await clock.waitForTimer(of: .seconds(20))
                clock.advance(by: .seconds(20))
                #expect(try await peer.payload().text == #"{"token_expires_in":0}"#)
                #expect(try await peer.next() == .payload(.complete(StreamID(1))))
            }
        }
    }

    @Test(arguments: 0...1)
    func aConnectionIsClosed30SAfterItsTokenHasExpiredWhetherItHasAStreamOrNot(streams: UInt32) async throws {
        let clock = TestClock()
        try await Scenario.run(
            timing: clock.timing,
            configure: { $0.limits.maxConcurrentConnections = 1 }
        ) { scenario in
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(.setup(token: try scenario.token(lifetime: .seconds(65), now: TestClock.start)))
                // The stream has credit for its first line only, so it cannot say that the token has expired.
                if streams == 1 {
                    try await peer.send(.request(1, credit: 1))
                    #expect(try await peer.lines(1).count == 1)
                }
                try await clock.waitForTimer(of: .seconds(60))
                clock.advance(by: .seconds(60))
                try await clock.waitForTimer(of: .seconds(35))
                clock.advance(by: .seconds(35))
                while try await peer.next() != nil {}
            }
        }
    }

    @Test func stepOfTheWallClock() async throws {
        let clock = TestClock()
        let wallClock = WallClock(clock)
        try await Scenario.run(timing: wallClock.timing) { scenario in
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(
                    .setup(token: try scenario.token(now: TestClock.start)),
                    .request(1, credit: 100)
                )
                #expect(try await peer.lines(2).last == "complete 0")
                // The stream and the connection look again in a minute, long before the end of the token as it was.
                try await clock.waitForTimer(of: .seconds(60), count: 2)
                wallClock.step(by: 3550)
                clock.advance(by: .seconds(60))
                #expect(try await peer.payload().text == #"{"token_expires_in":0}"#)
                #expect(try await peer.next() == .payload(.complete(StreamID(1))))
                try await clock.waitForTimer(of: .seconds(20))
                clock.advance(by: .seconds(20))
                while try await peer.next() != nil {}
            }
        }
    }
}

extension ByteBuffer {
    /// A document of strings.
    fileprivate static func bson(_ members: KeyValuePairs<String, String>) -> ByteBuffer {
        var elements = ByteBuffer()
        for (name, value) in members {
            elements.writeInteger(UInt8(2))
            elements.writeNullTerminatedString(name)
            elements.writeInteger(Int32(value.utf8.count + 1), endianness: .little)
            elements.writeNullTerminatedString(value)
        }
        elements.writeInteger(UInt8(0))
        var document = ByteBuffer(integer: Int32(elements.readableBytes + 4), endianness: .little)
        document.writeImmutableBuffer(elements)
        return document
    }
}
