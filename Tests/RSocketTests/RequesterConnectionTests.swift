import NIOCore
import Testing

@testable import RSocket

@Suite struct RequesterConnectionTests {
    private func connection(limits: ConnectionLimits = .requester) -> RequesterConnection {
        RequesterConnection(RequesterConnection.Configuration(setup: .example, limits: limits), openedAt: .zero)
    }

    private func closure(_ violation: ProtocolViolation, streams: [StreamID]) -> RequesterConnection.ReceiveAction {
        .close(
            ConnectionClosure(
                reason: .violation(violation),
                lastFrame: .error(.connectionError, violation.description, on: .connection),
                streams: streams
            )
        )
    }

    // MARK: Streams

    @Test func setupComesFirstAndStreamsHaveOddAscendingIDs() throws {
        var connection = connection()
        #expect(connection.setupFrame == .setup(.example))
        let requests = [
            try connection.requestStream(Payload("a")),
            try connection.requestStream(Payload("b"), window: CreditWindow(size: 3, refillThreshold: 1)),
        ]
        #expect(requests.map(\.streamID) == [one, three])
        #expect(requests.map(\.initialRequestN) == [RequestN(10), RequestN(3)])
        #expect(requests.map(\.payload) == [Payload("a"), Payload("b")])
        #expect(requests.map(\.hasMoreFragments) == [false, false])
    }

    @Test func theIDsOfAConnectionRunOut() {
        #expect(StreamID(0x7fff_fffd).next == StreamID(0x7fff_ffff))
        #expect(StreamID(0x7fff_ffff).next == nil)
    }

    @Test func aRequestThatFitsIntoNoFrameOpensNoStream() throws {
        var connection = connection()
        let long = Payload(metadata: ByteBuffer(repeating: 0, count: Payload.maximumMetadataLength + 1))
        do {
            _ = try connection.requestStream(long)
            Issue.record("was accepted")
        } catch {
            #expect(error == .malformedFrame(.fieldTooLong(.metadata, limit: Payload.maximumMetadataLength)))
        }
        #expect(try connection.requestStream(Payload("a")).streamID == one)
    }

