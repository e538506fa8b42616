import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// Many clients of one service on raw sockets: they read, look for the ends of checkpoints, and do nothing else.
final class StreamClients: Sendable {
    private struct State {
        var channels: [any Channel] = []
        /// Streams that have got the end of a checkpoint since ``expect(_:)``.
        var completed: Set<Int> = []
        var expected = 0
        var continuation: CheckedContinuation<Void, Never>?
        var lastCompletion = ContinuousClock.now
        var byteCount = 0
        var delays: [Duration] = []
        /// When streams were ended by the service.
        var ends: [ContinuousClock.Instant] = []
        var expectedEnds = 0
        var endContinuation: CheckedContinuation<Void, Never>?
    }

    private let state = NIOLockedValueBox(State())
    private let start = ContinuousClock.now

    /// The text that a row has to have for its way to be measured: the time in nanoseconds, of 16 digits.
    var stamp: String {
        let digits = String(Int64((ContinuousClock.now - start) / .nanoseconds(1)))
        return "stamp-" + String(repeating: "0", count: max(0, 16 - digits.count)) + digits
    }

    /// All bytes that were received.
    var byteCount: Int { state.withLockedValue { $0.byteCount } }

    /// Takes the times between the stamps of rows and their arrival.
    func takeDelays() -> [Duration] {
        state.withLockedValue { state in
            defer { state.delays = [] }
            return state.delays
        }
    }

    /// Notes the arrival of the last stamp in bytes that have come another way than over a stream.
    func noteLastStamp(in bytes: ByteBuffer) {
        let now = ContinuousClock.now
        guard let stamp = Handler.stamps(in: bytes).last else { return }
        state.withLockedValue { $0.delays.append(now - start - .nanoseconds(stamp)) }
    }

    /// The body of a request for what everybody gets.
    static let emptyBody = #"{"raw_data":true,"buckets":[]}"#

    /// The request of a stream: head and body.
    static func request(token: String, body: String = emptyBody) -> String {
        """
        POST /sync/stream HTTP/1.1\r
        Host: 127.0.0.1\r
        Authorization: Token \(token)\r
        Content-Type: application/json\r
        Accept: application/x-ndjson\r
        Content-Length: \(body.utf8.count)\r
        \r
        \(body)
        """
    }

    /// Opens streams, a hundred at a time, and waits until each has its first checkpoint.
    ///
    /// - Parameters:
    ///   - requests: A request for each.
    ///   - port: Where the service is.
    /// - Throws: An error of a connection.
    func open(_ requests: [String], port: Int) async throws {
        for start in stride(from: 0, to: requests.count, by: 100) {
            let part = requests[start..<min(start + 100, requests.count)]
            let wait = expect(part.count)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, request) in zip(start..., part) {
                    group.addTask { try await self.connect(index, request, port: port) }
                }
                try await group.waitForAll()
            }
            await wait()
        }
    }

    private func connect(_ index: Int, _ request: String, port: Int) async throws {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = Handler(index: index, clients: self)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        state.withLockedValue { $0.channels.append(channel) }
        try await channel.writeAndFlush(ByteBuffer(string: request))
    }

    /// Prepares to wait for the end of a checkpoint on a number of streams.
    func expect(_ count: Int) -> () async -> Void {
        state.withLockedValue { state in
            state.completed = []
            state.expected = count
        }
        return {
            await withCheckedContinuation { continuation in
                let isDone = self.state.withLockedValue { state in
                    if state.completed.count >= state.expected { return true }
                    state.continuation = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
        }
    }

    /// Waits until the service has ended a number of streams.
    ///
    /// - Returns: When it ended each, in that order.
    func ends(_ count: Int) async -> [ContinuousClock.Instant] {
        await withCheckedContinuation { continuation in
            let isDone = state.withLockedValue { state in
                if state.ends.count >= count { return true }
                (state.expectedEnds, state.endContinuation) = (count, continuation)
                return false
            }
            if isDone { continuation.resume() }
        }
        return state.withLockedValue { $0.ends }
    }

    private func ended() {
        let now = ContinuousClock.now
        let continuation = state.withLockedValue { state -> CheckedContinuation<Void, Never>? in
            state.ends.append(now)
            guard state.ends.count >= state.expectedEnds else { return nil }
            defer { state.endContinuation = nil }
            return state.endContinuation
        }
        continuation?.resume()
    }

    /// Sends a request whose answer does not matter.
    func send(_ request: String, port: Int) async throws {
        try await connect(0, request, port: port)
    }

    /// When the last stream got the end of its checkpoint.
    var lastCompletion: ContinuousClock.Instant { state.withLockedValue { $0.lastCompletion } }

    /// Closes all streams.
    func close() async {
        let channels = state.withLockedValue { state in
            defer { state.channels = [] }
            return state.channels
        }
        for channel in channels { try? await channel.close() }
    }

    private func received(_ index: Int, byteCount: Int, isComplete: Bool, stamps: [Int64]) {
        let now = ContinuousClock.now
        let continuation = state.withLockedValue { state -> CheckedContinuation<Void, Never>? in
            state.byteCount += byteCount
            for stamp in stamps { state.delays.append(now - start - .nanoseconds(stamp)) }
            guard isComplete, state.completed.insert(index).inserted else { return nil }
            state.lastCompletion = now
            guard state.completed.count >= state.expected else { return nil }
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume()
    }

    /// Looks for the end of a checkpoint in the last bytes of each read: the service writes nothing after it.
    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private static let end = Array("checkpoint_complete".utf8)
        private static let lastChunk = Array("0\r\n\r\n".utf8)
        private static let stamp = Array("stamp-".utf8)

        private let index: Int
        private let clients: StreamClients
        private var tail: [UInt8] = []

        init(index: Int, clients: StreamClients) {
            self.index = index
            self.clients = clients
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            tail += bytes.readableBytesView.suffix(128)
            tail.removeFirst(max(0, tail.count - 128))
            // The word is followed by an op id and the ends of the line and of the chunk.
            let isComplete = tail.firstRange(of: Self.end) != nil
            if isComplete { tail = [] }
            let stamps = bytes.readableBytes < 16_384 ? Self.stamps(in: bytes) : []
            clients.received(index, byteCount: bytes.readableBytes, isComplete: isComplete, stamps: stamps)
            // The last chunk, after which HTTP would keep the connection.
            if bytes.readableBytesView.suffix(Self.lastChunk.count).elementsEqual(Self.lastChunk) { clients.ended() }
        }

        static func stamps(in bytes: ByteBuffer) -> [Int64] {
            let view = bytes.readableBytesView
            var stamps: [Int64] = []
            var rest = view[...]
            while let range = rest.firstRange(of: stamp) {
                rest = rest[range.upperBound...]
                if let stamp = Int64(String(decoding: rest.prefix(16), as: UTF8.self)) { stamps.append(stamp) }
            }
            return stamps
        }
    }
}
