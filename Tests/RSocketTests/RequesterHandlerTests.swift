import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Testing

@testable import RSocket

/// The requester on an event loop whose time is moved by hand.
@Suite(.timeLimit(.minutes(1))) struct RequesterHandlerTests {
    private let channel = NIOAsyncTestingChannel()

    /// A stream whose SETUP and request have been sent.
    private func begin() async throws -> RequesterStream {
        let stream = try await channel.testingEventLoop.executeInContext { [channel] in
            let handler = RequesterHandler(
                RequesterConnection.Configuration(setup: .example),
                request: Payload("request"),
                openedAt: channel.eventLoop.now
            )
            try channel.pipeline.syncOperations.addHandler(handler)
            return RequesterStream(handler, eventLoop: channel.eventLoop)
        }
        try await channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 80))
        stream.begin()
        #expect(try await sent() == .setup(.example))
        #expect(try await sent() == .request("request", on: one))
        return stream
    }

    private func sent() async throws -> Frame {
        try Frame(decoding: try await channel.waitForOutboundWrite(as: ByteBuffer.self), maximumLength: 1000)
    }

    private func receive(_ frames: Frame...) async throws {
        for frame in frames { try await channel.writeInbound(try frame.encoded()) }
    }

    @Test func aRequestThatCannotBeSentEndsTheStream() async throws {
        let metadata = ByteBuffer(repeating: 0, count: Payload.maximumMetadataLength + 1)
        let stream = try await channel.testingEventLoop.executeInContext { [channel] in
            let handler = RequesterHandler(
                RequesterConnection.Configuration(setup: .example),
                request: Payload(metadata: metadata),
                openedAt: channel.eventLoop.now
            )
            try channel.pipeline.syncOperations.addHandler(handler)
            return RequesterStream(handler, eventLoop: channel.eventLoop)
        }
        try await channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 80))
        stream.begin()
        await #expect(throws: RequesterStreamError.self) { try await stream.next() }
    }

    @Test func payloadsAreHandedOverAtOnceAndRequestedAgainWhenTaken() async throws {
        let stream = try await begin()
        try await receive(.next("a", on: one), .next("b", on: one))
        #expect(try await stream.next() == .payloads([ByteBuffer(string: "a"), ByteBuffer(string: "b")]))
        for number in 0..<3 { try await receive(.next("\(number)", on: one)) }
        #expect(try await stream.next() == .payloads((0..<3).map { ByteBuffer(string: "\($0)") }))
        #expect(try await sent() == .requestN(one, RequestN(5)))
        try await receive(.next("last", on: one), .complete(one))
        #expect(try await stream.next() == .payloads([ByteBuffer(string: "last")]))
        #expect(try await stream.next() == nil)
        try await channel.closeFuture.get()
    }

    @Test func thePayloadThatEndsTheStreamIsHandedOver() async throws {
        let stream = try await begin()
        let last = PayloadFrame(streamID: one, isNext: true, isComplete: true, payload: Payload("last"))
        try await receive(.payload(last))
        #expect(try await stream.next() == .payloads([ByteBuffer(string: "last")]))
        #expect(try await stream.next() == nil)
        #expect(!channel.isActive)
    }

    @Test func anIdleConnectionStaysOpenForAnHourAndTellsOfEachAnswer() async throws {
        let stream = try await begin()
        for _ in 0..<180 {
            await channel.testingEventLoop.advanceTime(by: .seconds(20))
            #expect(try await sent() == .keepalive(KeepaliveFrame(expectsAnswer: true)))
            try await receive(.keepalive(KeepaliveFrame(expectsAnswer: false)))
            #expect(try await stream.next() == .keepaliveAnswered)
        }
        #expect(channel.isActive)
    }

    @Test func payloadsComeBeforeAnswersThatArrivedWithThem() async throws {
        let stream = try await begin()
        let answer = Frame.keepalive(KeepaliveFrame(expectsAnswer: false))
        try await receive(answer, .next("a", on: one), answer, .next("b", on: one), .complete(one))
        #expect(try await stream.next() == .payloads([ByteBuffer(string: "a"), ByteBuffer(string: "b")]))
        #expect(try await stream.next() == .keepaliveAnswered)
        #expect(try await stream.next() == nil)
    }

    @Test func aPartOfAPayloadIsASignOfLifeOfTheStream() async throws {
        let stream = try await begin()
        try await receive(.fragment("a", on: one))
        #expect(try await stream.next() == .payloads([]))
        try await receive(.next("b", on: one))
        #expect(try await stream.next() == .payloads([ByteBuffer(string: "ab")]))
    }

    @Test func aServiceThatStaysSilentIsGivenUp() async throws {
        let stream = try await begin()
        await channel.testingEventLoop.advanceTime(by: .seconds(31))
        let error = await #expect(throws: RequesterStreamError.self) { try await stream.next() }
        guard case .connection(.peerSilent) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        try await channel.closeFuture.get()
    }

    /// The network takes nothing any more: what is written waits, and so does the end of the connection.
    @Test func aServiceThatStaysSilentIsGivenUpWhileWritesWait() async throws {
        let stream = try await begin()
        let writes = StuckWrites()
        try await channel.testingEventLoop.executeInContext { [channel] in
            try channel.pipeline.syncOperations.addHandler(writes, position: .first)
        }
        await channel.testingEventLoop.advanceTime(by: .seconds(29))
        #expect(writes.count == 1)
        await channel.testingEventLoop.advanceTime(by: .seconds(1))
        let error = await #expect(throws: RequesterStreamError.self) { try await stream.next() }
        guard case .connection(.peerSilent) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(channel.isActive)
    }

    @Test func aDroppedStreamIsCancelled() async throws {
        do { _ = try await begin() }
        #expect(try await sent() == .cancel(one))
        try await channel.closeFuture.get()
    }

    @Test func whatArrivedBeforeAnErrorIsReturnedBeforeIt() async throws {
        let stream = try await begin()
        try await receive(.next("a", on: one), .error(.applicationError, "[PSYNC_S2305] x", on: one))
        #expect(try await stream.next() == .payloads([ByteBuffer(string: "a")]))
        let error = await #expect(throws: RequesterStreamError.self) { try await stream.next() }
        guard case .failed(let frame) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(frame.message == "[PSYNC_S2305] x")
    }

    @Test func aFrameThatBreaksTheRulesClosesTheConnection() async throws {
        let stream = try await begin()
        for number in 0..<11 { try await receive(.next("\(number)", on: one)) }
        guard case .error(let error) = try await sent() else {
            Issue.record("no ERROR")
            return
        }
        #expect(error.code == .connectionError)
        #expect(try await stream.next() == .payloads((0..<10).map { ByteBuffer(string: "\($0)") }))
        await #expect(throws: RequesterStreamError.self) { try await stream.next() }
        try await channel.closeFuture.get()
    }

    @Test func aCancelledTaskStopsWaiting() async throws {
        let stream = try await begin()
        let reading = Task { try await stream.next() }
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
    }
}

/// Keeps everything that is written, and does not let the channel close.
private final class StuckWrites: ChannelOutboundHandler, Sendable {
    typealias OutboundIn = ByteBuffer

    private let writes = NIOLockedValueBox(0)

    var count: Int { writes.withLockedValue(\.self) }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        writes.withLockedValue { $0 += 1 }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {}
}