    @Test func payloadsAreDeliveredUntilTheStreamIsComplete() throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"))
        _ = try connection.requestStream(Payload("b"))
        let actions = [
            connection.frameReceived(.next("1", on: one), at: .zero),
            connection.frameReceived(.next("2", on: three), at: .zero),
            connection.frameReceived(.complete(one), at: .zero),
            connection.frameReceived(.next("3", on: three), at: .zero),
            connection.frameReceived(.next("late", on: one), at: .zero),
            connection.frameReceived(.complete(one), at: .zero),
        ]
        #expect(
            actions == [
                .deliver(Payload("1"), to: one), .deliver(Payload("2"), to: three), .complete(one),
                .deliver(Payload("3"), to: three), .none, .none,
            ]
        )
        let open = connection.connectionClosed()
        #expect(open == [three])
    }

    @Test func aPayloadMayEndTheStream() throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"))
        let last = PayloadFrame(streamID: one, isNext: true, isComplete: true, payload: Payload("1"))
        let actions = [
            connection.frameReceived(.payload(last), at: .zero), connection.frameReceived(.payload(last), at: .zero),
        ]
        #expect(actions == [.deliverLast(Payload("1"), to: one), .none])
        let frames = [connection.payloadConsumed(on: one), connection.cancel(one)]
        #expect(frames == [nil, nil])
    }

    @Test func anErrorEndsItsStreamOnly() throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"))
        _ = try connection.requestStream(Payload("b"))
        let error = ErrorFrame(
            streamID: one,
            code: .applicationError,
            message: "[PSYNC_S2302] No sync config available"
        )
        let actions = [
            connection.frameReceived(.error(error), at: .zero), connection.frameReceived(.error(error), at: .zero),
            connection.frameReceived(.next("1", on: three), at: .zero),
        ]
        #expect(actions == [.fail(error), .none, .deliver(Payload("1"), to: three)])
    }

    @Test func whatComesAfterACancelIsIgnored() throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"))
        let delivered = connection.frameReceived(.next("1", on: one), at: .zero)
        #expect(delivered == .deliver(Payload("1"), to: one))
        let frames = [connection.cancel(one), connection.cancel(one), connection.payloadConsumed(on: one)]
        #expect(frames == [.cancel(one), nil, nil])
        for frame: Frame in [
            .next("2", on: one), .fragment("3", on: one), .complete(one), .error(.canceled, "", on: one),
            .requestN(one, RequestN(1)), .cancel(one),
        ] {
            let action = connection.frameReceived(frame, at: .zero)
            #expect(action == .none, "\(frame)")
        }
        #expect(try connection.requestStream(Payload("b")).streamID == three)
    }

    // MARK: Credit

    @Test func consumedPayloadsAreRequestedAgainAtTheThreshold() throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"))
        var requested: [Int: Frame] = [:]
        for count in 1...15 {
            let action = connection.frameReceived(.next("\(count)", on: one), at: .zero)
            #expect(action == .deliver(Payload("\(count)"), to: one))
            if let frame = connection.payloadConsumed(on: one) { requested[count] = frame }
        }
        let five = Frame.requestN(one, RequestN(5))
        #expect(requested == [5: five, 10: five, 15: five])
    }

    @Test func nothingIsRequestedForAConsumerThatStandsStill() throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"), window: CreditWindow(size: 4, refillThreshold: 2))
        for _ in 0..<4 {
            let action = connection.frameReceived(.next("x", on: one), at: .zero)
            #expect(action == .deliver(Payload("x"), to: one))
        }
        let frames = (0..<4).map { _ in connection.payloadConsumed(on: one) }
        // Two left after two; filled up to four; two left again after four.
        #expect(frames == [nil, .requestN(one, RequestN(2)), nil, .requestN(one, RequestN(2))])
    }

    @Test func aPayloadWithoutCreditEndsTheConnection() throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"), window: CreditWindow(size: 2, refillThreshold: 0))
        _ = try connection.requestStream(Payload("b"))
        let actions = (0..<4).map { _ in connection.frameReceived(.next("x", on: one), at: .zero) }
        let delivery = RequesterConnection.ReceiveAction.deliver(Payload("x"), to: one)
        #expect(actions == [delivery, delivery, closure(.creditExceeded(one), streams: [one, three]), .none])
    }

    @Test func theEndOfAStreamNeedsNoCredit() throws {
        for end in [Frame.complete(one), .error(.applicationError, "", on: one)] {
            var connection = connection()
            _ = try connection.requestStream(Payload("a"), window: CreditWindow(size: 1, refillThreshold: 0))
            _ = connection.frameReceived(.next("x", on: one), at: .zero)
            let action = connection.frameReceived(end, at: .zero)
            if case .close = action { Issue.record("\(end)") }
            let open = connection.connectionClosed()
            #expect(open.isEmpty)
        }
    }

    // MARK: Fragments

    @Test func fragmentsAreOnePayloadAndTakeOneCredit() throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"), window: CreditWindow(size: 1, refillThreshold: 0))
        let last = PayloadFrame(streamID: one, isNext: false, isComplete: true, payload: Payload("c"))
        let actions = [
            connection.frameReceived(.fragment("a", metadata: "m", on: one), at: .zero),
            connection.frameReceived(.fragment("b", on: one), at: .zero),
            connection.frameReceived(.payload(last), at: .zero),
        ]
        #expect(actions == [.partArrived, .partArrived, .deliverLast(Payload("abc", metadata: "m"), to: one)])
    }

    @Test func fragmentsNeedNoNextFlag() throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"))
        let first = PayloadFrame(
            streamID: one,
            isNext: false,
            isComplete: false,
            hasMoreFragments: true,
            payload: Payload("a")
        )
        let actions = [
            connection.frameReceived(.payload(first), at: .zero),
            connection.frameReceived(.next("b", on: one), at: .zero),
        ]
        #expect(actions == [.partArrived, .deliver(Payload("ab"), to: one)])
    }

    @Test func theFirstFragmentNeedsCredit() throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"), window: CreditWindow(size: 1, refillThreshold: 0))
        _ = connection.frameReceived(.next("x", on: one), at: .zero)
        let action = connection.frameReceived(.fragment("y", on: one), at: .zero)
        #expect(action == closure(.creditExceeded(one), streams: [one]))
    }

    @Test(arguments: [true, false]) func fragmentsOfAStreamThatEndedTakeNothingFromOthers(isCancelled: Bool) throws {
        var connection = connection(limits: ConnectionLimits(maximumFrameLength: 100, maximumHeldByteCount: 5))
        _ = try connection.requestStream(Payload("a"))
        _ = try connection.requestStream(Payload("b"))
        _ = connection.frameReceived(.fragment("12345", on: one), at: .zero)
        if isCancelled {
            _ = connection.cancel(one)
        } else {
            _ = connection.frameReceived(.error(.applicationError, "", on: one), at: .zero)
        }
        let actions = [
            connection.frameReceived(.fragment("1234", on: three), at: .zero),
            connection.frameReceived(.next("5", on: three), at: .zero),
        ]
        #expect(actions == [.partArrived, .deliver(Payload("12345"), to: three)])
    }

    @Test func fragmentsAreBoundedOverAllStreams() throws {
        var connection = connection(limits: ConnectionLimits(maximumFrameLength: 100, maximumHeldByteCount: 5))
        _ = try connection.requestStream(Payload("a"))
        _ = try connection.requestStream(Payload("b"))
        let actions = [
            connection.frameReceived(.fragment("123", on: one), at: .zero),
            connection.frameReceived(.fragment("12", on: three), at: .zero),
            connection.frameReceived(.next("3", on: three), at: .zero),
        ]
        #expect(actions == [.partArrived, .partArrived, closure(.tooManyHeldBytes(limit: 5), streams: [one, three])])
    }

    // MARK: Mistakes of the service

    static let violations: [(Frame, ProtocolViolation)] = [
        (.setup(.example), .unexpectedFrame(.setup, .connection)),
        (.requestN(one, RequestN(1)), .unexpectedFrame(.requestN, one)),
        (.cancel(one), .unexpectedFrame(.cancel, one)),
        (.next("x", on: three), .invalidStreamID(.payload, three)),
        (.error(.canceled, "", on: three), .invalidStreamID(.error, three)),
        (.cancel(three), .invalidStreamID(.cancel, three)),
        (.request("x", on: three), .invalidStreamID(.requestStream, three)),
        (.unsupported(.requestResponse, on: .connection), .invalidStreamID(.requestResponse, .connection)),
        (
            .payload(PayloadFrame(streamID: one, isNext: false, isComplete: false, payload: Payload("x"))),
            .emptyPayload(one)
        ),
        (.unsupported(.lease, on: .connection), .unknownFrame(.lease)),
        (.unsupported(.resumeOK, on: .connection), .unknownFrame(.resumeOK)),
        (.unsupported(.extension, on: one), .unknownFrame(.extension)),
        (.unsupported(FrameType(rawValue: 0x20), on: one), .unknownFrame(FrameType(rawValue: 0x20))),
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
    func mistakesOfTheServiceEndTheConnection(_ frame: Frame, violation: ProtocolViolation) throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"))
        let action = connection.frameReceived(frame, at: .zero)
        #expect(action == closure(violation, streams: [one]))
        #expect(connection.deadline == nil)
    }

    @Test(arguments: [
        Frame.unsupported(.lease, on: .connection, isIgnorable: true),
        .unsupported(FrameType(rawValue: 0x20), on: StreamID(9), isIgnorable: true),
        .unsupported(.extension, on: one, isIgnorable: true), .unsupported(.metadataPush, on: .connection),
        .unsupported(.requestFireAndForget, on: StreamID(2)), .next("x", on: StreamID(2)), .cancel(StreamID(2)),
        .requestN(StreamID(2), RequestN(1)),
    ])
    func theseFramesAreIgnored(_ frame: Frame) throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"))
        let action = connection.frameReceived(frame, at: .zero)
        #expect(action == .none)
        let open = connection.connectionClosed()
        #expect(open == [one])
    }

    @Test func requestsOfTheServiceAreRejected() {
        var connection = connection()
        let two = StreamID(2)
        for frame: Frame in [.request("x", on: two), .unsupported(.requestChannel, on: two)] {
            let action = connection.frameReceived(frame, at: .zero)
            #expect(action == .send(.error(.rejected, "No available handler found", on: two)))
        }
    }

    @Test func aMessageThatIsNoFrameEndsTheConnection() throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"))
        let action = connection.messageReceived(ByteBuffer(hex: "0000"), at: .zero)
        let error = FrameError.truncated(.header)
        #expect(
            action
                == .close(
                    ConnectionClosure(
                        reason: .malformedFrame(error),
                        lastFrame: .error(.connectionError, error.description, on: .connection),
                        streams: [one]
                    )
                )
        )
        let later = connection.messageReceived(ByteBuffer(hex: "0000"), at: .zero)
        #expect(later == .none)
    }

    @Test func aMessageAboveTheLimitEndsTheConnection() throws {
        var connection = connection(limits: ConnectionLimits(maximumFrameLength: 8, maximumHeldByteCount: 100))
        _ = try connection.requestStream(Payload("a"))
        let longest = connection.messageReceived(ByteBuffer(hex: "00000001 2820 6162"), at: .zero)
        let tooLong = connection.messageReceived(ByteBuffer(hex: "00000001 2820 616263"), at: .zero)
        let error = FrameError.tooLong(limit: 8)
        let expected = ConnectionClosure(
            reason: .malformedFrame(error),
            lastFrame: .error(.connectionError, error.description, on: .connection),
            streams: [one]
        )
        #expect(longest == .deliver(Payload("ab"), to: one))
        #expect(tooLong == .close(expected))
    }

    /// Of 128 MiB, alone or in fragments.
    @Test func thePayloadOfTheLargestLineIsAccepted() {
        #expect(ConnectionLimits.requester.maximumFrameLength == 134_217_728 + Frame.headerLength)
        #expect(ConnectionLimits.requester.maximumHeldByteCount == 134_217_728)
    }

    // MARK: The end

    @Test func aRejectedSetupEndsTheConnectionWithoutAnAnswer() throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"))
        let message = "[PSYNC_S2106] No valid token provided"
        let bytes = try Frame.error(.rejectedSetup, message, on: .connection).encoded()
        let action = connection.messageReceived(bytes, at: .zero)
        let reason = RSocketError.endedByPeer(.rejectedSetup, message: message)
        #expect(action == .close(ConnectionClosure(reason: reason, lastFrame: nil, streams: [one])))
    }

    @Test func aClosedConnectionDoesNothing() throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"))
        let first = connection.connectionClosed()
        let second = connection.connectionClosed()
        #expect((first, second) == ([one], []))
        let frames = [connection.cancel(one), connection.payloadConsumed(on: one)]
        #expect(frames == [nil, nil])
        let received = connection.frameReceived(.next("x", on: one), at: .zero)
        let fired = connection.timerFired(at: .seconds(1000))
        #expect(received == .none)
        #expect(fired == .none)
        #expect(connection.deadline == nil)
        do {
            _ = try connection.requestStream(Payload("b"))
            Issue.record("was accepted")
        } catch {
            #expect(error == .connectionClosed)
        }
    }

    // MARK: Keepalive

    @Test func keepalivesAreSentUntilTheServiceIsSilent() throws {
        var connection = connection()
        _ = try connection.requestStream(Payload("a"))
        #expect(connection.deadline == .seconds(20))
        let early = connection.timerFired(at: .seconds(19))
        let due = connection.timerFired(at: .seconds(20))
        #expect(early == .none)
        #expect(due == .send(.keepalive(KeepaliveFrame(expectsAnswer: true))))
        #expect(connection.deadline == .seconds(30))
        let answer = connection.frameReceived(.keepalive(KeepaliveFrame(expectsAnswer: false)), at: .seconds(21))
        #expect(answer == .keepaliveAnswered)
        #expect(connection.deadline == .seconds(40))
        _ = connection.timerFired(at: .seconds(40))
        let end = connection.timerFired(at: .seconds(51))
        #expect(end == .close(ConnectionClosure(reason: .peerSilent, lastFrame: nil, streams: [one])))
    }

    @Test func aKeepaliveOfTheServiceIsAnsweredWithItsData() {
        var connection = connection()
        let data = ByteBuffer(string: "ab")
        let frame = KeepaliveFrame(expectsAnswer: true, position: 7, data: data)
        let action = connection.frameReceived(.keepalive(frame), at: .zero)
        #expect(action == .send(.keepalive(KeepaliveFrame(expectsAnswer: false, position: 0, data: data))))
    }
}
