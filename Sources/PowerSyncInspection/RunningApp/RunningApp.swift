import Foundation
import NIOCore
import NIOPosix
import PowerSyncClient
import PowerSyncProtocol

/// An app that listens for inspection (docs/inspect.md "The socket").
struct RunningApp: Sendable {
    /// The longest answer that is read, in bytes: a status with a thousand buckets and streams has about a megabyte, rows have up to 8.
    private static let longestAnswer = 64 * 1024 * 1024

    /// The socket.
    let path: String

    /// Connects, and closes the connection after the body.
    ///
    /// - Throws: ``RunningAppError``, and what the body throws.
    func withConversation<T: Sendable>(_ body: (inout Conversation) async throws -> T) async throws -> T {
        let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>
        do {
            channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(unixDomainSocketPath: path) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let framer = NDJSONFramer(maximumLineLength: Self.longestAnswer)
                        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(framer))
                        return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
                    }
                }
        } catch {
            let reason = (error as? IOError).map { unsafe String(cString: strerror($0.errnoCode)) } ?? "\(error)"
            throw RunningAppError(
                .notListening,
                "No app listens at \(path) (\(reason)): start it, and let it call listenForInspection(at:) with this path"
            )
        }
        return try await channel.executeThenClose { lines, writer in
            var conversation = Conversation(path: path, lines: lines.makeAsyncIterator(), writer: writer)
            return try await body(&conversation)
        }
    }

    /// Asks one thing over a connection of its own.
    func ask(_ request: InspectionRequest) async throws -> JSONObject {
        try await withConversation { try await $0.ask(request) }
    }
}

/// Requests and answers over one connection, one after the other.
struct Conversation {
    fileprivate let path: String
    fileprivate var lines: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    fileprivate let writer: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private var lastID: Int64 = 0

    fileprivate init(
        path: String,
        lines: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator,
        writer: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) {
        self.path = path
        self.lines = lines
        self.writer = writer
    }

    /// Asks, and waits for the answer.
    ///
    /// - Returns: The result.
    /// - Throws: ``RunningAppError``.
    mutating func ask(_ request: InspectionRequest) async throws -> JSONObject {
        lastID += 1
        let message = RPCRequest(id: .integer(lastID), method: request.method, parameters: request.parameters)
        do {
            try await writer.write(ByteBuffer(string: message.text + "\n"))
        } catch let error as ChannelError {
            // What the app has said before it closed the connection is still to be read.
            guard error == .ioOnClosedChannel else { throw noAnswer }
        } catch is IOError {
        }
        while let object = try await next() {
            if case .object(let error)? = object["error"], object["id"] == .integer(lastID) || object["id"] == .null {
                guard case .string(let message)? = error["message"] else { throw noAnswer }
                throw RunningAppError(.refused, message)
            }
            if object["id"] == .integer(lastID), case .object(let result)? = object["result"] { return result }
        }
        throw noAnswer
    }

    /// The next status that the app tells after `follow`.
    ///
    /// - Returns: `nil` when the app listens no more.
    mutating func nextStatus() async throws -> JSONObject? {
        while let object = try await next() {
            if object["method"] == "status", case .object(let status)? = object["params"] { return status }
        }
        return nil
    }

    private mutating func next() async throws -> JSONObject? {
        do {
            guard let line = try await lines.next(isolation: #isolation) else { return nil }
            return try JSONObject(parsing: line)
        } catch is IOError {
            return nil
        } catch is JSONError {
            throw RunningAppError(
                .noAnswer,
                "What listens at \(path) is no app of this SDK: it answers something else than JSON"
            )
        }
    }

    private var noAnswer: RunningAppError {
        RunningAppError(.noAnswer, "The app that listens at \(path) has ended the connection without an answer")
    }
}
