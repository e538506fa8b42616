import NIOCore
import Testing

@testable import RSocket

/// Streams and keepalives of a connection whose SETUP was accepted (docs/protocol.md "WebSocket").
@Suite struct ResponderConnectionTests {
    private let lifetime = Duration.seconds(90)

    private func connection(maximumStreamCount: Int = 2) -> ResponderConnection {
        var configuration = ResponderConnection.Configuration()
        configuration.errorPrefix = "[PSYNC_S2001] "
        configuration.limits.maximumHeldByteCount = 10
        configuration.maximumStreamCount = maximumStreamCount
        var connection = ResponderConnection(configuration, openedAt: .zero)
        _ = connection.frameReceived(.setup(.example), at: .zero)
        let requests = connection.acceptSetup()
        #expect(requests.isEmpty)
        return connection
    }

    /// A connection with a request on stream 1.
    private func streamingConnection(requestN: UInt32 = 10) -> ResponderConnection {
        var connection = connection()
        let action = connection.frameReceived(.request("a", on: one, requestN: requestN), at: .zero)
        #expect(action == .start(StreamRequest(streamID: one, payload: Payload("a"))))
        return connection
    }

    private func closure(_ violation: ProtocolViolation, streams: [StreamID]) -> ResponderConnection.ReceiveAction {
        .close(
            ConnectionClosure(
                reason: .violation(violation),
                lastFrame: .error(.connectionError, "[PSYNC_S2001] " + violation.description, on: .connection),
                streams: streams
            )
        )
    }

    private func rejection(_ streamID: StreamID, _ message: String) -> ResponderConnection.ReceiveAction {
        .send(.error(.rejected, "[PSYNC_S2001] " + message, on: streamID))
    }

    // MARK: Credit

    @Test func payloadsAreSentAsLongAsThereIsCredit() {
        var connection = streamingConnection(requestN: 1)
        let before = (0..<2).map { _ in connection.send(Payload("x"), on: one) }
        let more = connection.frameReceived(.requestN(one, RequestN(2)), at: .zero)
        let evenMore = connection.frameReceived(.requestN(one, .maximum), at: .zero)
        let after = connection.send(Payload("x"), on: one)
        #expect(before == [.send(.next("x", on: one)), .waitForCredit])
        #expect(more == .resume(one))
        #expect(evenMore == .none)
        #expect(after == .send(.next("x", on: one)))
    }

    @Test func keepalivesAreAnsweredAndStreamsEndWithoutCredit() {
        var connection = streamingConnection(requestN: 1)
        _ = connection.send(Payload("x"), on: one)
        let data = ByteBuffer(string: "ab")
        let keepalive = KeepaliveFrame(expectsAnswer: true, position: 3, data: data)
        let answer = connection.frameReceived(.keepalive(keepalive), at: .zero)
        let end = connection.complete(one)
        #expect(answer == .send(.keepalive(KeepaliveFrame(expectsAnswer: false, data: data))))
        #expect(end == .complete(one))
    }

    @Test func keepalivesAsLongAsTheLimitAreAnswered() {
        var connection = connection()
        let data = ByteBuffer(repeating: 1, count: ConnectionLimits.maximumKeepaliveDataLength)
        let answer = connection.frameReceived(.keepalive(KeepaliveFrame(expectsAnswer: true, data: data)), at: .zero)
        #expect(answer == .send(.keepalive(KeepaliveFrame(expectsAnswer: false, data: data))))
    }

    // MARK: Ends of a stream

    @Test func aStreamEndsOnce() {
        var connection = streamingConnection()
        let message = "[PSYNC_S2302] No sync config available"
        let frames = [
            connection.fail(one, code: .applicationError, message: message), connection.complete(one),
            connection.fail(one, code: .applicationError, message: message), connection.complete(three),
        ]
        #expect(frames == [.error(.applicationError, message, on: one), nil, nil, nil])
        let sent = connection.send(Payload("x"), on: one)
        #expect(sent == .streamEnded)
    }

