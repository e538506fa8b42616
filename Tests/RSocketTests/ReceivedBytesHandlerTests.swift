import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import RSocket

/// A requester behind the decoder of WebSocket frames, on an event loop whose time is moved by hand.
@Suite(.timeLimit(.minutes(1))) struct ReceivedBytesHandlerTests {
    private let channel = NIOAsyncTestingChannel()

    /// Runs a test on a stream whose SETUP and request have been sent, and closes the channel.
    private func withStream(_ body: (RequesterStream) async throws -> Void) async throws {
        let stream = try await channel.testingEventLoop.executeInContext { [channel] in
            let handler = RequesterHandler(
                RequesterConnection.Configuration(setup: .example),
                request: Payload("request"),
                openedAt: channel.eventLoop.now
            )
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: 1000)))
            try handler.add(to: pipeline, with: WebSocketMessageHandler(role: .client, maximumMessageLength: 1000))
            return RequesterStream(handler, eventLoop: channel.eventLoop)
        }
        try await channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 80))
        stream.begin()
        for _ in 0..<2 { _ = try await channel.waitForOutboundWrite(as: WebSocketFrame.self) }
        do {
            try await body(stream)
        } catch {
            try await close()
            throw error
        }
        try await close()
    }

    /// Nobody answers the close frame.
    private func close() async throws {
        channel.close(promise: nil)
        await advance(by: 1)
        try await channel.closeFuture.get()
    }

    private func advance(by seconds: Int64) async {
        await channel.testingEventLoop.advanceTime(by: .seconds(seconds))
    }

    /// A frame as a message of the service: whole, in one frame of the WebSocket.
    private func message(_ frame: Frame) throws -> ByteBuffer {
        let frame = try frame.encoded()
        var bytes = ByteBuffer(bytes: [0x82, UInt8(frame.readableBytes)])
        bytes.writeImmutableBuffer(frame)
        return bytes
    }

    @Test func aFrameThatTakesMoreThanAMinuteArrives() async throws {
        let line = String(repeating: "x", count: 60)
        try await withStream { stream in
            var bytes = try message(.next(line, on: one))
            for _ in 0..<6 {
                let slice = bytes.readSlice(length: 10)
                let piece = try #require(slice)
                await advance(by: 10)
                try await channel.writeInbound(piece)
                #expect(try await stream.next() == .payloads([]))
            }
            await advance(by: 10)
            try await channel.writeInbound(bytes)
            #expect(try await stream.next() == .payloads([ByteBuffer(string: line)]))
            #expect(channel.isActive)
        }
    }

    @Test func aServiceThatFallsSilentInsideAFrameIsGivenUp() async throws {
        try await withStream { stream in
            await advance(by: 10)
            try await channel.writeInbound(ByteBuffer(bytes: [0x82, 100, 0, 0]))
            #expect(try await stream.next() == .payloads([]))
            await advance(by: 29)
            #expect(channel.isActive)
            await advance(by: 1)
            let error = await #expect(throws: RequesterStreamError.self) { try await stream.next() }
            guard case .connection(.peerSilent) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test func whatIsWholeIsNoPartOfAMessage() async throws {
        try await withStream { stream in
            await advance(by: 10)
            // A ping, and two messages in one read.
            try await channel.writeInbound(ByteBuffer(bytes: [0x89, 0]))
            var bytes = try message(.keepalive(KeepaliveFrame(expectsAnswer: false)))
            bytes.writeImmutableBuffer(try message(.keepalive(KeepaliveFrame(expectsAnswer: false))))
            try await channel.writeInbound(bytes)
            #expect(try await stream.next() == .keepaliveAnswered)
            // The first frame of a message that has several.
            await advance(by: 1)
            try await channel.writeInbound(ByteBuffer(bytes: [0x02, 1, 0]))
            #expect(try await stream.next() == .payloads([]))
        }
    }

    @Test func aPingDoesNotHideThePartBeforeIt() async throws {
        try await withStream { stream in
            await advance(by: 10)
            // The first frame of a message that has several, and a ping, in one read.
            try await channel.writeInbound(ByteBuffer(bytes: [0x02, 1, 0, 0x89, 0]))
            #expect(try await stream.next() == .payloads([]))
        }
    }

    @Test func pongsThatNobodyAskedForDoNotKeepAConnection() async throws {
        try await withStream { stream in
            await advance(by: 29)
            try await channel.writeInbound(ByteBuffer(bytes: [0x8a, 0]))
            await advance(by: 1)
            await #expect(throws: RequesterStreamError.self) { try await stream.next() }
        }
    }

    @Test func pingsDoNotKeepAConnection() async throws {
        try await withStream { stream in
            await advance(by: 29)
            try await channel.writeInbound(ByteBuffer(bytes: [0x89, 0]))
            await advance(by: 1)
            await #expect(throws: RequesterStreamError.self) { try await stream.next() }
        }
    }
}
