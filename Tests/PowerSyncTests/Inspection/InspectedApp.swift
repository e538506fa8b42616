import Foundation
import NIOCore
import NIOPosix
import PowerSyncProtocol
import TestSupport

@testable import PowerSyncClient

/// A database that listens for inspection at a socket in a folder of its own.
struct InspectedApp {
    let folder: TemporaryFolder
    let database: any PowerSyncDatabaseProtocol
    var limits = InspectionLimits()

    init(_ database: any PowerSyncDatabaseProtocol) throws {
        folder = try TemporaryFolder()
        self.database = database
    }

    /// The name of the socket.
    var name = "app.socket"
    var path: String { folder.path(name) }

    /// What is at the path of the socket.
    var attributes: [FileAttributeKey: Any]? { try? FileManager.default.attributesOfItem(atPath: path) }

    /// Listens while a body runs.
    ///
    /// - Throws: What the body throws, or why nothing listens.
    func whileListening(_ body: () async throws -> Void) async throws {
        let listener = InspectionListener(try database.requireOwn(for: "a test"), limits: limits)
        let (start, started) = AsyncStream.makeStream(of: Never.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [path] in
                defer { started.finish() }
                do {
                    try await listener.run(at: path) { started.finish() }
                } catch is CancellationError {}
            }
            for await _ in start {}
            do {
                try await body()
            } catch {
                group.cancelAll()
                // Why nothing listens explains why the body has failed.
                try await group.waitForAll()
                throw error
            }
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    /// Connects while a body runs.
    func connect<T: Sendable>(
        reading: Bool = true,
        _ body: (inout InspectionClient) async throws -> T
    ) async throws -> T {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: reading)
            .connect(unixDomainSocketPath: path) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(NDJSONFramer()))
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { lines, writer in
            var client = InspectionClient(lines: lines.makeAsyncIterator(), writer: writer)
            return try await body(&client)
        }
    }

    /// The rows of a statement as JSON, asked over a connection of its own.
    func rows(_ sql: String) async throws -> String? {
        try await connect { try await $0.rows(sql) }
    }
}

/// Somebody who is connected.
struct InspectionClient {
    fileprivate var lines: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    fileprivate let writer: NIOAsyncChannelOutboundWriter<ByteBuffer>

    func send(_ text: String) async throws {
        try await writer.write(ByteBuffer(string: text))
    }

    /// The next line; `nil` when the app has closed the connection.
    mutating func next() async throws -> JSONObject? {
        try await lines.next(isolation: #isolation).map { try JSONObject(parsing: $0) }
    }

    /// Sends a request and waits for the next line.
    mutating func ask(_ method: String, _ parameters: JSONObject = [:]) async throws -> JSONObject? {
        try await send(RPCRequest(id: 1, method: method, parameters: parameters).text + "\n")
        return try await next()
    }

    /// The result of a request; its error as the result when it has failed.
    mutating func result(_ method: String, _ parameters: JSONObject = [:]) async throws -> JSONObject? {
        let answer = try await ask(method, parameters)
        guard case .object(let result)? = answer?["result"] ?? answer?["error"] else { return nil }
        return result
    }

    /// The rows of a statement as JSON, or what is wrong with it.
    mutating func rows(_ sql: String, _ parameters: [ExactJSON] = []) async throws -> String? {
        let result = try await result("query", ["sql": .string(sql), "parameters": .array(parameters)])
        if case .string(let message)? = result?["message"] { return message }
        return result?["rows"]?.text
    }
}