    @Test func aCancelledStreamSendsNothingMoreAndTheNextOneWorks() {
        var connection = streamingConnection()
        let actions = [
            connection.frameReceived(.cancel(one), at: .zero), connection.frameReceived(.cancel(one), at: .zero),
            connection.frameReceived(.requestN(one, RequestN(1)), at: .zero),
        ]
        #expect(actions == [.cancel(one), .none, .none])
        let sent = connection.send(Payload("x"), on: one)
        let end = connection.complete(one)
        #expect(sent == .streamEnded)
        #expect(end == nil)
        let next = connection.frameReceived(.request("b", on: three), at: .zero)
        #expect(next == .start(StreamRequest(streamID: three, payload: Payload("b"))))
    }

    @Test(arguments: [
        Frame.next("x", on: one), .complete(one), .fragment("x", on: one), .error(.canceled, "", on: one),
    ])
    func aFrameThatMakesNoSenseOnAStreamAbortsIt(_ frame: Frame) {
        var connection = streamingConnection()
        let action = connection.frameReceived(frame, at: .zero)
        let message = "[PSYNC_S2001] " + ProtocolViolation.unexpectedFrame(frame.type, one).description
        #expect(action == .abort(ErrorFrame(streamID: one, code: .canceled, message: message)))
        let again = connection.frameReceived(frame, at: .zero)
        let open = connection.connectionClosed()
        #expect(again == .none)
        #expect(open.isEmpty)
    }

    // MARK: Requests

