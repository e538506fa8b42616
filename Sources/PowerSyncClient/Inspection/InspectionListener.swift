import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import PowerSyncCore
import PowerSyncProtocol

/// Listens at a socket, and answers what is asked about a database (docs/inspect.md "The socket").
///
/// It owns what connections share: the subscriptions that were made from outside, and the turn for queries, of which one runs at a time, so
/// that the app has its other connections for reading.
final class InspectionListener: Sendable {
    typealias Lines = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    let database: SyncedDatabase
    let limits: InspectionLimits
    private let queries = AsyncLock()
    private let subscriptions = NIOLockedValueBox<[StreamKey: any SyncStreamSubscription]>([:])
    /// How many connections are served.
    private let served = NIOLockedValueBox(0)
    /// The connections that are open, those included that are not served yet.
    private let open = NIOLockedValueBox<[ObjectIdentifier: any Channel]>([:])

    /// Creates a listener, which does nothing yet.
    init(_ database: SyncedDatabase, limits: InspectionLimits) {
        self.database = database
        self.limits = limits
    }

    /// Listens until the database is closed or the task is cancelled; then the file of the socket is gone.
    ///
    /// - Parameters:
    ///   - path: Where the socket is to be.
    ///   - onListening: Called when connections can be made.
    /// - Throws: ``PowerSyncError``, or `CancellationError`.
    func run(at path: String, onListening: @Sendable () -> Void) async throws {
        _ = try await database.local.writer()
        let socket = try SocketFile(at: path)
        // In the end a connection that was never served is closed, too.
        defer { for channel in open.withLockedValue({ Array($0.values) }) { channel.close(promise: nil) } }
        let server: NIOAsyncChannel<any Channel, Never>
        do {
            server = try await listen(at: socket)
        } catch {
            socket.remove()
            throw error
        }
        try await server.executeThenClose { channels in
            // While the socket is open: later, the number of its file may be that of another one.
            defer { socket.remove() }
            guard socket.isOurs else { throw PowerSyncError.otherListener(at: path) }
            onListening()
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask { for await _ in self.database.sync.status.elements() {} }
                group.addTask { try await self.serve(channels) }
                try await group.next()
            }
        }
        try Task.checkCancellation()
    }

    /// Connections come as they are: an `NIOAsyncChannel` that is not taken, as at the end, is a mistake that ends the process.
    private func listen(at socket: SocketFile) async throws -> NIOAsyncChannel<any Channel, Never> {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            // Until it has its handlers.
            .childChannelOption(.autoRead, value: false)
            .bind(socket.descriptor) { [open] channel in
                let id = ObjectIdentifier(channel)
                open.withLockedValue { $0[id] = channel }
                channel.closeFuture.whenComplete { _ in _ = open.withLockedValue { $0.removeValue(forKey: id) } }
                return channel.eventLoop.makeSucceededFuture(channel)
            }
    }

    /// Serves connections, each in a task of its own.
    private func serve(_ channels: NIOAsyncChannelInboundStream<any Channel>) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var children = 0
            for try await channel in channels {
                group.addTask { await self.serve(channel) }
                children += 1
                // What has ended is let go of. More than are served at once are being told so, and end soon.
                if children > limits.connections {
                    try await group.next()
                    children -= 1
                }
            }
            group.cancelAll()
        }
    }

    /// The errors are those of a reader that has gone.
    private func serve(_ channel: any Channel) async {
        guard let lines = try? await self.lines(of: channel) else { return }
        let isServed = served.withLockedValue { served in
            guard served < limits.connections else { return false }
            served += 1
            return true
        }
        guard isServed else {
            let error = RPCError(
                .limitReached,
                "\(limits.connections.counted("connection is", "connections are")) open already; close one"
            )
            try? await lines.executeThenClose { _, writer in try await writer.write(error.text + "\n") }
            return
        }
        defer { served.withLockedValue { $0 -= 1 } }
        await serve(lines: lines)
    }

    private func lines(of channel: any Channel) async throws -> Lines {
        try await channel.eventLoop.submit { [limits] in
            let framer = NDJSONFramer(maximumLineLength: limits.lineBytes)
            try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(framer))
            let lines = try Lines(wrappingChannelSynchronously: channel)
            // A connection that is closed meanwhile reads nothing, and is one to be ended like others.
            try? channel.syncOptions?.setOption(.autoRead, value: true)
            return lines
        }.get()
    }
}

// MARK: - What is asked

extension InspectionListener {
    /// What the database holds, does and waits for, as JSON.
    func status() async throws(RPCError) -> JSONObject {
        try await answering { try await database.inspection().json }
    }

    /// The rows of a statement; the task can be cancelled while it runs.
    func rows(of query: InspectionQuery) async throws(RPCError) -> JSONObject {
        let statement = try ReadOnlyStatement(query, limits: limits)
        let isAbandoned = NIOLockedValueBox(false)
        return try await answering {
            try await withTaskCancellationHandler {
                try await queries.withLock {
                    try await database.local.read { db in
                        Result { () throws(RPCError) in
                            try statement.run(db) { isAbandoned.withLockedValue { $0 } }
                        }
                    }
                }.get()
            } onCancel: {
                isAbandoned.withLockedValue { $0 = true }
            }
        }
    }

    /// Subscribes, and keeps the subscription until it is ended from outside or the listener ends.
    func subscribe(_ stream: InspectedStream, ttl: Double?, priority: Int32?) async throws(RPCError) -> JSONObject {
        try await answering {
            let handle = self.handle(of: stream)
            let subscription = try await handle.subscribe(ttl: ttl, priority: priority.map { BucketPriority($0) })
            let replaced = subscriptions.withLockedValue { subscriptions in
                subscriptions.updateValue(subscription, forKey: StreamKey(handle))
            }
            try await replaced?.unsubscribe()
            return ["isSubscribed": true]
        }
    }

    /// Ends a subscription that was made from outside, or all of a stream.
    func unsubscribe(_ stream: InspectedStream, all: Bool) async throws(RPCError) -> JSONObject {
        try await answering {
            let handle = self.handle(of: stream)
            try Argument.check(handle)
            let own = subscriptions.withLockedValue { $0.removeValue(forKey: StreamKey(handle)) }
            try await own?.unsubscribe()
            if all {
                try await handle.unsubscribeAll()
            } else if own == nil {
                throw RPCError(
                    .failed,
                    "Nobody has subscribed to this stream from outside; with \"all\" the subscriptions of the app end, too"
                )
            }
            return ["isSubscribed": false]
        }
    }

    private func handle(of stream: InspectedStream) -> any SyncStream {
        database.syncStream(name: stream.name, params: stream.parameters.map { JsonParam($0) })
    }

    /// Turns errors into those of requests.
    private func answering(_ body: () async throws -> JSONObject) async throws(RPCError) -> JSONObject {
        do {
            return try await body()
        } catch let error as RPCError {
            throw error
        } catch {
            throw RPCError(.failed, error.lineOfText)
        }
    }
}
