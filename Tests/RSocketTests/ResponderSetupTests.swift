import NIOCore
import Testing

@testable import RSocket

/// From the opened socket to the accepted SETUP (docs/protocol.md "WebSocket").
@Suite struct ResponderSetupTests {
    private let configuration: ResponderConnection.Configuration = {
        var configuration = ResponderConnection.Configuration()
        configuration.errorPrefix = "[PSYNC_S2001] "
        configuration.limits = ConnectionLimits(maximumFrameLength: 1000, maximumHeldByteCount: 10)
        configuration.maximumStreamCount = 3
        return configuration
    }()

    private func verifyingConnection() -> ResponderConnection {
        var connection = ResponderConnection(configuration, openedAt: .zero)
        let action = connection.frameReceived(.setup(.example), at: .zero)
        #expect(action == .verify(.example))
        return connection
    }

    private static func setup(_ change: (inout SetupFrame) -> Void) -> Frame {
        var setup = SetupFrame.example
        change(&setup)
        return .setup(setup)
    }

    static let rejections: [(frame: Frame, code: RSocketErrorCode, message: String)] = [
        (.request("x", on: one), .unsupportedSetup, "Unsupported setup"),
        (.keepalive(KeepaliveFrame(expectsAnswer: true)), .unsupportedSetup, "Unsupported setup"),
        (.cancel(one), .unsupportedSetup, "Unsupported setup"),
        (.unsupported(.extension, on: one, isIgnorable: true), .unsupportedSetup, "Unsupported setup"),
        (.unsupported(.resume, on: .connection), .rejectedResume, "Resume is not enabled"),
        (setup { $0.usesLeases = true }, .rejectedSetup, "Lease has to be disabled"),
        (setup { $0.resumeToken = ByteBuffer() }, .rejectedSetup, "No resume support"),
        (setup { $0.version = .init(major: 2, minor: 0) }, .unsupportedSetup, "Unsupported setup"),
        (setup { $0.lifetime = .zero }, .invalidSetup, "Invalid keepalive times"),
        (setup { $0.keepaliveInterval = .zero }, .invalidSetup, "Invalid keepalive times"),
    ]

    @Test(arguments: rejections)
    func firstFramesThatLeadNowhere(_ frame: Frame, code: RSocketErrorCode, message: String) throws {
        var connection = ResponderConnection(configuration, openedAt: .zero)
        let action = connection.messageReceived(try frame.encoded(), at: .zero)
        let text = "[PSYNC_S2001] " + message
        let expected = ConnectionClosure(
            reason: .setupRejected(code, message: text),
            lastFrame: .error(code, text, on: .connection),
            streams: []
        )
        #expect(action == .close(expected))
        #expect(connection.deadline == nil)
    }

    static let unreadable: [(hex: String, error: FrameError)] = [
        ("", .truncated(.header)),
        ("6869", .truncated(.header)),
        ("ffffffff 0500", .invalidStreamID(.setup, .max)),
        ("00000000 0500 0001", .truncated(.version)),
    ]

    @Test(arguments: unreadable)
    func aFirstMessageThatIsNoFrameGetsNoAnswer(_ hex: String, error: FrameError) {
        var connection = ResponderConnection(configuration, openedAt: .zero)
        let action = connection.messageReceived(ByteBuffer(hex: hex), at: .zero)
        #expect(action == .close(ConnectionClosure(reason: .malformedFrame(error), lastFrame: nil, streams: [])))
    }

    @Test func aTextThatHappensToBeAFrameIsAnsweredAsOne() {
        var connection = ResponderConnection(configuration, openedAt: .zero)
        let action = connection.messageReceived(ByteBuffer(string: "hello there"), at: .zero)
        let message = "[PSYNC_S2001] Unsupported setup"
        let expected = ConnectionClosure(
            reason: .setupRejected(.unsupportedSetup, message: message),
            lastFrame: .error(.unsupportedSetup, message, on: .connection),
            streams: []
        )
        #expect(action == .close(expected))
    }

