import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Testing

@testable import RSocket

/// The responder on an event loop whose time is moved by hand.
@Suite(.timeLimit(.minutes(1))) struct ResponderHandlerTests {
    private let channel = NIOAsyncTestingChannel()
    private let reads = ReadCount()

    /// Counts how often the socket is read.
    private final class ReadCount: ChannelOutboundHandler, Sendable {
        typealias OutboundIn = ByteBuffer
        let count = NIOLockedValueBox(0)

        func read(context: ChannelHandlerContext) {
            count.withLockedValue { $0 += 1 }
            context.read()
        }
    }

    private func connect() async throws -> ResponderHandle {
        let handle = try await channel.testingEventLoop.executeInContext { [channel, reads] in
            let handler = ResponderHandler(ResponderConnection.Configuration(), openedAt: channel.eventLoop.now)
            try channel.pipeline.syncOperations.addHandlers([reads, handler])
            return ResponderHandle(handler, eventLoop: channel.eventLoop)
        }
        try await channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 80))
        return handle
    }

    /// A connection with an open stream.
    private func request(credit: UInt32) async throws -> ResponderHandle {
        let handle = try await connect()
        try await receive(.setup(.example), .request("request", on: one, requestN: credit))
        guard case .setup(.example) = try await channel.waitForInboundWrite(as: ResponderEvent.self) else {
            Issue.record("no SETUP")
            return handle
        }
        handle.acceptSetup()
        guard case .request(let request) = try await channel.waitForInboundWrite(as: ResponderEvent.self) else {
            Issue.record("no request")
            return handle
        }
        #expect(request.streamID == one && request.payload == Payload("request"))
        return handle
    }

    private func sent() async throws -> Frame {
        try Frame(decoding: try await channel.waitForOutboundWrite(as: ByteBuffer.self), maximumLength: 1000)
    }

    private func receive(_ frames: Frame...) async throws {
        for frame in frames { try await channel.writeInbound(try frame.encoded()) }
    }

    @Test func aCancelledTaskTakesBackWhatWaitsForCredit() async throws {
        let handle = try await request(credit: 1)
        let sending = Task { try await handle.send([Payload("a"), Payload("b")], on: one) }
        #expect(try await sent() == .next("a", on: one))
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        try await receive(.requestN(one, RequestN(1)))
        handle.complete(one)
        #expect(try await sent() == .complete(one))
    }

    @Test func aPayloadWaitsForCreditAndKeepalivesDoNot() async throws {
        let handle = try await request(credit: 1)
        try await handle.send([Payload("a")], on: one)
        #expect(try await sent() == .next("a", on: one))
        async let second: Void = handle.send([Payload("b")], on: one)
        try await receive(.keepalive(KeepaliveFrame(expectsAnswer: true)))
        #expect(try await sent() == .keepalive(KeepaliveFrame(expectsAnswer: false)))
        try await receive(.requestN(one, RequestN(1)))
        #expect(try await sent() == .next("b", on: one))
        try await second
        handle.complete(one)
        #expect(try await sent() == .complete(one))
        await #expect(throws: StreamEndedError.self) { try await handle.send([Payload("c")], on: one) }
    }

    @Test func severalPayloadsAreSentAsFarAsThereIsCredit() async throws {
        let handle = try await request(credit: 2)
        async let all: Void = handle.send([Payload("a"), Payload("b"), Payload("c"), Payload("d")], on: one)
        #expect(try await sent() == .next("a", on: one))
        #expect(try await sent() == .next("b", on: one))
        try await receive(.requestN(one, RequestN(1)))
        #expect(try await sent() == .next("c", on: one))
        try await receive(.requestN(one, RequestN(5)))
        #expect(try await sent() == .next("d", on: one))
        try await all
    }

    @Test func nothingFollowsAPayloadThatCannotBeSent() async throws {
        let handle = try await request(credit: 10)
        let tooLong = ByteBuffer(repeating: 0, count: 1 << 24)
        let unsendable = Payload(metadata: tooLong, data: ByteBuffer())
        let error = await #expect(throws: FrameError.self) {
            try await handle.send([Payload("a"), unsendable, Payload("c")], on: one)
        }
        #expect(error == .fieldTooLong(.metadata, limit: (1 << 24) - 1))
        #expect(try await sent() == .next("a", on: one))
        handle.complete(one)
        #expect(try await sent() == .complete(one))
    }

    @Test func aCancelledStreamFreesWhoeverWaitsForCredit() async throws {
        let handle = try await request(credit: 1)
        let both = Task { try await handle.send([Payload("a"), Payload("b")], on: one) }
        // Then the second one waits already.
        #expect(try await sent() == .next("a", on: one))
        try await receive(.cancel(one))
        await #expect(throws: StreamEndedError.self) { try await both.value }
        guard case .cancelled(one) = try await channel.waitForInboundWrite(as: ResponderEvent.self) else {
            Issue.record("not cancelled")
            return
        }
    }

    @Test func aCancelledTaskSendsNothing() async throws {
        let handle = try await request(credit: 10)
        let sending = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await handle.send([Payload("a")], on: one)
        }
        await #expect(throws: CancellationError.self) { try await sending.value }
        handle.complete(one)
        #expect(try await sent() == .complete(one))
    }

    @Test func sendingNothingWaitsForNothing() async throws {
        let handle = try await request(credit: 1)
        try await handle.send([], on: one)
        try await handle.send([Payload("a")], on: one)
        #expect(try await sent() == .next("a", on: one))
    }

    @Test func theEndOfTheConnectionFreesWhoeverWaitsForCredit() async throws {
        let handle = try await request(credit: 1)
        async let both: Void = handle.send([Payload("a"), Payload("b")], on: one)
        // Then the second one waits already.
        #expect(try await sent() == .next("a", on: one))
        try await channel.close()
        do {
            try await both
            Issue.record("was sent")
        } catch {
            #expect(error is StreamEndedError)
        }
    }

    @Test func aFrameThatMakesNoSenseFreesWhoeverWaitsForCredit() async throws {
        let handle = try await request(credit: 1)
        async let both: Void = handle.send([Payload("a"), Payload("b")], on: one)
        #expect(try await sent() == .next("a", on: one))
        try await receive(.next("x", on: one))
        guard case .error(let error) = try await sent() else {
            Issue.record("no ERROR")
            return
        }
        #expect(error.streamID == one && error.code == .canceled)
        guard case .cancelled(one)? = try await channel.readInbound(as: ResponderEvent.self) else {
            Issue.record("not cancelled")
            return
        }
        do {
            try await both
            Issue.record("was sent")
        } catch {
            #expect(error is StreamEndedError)
        }
    }

    @Test func aCancelledTaskStopsWaitingForCredit() async throws {
        let handle = try await request(credit: 1)
        try await handle.send([Payload("a")], on: one)
        let second = Task { try await handle.send([Payload("b")], on: one) }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        // The stream lives on.
        handle.fail(one, message: "[PSYNC_S2001] x")
        _ = try await sent()
        #expect(try await sent() == .error(.applicationError, "[PSYNC_S2001] x", on: one))
    }

    @Test func eventsOfOthersArePassedOn() async throws {
        let handle = try await request(credit: 1)
        let events = NIOLockedValueBox<[String]>([])
        try await channel.pipeline.addHandler(EventRecorder(events))
        try await channel.testingEventLoop.executeInContext { [channel] in
            channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
        #expect(events.withLockedValue(\.self) == ["inputClosed"])
        // The stream lives on.
        try await handle.send([Payload("a")], on: one)
        #expect(try await sent() == .next("a", on: one))
    }

    private final class EventRecorder: ChannelInboundHandler, Sendable {
        typealias InboundIn = Never
        private let events: NIOLockedValueBox<[String]>

        init(_ events: NIOLockedValueBox<[String]>) {
            self.events = events
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            events.withLockedValue { $0.append("\(event)") }
        }
    }

    @Test func withoutASETUPTheConnectionCloses() async throws {
        _ = try await connect()
        await channel.testingEventLoop.advanceTime(by: .seconds(29))
        #expect(channel.isActive)
        await channel.testingEventLoop.advanceTime(by: .seconds(1))
        try await channel.closeFuture.get()
    }

    /// Somebody who takes not even the answer to the upgrade.
    @Test func withoutASETUPTheConnectionClosesAlsoWhenNothingIsRead() async throws {
        _ = try await connect()
        try await setWritable(false)
        channel.read()
        try await channel.testingEventLoop.executeInContext {}
        await channel.testingEventLoop.advanceTime(by: .seconds(29))
        #expect(channel.isActive)
        await channel.testingEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func withoutKeepalivesTheConnectionCloses() async throws {
        let handle = try await request(credit: 1)
        await channel.testingEventLoop.advanceTime(by: .seconds(80))
        try await receive(.keepalive(KeepaliveFrame(expectsAnswer: false)))
        await channel.testingEventLoop.advanceTime(by: .seconds(80))
        #expect(channel.isActive)
        await channel.testingEventLoop.advanceTime(by: .seconds(11))
        try await channel.closeFuture.get()
        await #expect(throws: (any Error).self) { try await handle.send([Payload("a")], on: one) }
    }

    /// The time for SETUP would end later.
    @Test func withoutKeepalivesAConnectionOfAShortLifetimeClosesInTime() async throws {
        let handle = try await connect()
        var setup = SetupFrame.example
        setup.lifetime = .seconds(10)
        try await receive(.setup(setup))
        handle.acceptSetup()
        await channel.testingEventLoop.advanceTime(by: .seconds(9))
        #expect(channel.isActive)
        await channel.testingEventLoop.advanceTime(by: .seconds(2))
        #expect(!channel.isActive)
    }

    @Test func shuttingDownCompletesStreamsAndClosesTheConnection() async throws {
        let handle = try await request(credit: 1)
        try await handle.send([Payload("a")], on: one)
        _ = try await sent()
        let second = Task { try await handle.send([Payload("b")], on: one) }
        try await channel.testingEventLoop.executeInContext { [channel] in
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
        #expect(try await sent() == .complete(one))
        await #expect(throws: StreamEndedError.self) { try await second.value }
        guard case .shutdown = try await channel.waitForInboundWrite(as: ResponderEvent.self) else {
            Issue.record("no shutdown")
            return
        }
        try await channel.closeFuture.get()
    }

    @Test func nothingIsReadWhileTheSocketTakesNothing() async throws {
        _ = try await connect()
        let before = reads.count.withLockedValue { $0 }
        channel.isWritable = false
        channel.read()
        try await channel.testingEventLoop.executeInContext {}
        #expect(reads.count.withLockedValue { $0 } == before)
        try await setWritable(true)
        #expect(reads.count.withLockedValue { $0 } == before + 1)
    }

    /// One line may take minutes on a slow network; the keepalives that come meanwhile are not read.
    @Test func aPeerThatIsNotReadIsNotSilent() async throws {
        _ = try await request(credit: 1)
        try await setWritable(false)
        channel.read()
        try await channel.testingEventLoop.executeInContext {}
        await channel.testingEventLoop.advanceTime(by: .seconds(200))
        #expect(channel.isActive)
        try await setWritable(true)
        await channel.testingEventLoop.advanceTime(by: .seconds(89))
        #expect(channel.isActive)
        await channel.testingEventLoop.advanceTime(by: .seconds(2))
        try await channel.closeFuture.get()
    }

    private func setWritable(_ isWritable: Bool) async throws {
        channel.isWritable = isWritable
        try await channel.testingEventLoop.executeInContext { [channel] in
            channel.pipeline.fireChannelWritabilityChanged()
        }
    }

    @Test func aRejectedSetupIsAnsweredAndTheConnectionCloses() async throws {
        let handle = try await connect()
        try await receive(.setup(.example))
        handle.rejectSetup(code: .rejectedSetup, message: "[PSYNC_S2101] no")
        #expect(try await sent() == .error(.rejectedSetup, "[PSYNC_S2101] no", on: .connection))
        try await channel.closeFuture.get()
    }
}