    @Test func fragmentsOfARequestAreCollectedAndCreditCounts() {
        var connection = connection()
        let first = RequestStreamFrame(
            streamID: one,
            initialRequestN: RequestN(1),
            payload: Payload("a", metadata: "m"),
            hasMoreFragments: true
        )
        let actions = [
            connection.frameReceived(.requestStream(first), at: .zero),
            connection.frameReceived(.requestN(one, RequestN(1)), at: .zero),
            connection.frameReceived(.request("other", on: three), at: .zero),
            connection.frameReceived(.fragment("b", on: one), at: .zero),
            connection.frameReceived(.next("c", on: one), at: .zero),
        ]
        #expect(
            actions == [
                .none, .none, .start(StreamRequest(streamID: three, payload: Payload("other"))), .none,
                .start(StreamRequest(streamID: one, payload: Payload("abc", metadata: "m"))),
            ]
        )
        let sent = (0..<3).map { _ in connection.send(Payload("x"), on: one) }
        #expect(sent == [.send(.next("x", on: one)), .send(.next("x", on: one)), .waitForCredit])
    }

    @Test func anIncompleteRequestIsUnknownToTheService() {
        var connection = connection()
        let first = RequestStreamFrame(
            streamID: one,
            initialRequestN: RequestN(1),
            payload: Payload("a"),
            hasMoreFragments: true
        )
        _ = connection.frameReceived(.requestStream(first), at: .zero)
        let cancelled = connection.frameReceived(.cancel(one), at: .zero)
        let late = connection.frameReceived(.next("b", on: one), at: .zero)
        #expect((cancelled, late) == (.none, .none))
        let second = RequestStreamFrame(
            streamID: three,
            initialRequestN: RequestN(1),
            payload: Payload("a"),
            hasMoreFragments: true
        )
        _ = connection.frameReceived(.requestStream(second), at: .zero)
        let open = connection.connectionClosed()
        #expect(open.isEmpty)
    }

    @Test func fragmentsAreBounded() {
        var connection = streamingConnection()
        let first = RequestStreamFrame(
            streamID: three,
            initialRequestN: RequestN(1),
            payload: Payload("0123456789"),
            hasMoreFragments: true
        )
        let begun = connection.frameReceived(.requestStream(first), at: .zero)
        let action = connection.frameReceived(.fragment("x", on: three), at: .zero)
        #expect(begun == .none)
        #expect(action == closure(.tooManyHeldBytes(limit: 10), streams: [one]))
    }

    @Test func streamIDsAscendAndAreOdd() {
        var connection = connection(maximumStreamCount: 10)
        let five = StreamID(5)
        let actions = [
            connection.frameReceived(.request("a", on: five), at: .zero),
            connection.frameReceived(.request("again", on: five), at: .zero),
            connection.frameReceived(.request("b", on: three), at: .zero),
            connection.frameReceived(.cancel(five), at: .zero),
            connection.frameReceived(.request("c", on: five), at: .zero),
            connection.frameReceived(.request("d", on: StreamID(4)), at: .zero),
        ]
        #expect(
            actions == [
                .start(StreamRequest(streamID: five, payload: Payload("a"))), .none,
                rejection(three, "Stream id 3 does not come after 5"), .cancel(five),
                rejection(five, "Stream id 5 does not come after 5"),
                closure(.invalidStreamID(.requestStream, StreamID(4)), streams: []),
            ]
        )
    }

    @Test func tooManyStreamsAreRejectedUntilOneEnds() {
        var connection = connection(maximumStreamCount: 1)
        _ = connection.frameReceived(.request("a", on: one), at: .zero)
        let tooMany = connection.frameReceived(.request("b", on: three), at: .zero)
        _ = connection.complete(one)
        let next = connection.frameReceived(.request("c", on: StreamID(5)), at: .zero)
        #expect(tooMany == rejection(three, "More than 1 streams on one connection"))
        #expect(next == .start(StreamRequest(streamID: StreamID(5), payload: Payload("c"))))
    }

    @Test func theIDOfARequestThatWasRejectedIsUsed() {
        var connection = connection(maximumStreamCount: 1)
        _ = connection.frameReceived(.request("a", on: one), at: .zero)
        _ = connection.frameReceived(.request("b", on: three), at: .zero)
        _ = connection.complete(one)
        let again = connection.frameReceived(.request("b", on: three), at: .zero)
        #expect(again == rejection(three, "Stream id 3 does not come after 3"))
    }

    @Test func anotherKindOfRequestMakesNoHigherIDFree() {
        var connection = connection()
        let five = StreamID(5)
        _ = connection.frameReceived(.request("a", on: five), at: .zero)
        _ = connection.complete(five)
        _ = connection.frameReceived(.unsupported(.requestResponse, on: three), at: .zero)
        let again = connection.frameReceived(.request("a", on: five), at: .zero)
        #expect(again == rejection(five, "Stream id 5 does not come after 5"))
    }

    @Test func otherKindsOfRequestsAreRejectedOrDropped() {
        var connection = streamingConnection()
        let five = StreamID(5)
        let actions = [
            connection.frameReceived(.unsupported(.requestResponse, on: three), at: .zero),
            connection.frameReceived(.unsupported(.requestChannel, on: five), at: .zero),
            connection.frameReceived(.fragment("of a channel", on: five), at: .zero),
            connection.frameReceived(.unsupported(.requestFireAndForget, on: StreamID(7)), at: .zero),
            connection.frameReceived(.unsupported(.requestResponse, on: one), at: .zero),
            connection.frameReceived(.request("b", on: five), at: .zero),
        ]
        #expect(
            actions == [
                rejection(three, "No available handler found"), rejection(five, "No available handler found"), .none,
                .none, .none, rejection(five, "Stream id 5 does not come after 7"),
            ]
        )
    }

    // MARK: Mistakes of the client

    static let violations: [(Frame, ProtocolViolation)] = [
        (.setup(.example), .unexpectedFrame(.setup, .connection)),
        (.request("x", on: StreamID(2)), .invalidStreamID(.requestStream, StreamID(2))),
        (.unsupported(.requestChannel, on: StreamID(2)), .invalidStreamID(.requestChannel, StreamID(2))),
        (.unsupported(.requestFireAndForget, on: .connection), .invalidStreamID(.requestFireAndForget, .connection)),
        (.unsupported(.lease, on: .connection), .unknownFrame(.lease)),
        (.unsupported(.resume, on: .connection), .unknownFrame(.resume)),
        (.unsupported(.extension, on: one), .unknownFrame(.extension)),
        (.unsupported(FrameType(rawValue: 0), on: one), .unknownFrame(FrameType(rawValue: 0))),
        (
            .keepalive(
                KeepaliveFrame(
                    expectsAnswer: true,
                    data: ByteBuffer(repeating: 0, count: ConnectionLimits.maximumKeepaliveDataLength + 1)
                )
            ), .keepaliveTooLong(limit: 65_536)
        ),
    ]

    @Test(arguments: violations)
    func mistakesOfTheClientEndTheConnection(_ frame: Frame, violation: ProtocolViolation) {
        var connection = streamingConnection()
        let action = connection.frameReceived(frame, at: .zero)
        #expect(action == closure(violation, streams: [one]))
        let sent = connection.send(Payload("x"), on: one)
        let end = connection.complete(one)
        #expect(sent == .streamEnded)
        #expect(end == nil)
    }

    @Test func aMessageThatIsNoFrameEndsTheConnection() {
        var connection = streamingConnection()
        let action = connection.messageReceived(ByteBuffer(hex: "00000001 2000 00000000"), at: .zero)
        let error = FrameError.invalidRequestN(0)
        let expected = ConnectionClosure(
            reason: .malformedFrame(error),
            lastFrame: .error(.connectionError, "[PSYNC_S2001] " + error.description, on: .connection),
            streams: [one]
        )
        #expect(action == .close(expected))
    }

    @Test(arguments: [
        Frame.unsupported(.extension, on: one, isIgnorable: true), .unsupported(.metadataPush, on: .connection),
        .unsupported(FrameType(rawValue: 0x20), on: StreamID(9), isIgnorable: true),
        .unsupported(.lease, on: .connection, isIgnorable: true), .keepalive(KeepaliveFrame(expectsAnswer: false)),
        .cancel(three), .requestN(three, RequestN(1)), .next("x", on: three), .error(.canceled, "", on: three),
        .cancel(StreamID(2)),
    ])
    func theseFramesAreIgnored(_ frame: Frame) {
        var connection = streamingConnection()
        let action = connection.frameReceived(frame, at: .zero)
        #expect(action == .none)
        let sent = connection.send(Payload("x"), on: one)
        #expect(sent == .send(.next("x", on: one)))
    }

    // MARK: The end

    @Test func onlyKeepalivesKeepTheConnection() {
        var connection = streamingConnection()
        #expect(connection.deadline == lifetime)
        _ = connection.frameReceived(.requestN(one, RequestN(1)), at: .seconds(50))
        #expect(connection.deadline == lifetime)
        _ = connection.frameReceived(.keepalive(KeepaliveFrame(expectsAnswer: true)), at: .seconds(60))
        #expect(connection.deadline == .seconds(150))
        let early = connection.timerFired(at: .seconds(149))
        let due = connection.timerFired(at: .seconds(150))
        let later = connection.timerFired(at: .seconds(151))
        #expect(early == nil)
        #expect(due == ConnectionClosure(reason: .peerSilent, lastFrame: nil, streams: [one]))
        #expect(later == nil)
    }

    @Test func anErrorOfTheClientEndsAllStreams() {
        var connection = streamingConnection()
        _ = connection.frameReceived(.request("b", on: three), at: .zero)
        let action = connection.frameReceived(.error(.connectionError, "no", on: .connection), at: .zero)
        let reason = RSocketError.endedByPeer(.connectionError, message: "no")
        #expect(action == .close(ConnectionClosure(reason: reason, lastFrame: nil, streams: [one, three])))
    }

    @Test func aClosedSocketEndsAllStreams() {
        var connection = streamingConnection()
        _ = connection.frameReceived(.request("b", on: three), at: .zero)
        let first = connection.connectionClosed()
        let second = connection.connectionClosed()
        #expect((first, second) == ([one, three], []))
        let action = connection.frameReceived(.request("c", on: StreamID(5)), at: .zero)
        #expect(action == .none)
        #expect(connection.deadline == nil)
    }
}