    @Test func aMinorVersionIsAccepted() {
        var connection = ResponderConnection(configuration, openedAt: .zero)
        let action = connection.frameReceived(Self.setup { $0.version = .init(major: 1, minor: 9) }, at: .zero)
        guard case .verify = action else {
            Issue.record("\(action)")
            return
        }
    }

    @Test func aConnectionWithoutSetupIsClosed() {
        var connection = ResponderConnection(configuration, openedAt: .seconds(5))
        #expect(connection.deadline == .seconds(35))
        let early = connection.timerFired(at: .seconds(34))
        let due = connection.timerFired(at: .seconds(35))
        #expect(early == nil)
        #expect(due == ConnectionClosure(reason: .setupTimeout, lastFrame: nil, streams: []))
    }

    // MARK: While the token is verified

    @Test func requestsWaitForTheVerification() {
        var connection = verifyingConnection()
        for frame: Frame in [
            .request("a", on: one, requestN: 1), .request("b", on: three), .requestN(one, RequestN(1)),
            .cancel(three), .fragment("ignored", on: three), .request("c", on: StreamID(5)),
        ] {
            let action = connection.frameReceived(frame, at: .zero)
            #expect(action == .none, "\(frame)")
        }
        let requests = connection.acceptSetup()
        #expect(
            requests == [
                StreamRequest(streamID: one, payload: Payload("a")),
                StreamRequest(streamID: StreamID(5), payload: Payload("c")),
            ]
        )
        let sent = (0..<3).map { _ in connection.send(Payload("x"), on: one) }
        #expect(sent == [.send(.next("x", on: one)), .send(.next("x", on: one)), .waitForCredit])
    }

    @Test func aRequestInFragmentsMayGoOnAfterTheVerification() {
        var connection = verifyingConnection()
        let request = RequestStreamFrame(
            streamID: one,
            initialRequestN: RequestN(1),
            payload: Payload("a"),
            hasMoreFragments: true
        )
        let first = connection.frameReceived(.requestStream(request), at: .zero)
        let requests = connection.acceptSetup()
        let second = connection.frameReceived(.next("b", on: one), at: .zero)
        #expect(first == .none)
        #expect(requests.isEmpty)
        #expect(second == .start(StreamRequest(streamID: one, payload: Payload("ab"))))
    }

    @Test func keepalivesAreAnsweredDuringTheVerification() {
        var connection = verifyingConnection()
        let action = connection.frameReceived(.keepalive(KeepaliveFrame(expectsAnswer: true)), at: .seconds(1))
        #expect(action == .send(.keepalive(KeepaliveFrame(expectsAnswer: false))))
        #expect(connection.deadline == .seconds(91))
    }

    @Test func aTimerThatIsTooEarlyChangesNothing() {
        var connection = verifyingConnection()
        _ = connection.frameReceived(.request("a", on: one), at: .zero)
        let closure = connection.timerFired(at: .seconds(30))
        #expect(closure == nil)
        let requests = connection.acceptSetup()
        #expect(requests == [StreamRequest(streamID: one, payload: Payload("a"))])
    }

    @Test func theLifetimeBeginsAgainWhenReadingContinues() {
        var connection = verifyingConnection()
        _ = connection.frameReceived(.request("a", on: one), at: .zero)
        connection.readingContinues(at: .seconds(80))
        #expect(connection.deadline == .seconds(170))
        let requests = connection.acceptSetup()
        #expect(requests == [StreamRequest(streamID: one, payload: Payload("a"))])
    }

    @Test func theTimeForTheSetupDoesNotBeginAgain() {
        var connection = ResponderConnection(configuration, openedAt: .zero)
        connection.readingContinues(at: .seconds(20))
        #expect(connection.deadline == .seconds(30))
        let action = connection.frameReceived(.setup(.example), at: .seconds(20))
        #expect(action == .verify(.example))
    }

    @Test func messagesThatAreNoFramesEndTheVerification() throws {
        let keepalive = KeepaliveFrame(expectsAnswer: false, data: ByteBuffer(repeating: 0, count: 1000 - 14))
        let longest = try Frame.keepalive(keepalive).encoded()
        var tooLong = longest
        tooLong.writeInteger(0 as UInt8)
        for (message, error) in [
            (tooLong, .tooLong(limit: 1000)), (ByteBuffer(hex: "0000"), .truncated(.header)),
        ] as [(ByteBuffer, FrameError)] {
            var connection = verifyingConnection()
            _ = connection.frameReceived(.request("a", on: one), at: .zero)
            let accepted = connection.messageReceived(longest, at: .zero)
            let action = connection.messageReceived(message, at: .zero)
            let expected = ConnectionClosure(
                reason: .malformedFrame(error),
                lastFrame: .error(.connectionError, "[PSYNC_S2001] " + error.description, on: .connection),
                streams: []
            )
            #expect(accepted == .none)
            #expect(action == .close(expected))
        }
    }

    @Test func waitingRequestsAndFragmentsAreBoundedTogether() {
        let fragment = RequestStreamFrame(
            streamID: three,
            initialRequestN: RequestN(1),
            payload: Payload("67890"),
            hasMoreFragments: true
        )
        for last: Frame in [.request("x", on: StreamID(5)), .fragment("x", on: three)] {
            var connection = verifyingConnection()
            let actions = [
                connection.frameReceived(.request("12345", on: one), at: .zero),
                connection.frameReceived(.requestStream(fragment), at: .zero),
                connection.frameReceived(last, at: .zero),
            ]
            let violation = ProtocolViolation.tooManyHeldBytes(limit: 10)
            let message = "[PSYNC_S2001] " + violation.description
            let closure = ConnectionClosure(
                reason: .violation(violation),
                lastFrame: .error(.connectionError, message, on: .connection),
                streams: []
            )
            #expect(actions == [.none, .none, .close(closure)])
        }
    }

    @Test func aBrokenStreamIsForgottenBeforeItStarts() {
        var connection = verifyingConnection()
        _ = connection.frameReceived(.request("a", on: one), at: .zero)
        let action = connection.frameReceived(.next("x", on: one), at: .zero)
        let message = "[PSYNC_S2001] " + ProtocolViolation.unexpectedFrame(.payload, one).description
        #expect(action == .send(.error(.canceled, message, on: one)))
        let requests = connection.acceptSetup()
        #expect(requests.isEmpty)
    }

    @Test func aRejectedSetupEndsTheConnection() {
        var connection = verifyingConnection()
        _ = connection.frameReceived(.request("a", on: one), at: .zero)
        let message = "[PSYNC_S2103] JWT has expired"
        let closure = connection.rejectSetup(code: .rejectedSetup, message: message)
        #expect(
            closure
                == ConnectionClosure(
                    reason: .setupRejected(.rejectedSetup, message: message),
                    lastFrame: .error(.rejectedSetup, message, on: .connection),
                    streams: []
                )
        )
        let later = connection.frameReceived(.request("b", on: three), at: .zero)
        #expect(later == .none)
    }

    @Test func theEndDuringTheVerificationMakesItsResultMoot() {
        var connection = verifyingConnection()
        _ = connection.frameReceived(.request("a", on: one), at: .zero)
        let open = connection.connectionClosed()
        let requests = connection.acceptSetup()
        let closure = connection.rejectSetup(code: .rejectedSetup, message: "")
        #expect(open.isEmpty && requests.isEmpty)
        #expect(closure == nil)
    }

    @Test func silenceAndErrorsEndTheVerification() {
        var silent = verifyingConnection()
        let timeout = silent.timerFired(at: .seconds(90))
        #expect(timeout == ConnectionClosure(reason: .peerSilent, lastFrame: nil, streams: []))

        var leaving = verifyingConnection()
        _ = leaving.frameReceived(.request("a", on: one), at: .zero)
        let action = leaving.frameReceived(.error(.connectionClose, "bye", on: .connection), at: .zero)
        let reason = RSocketError.endedByPeer(.connectionClose, message: "bye")
        #expect(action == .close(ConnectionClosure(reason: reason, lastFrame: nil, streams: [])))
    }
}
