import NIOCore
import PowerSyncProtocol

// A connection of a reader outside of the app: each line is a request, and they are answered one after the other.
//
// A reader that takes no answers gets none that are not read: writing waits, and with it the reading of requests. Whatever runs for a
// connection ends with it.
extension InspectionListener {
    private typealias Writer = NIOAsyncChannelOutboundWriter<ByteBuffer>

    /// Answers until either end goes, or the task is cancelled.
    func serve(lines channel: Lines) async {
        let (life, end) = AsyncStream.makeStream(of: Never.self)
        channel.channel.closeFuture.whenComplete { _ in end.finish() }
        // The errors are those of a reader that has gone.
        try? await channel.executeThenClose { lines, writer in
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask { for await _ in life {} }
                group.addTask { try await self.answer(lines, writer, of: channel) }
                try await group.next()
            }
        }
    }

    private func answer(
        _ lines: NIOAsyncChannelInboundStream<ByteBuffer>,
        _ writer: Writer,
        of channel: Lines
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            var isFollowing = false
            do {
                for try await line in lines {
                    guard let (text, told) = await answer(line) else { continue }
                    try await writer.write(text + "\n")
                    if let told, !isFollowing {
                        isFollowing = true
                        group.addTask {
                            // Without it nothing would be told any more.
                            defer { channel.channel.close(promise: nil) }
                            try await self.follow(writer, after: told)
                        }
                    }
                }
            } catch let error as FramingError {
                let limit = RPCError(.limitReached, "A line is too long: \(error)")
                try await writer.write(limit.text + "\n")
            }
        }
    }

    /// - Returns: The answer, and the status after which changes are to be told; `nil` for a notification, which gets none.
    private func answer(_ line: ByteBuffer) async -> (text: String, told: JSONObject?)? {
        do throws(RPCError) {
            let message = try RPCRequest(parsing: line)
            guard let id = message.id else { return nil }
            do throws(RPCError) {
                let request = try InspectionRequest(method: message.method, parameters: message.parameters)
                let result = try await result(of: request)
                return (RPCRequest.answer(to: id, result), request == .follow ? result : nil)
            } catch {
                throw error.answering(id)
            }
        } catch {
            return (error.text, nil)
        }
    }

    private func result(of request: InspectionRequest) async throws(RPCError) -> JSONObject {
        switch request {
        case .status, .follow: try await status()
        case .query(let query): try await rows(of: query)
        case .subscribe(let stream, let ttl, let priority):
            try await subscribe(stream, ttl: ttl, priority: priority)
        case .unsubscribe(let stream, let all): try await unsubscribe(stream, all: all)
        }
    }

    /// Tells each change of the status after one that was told, those that come at once in one notification.
    private func follow(_ writer: Writer, after told: JSONObject) async throws {
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (syncStatus, database) = (database.sync.status, database)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { for await _ in syncStatus.elements() { change.yield() } }
            group.addTask { for await _ in syncStatus.newestActivities() { change.yield() } }
            group.addTask {
                // A write waits for its upload before the status says so.
                let writes = database.onChange(
                    tables: [ChangeTracker.uploadQueue],
                    throttle: 0,
                    triggerImmediately: true
                )
                for try await _ in writes { change.yield() }
            }
            var last = told
            last["date"] = nil
            for await _ in changes {
                var object = try await self.status()
                var compared = object
                compared["date"] = nil
                guard compared != last else { continue }
                last = compared
                object = ["jsonrpc": "2.0", "method": "status", "params": .object(object)]
                try await writer.write(object.text + "\n")
                try await database.local.clock.sleep(for: limits.pause)
            }
        }
    }
}

extension NIOAsyncChannelOutboundWriter<ByteBuffer> {
    /// Writes a text, when the reader has taken what was written before.
    func write(_ text: String) async throws {
        try await write(ByteBuffer(string: text))
    }
}
