import HTTPConnections
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PowerSyncProtocol
import PowerSyncServiceCore
import ServiceLifecycle

/// Writes a sync stream for as long as its client, its token and the process last (docs/protocol.md "End of a stream").
///
/// It owns two tasks, the session and the keepalives, which hand their lines to a ``LineQueue``. The latter also watch
/// for a client that does not read to the end. The lines are written by the task that runs ``write(to:)``.
struct SyncStreamResponse: Sendable {
    /// Makes the lines; the first one is sent with the head.
    let opened: OpenedSyncStream
    /// The connection; it has a ``DepartureHandler`` and a ``DeliveryHandler``.
    let channel: any Channel
    /// Whether the bytes are compressed on their way; then ``SentBodyHandler`` counts them.
    let isCompressed: Bool
    /// The slot of the semaphore for concurrent streams, released when the stream has ended.
    let slot: ConcurrencyQueue.Slot

    /// The bytes that are written before the response waits for the network: the high watermark of a connection.
    private static let watermark = 64 * 1024
    /// The bytes of a long line that are written at once: 256 KiB.
    ///
    /// A client that takes as much within ``LineMemory/patience`` is not stalled.
    private static let sliceBytes = 256 * 1024
    /// The same of one that is compressed: 64 KiB, as that happens on an event loop with other connections.
    private static let compressedSliceBytes = 64 * 1024

    /// The error that breaks a stream off, without the end that an HTTP response should have.
    private struct BrokenOff: Error {}

    /// Writes the stream until it ends.
    ///
    /// - Throws: An error when the connection has to be closed without a proper end, which is what tells the client
    ///   that the stream did not end by itself.
    @concurrent
    func write(to writer: inout any ResponseBodyWriter) async throws {
        let lines = LineQueue()
        let beginning = opened.statistics.didStart()
        defer {
            slot.release()
            opened.statistics.didEnd(
                lines.end,
                code: lines.end?.code,
                over: .http,
                begun: beginning,
                logger: opened.logger
            )
            opened.lease.release()
        }
        try await withGracefulShutdownHandler {
            DepartureHandler.whenClientLeaves(channel) { lines.finish(.clientClosed) }
            opened.whenStalled { [weak lines, channel] in
                lines?.finish(.unread)
                channel.close(promise: nil)
            }
            do {
                try await write(lines, to: &writer)
            } catch {
                // Writing fails when the client has gone away before its end of the connection was noticed.
                lines.finish(.clientClosed)
                throw error
            }
        } onGracefulShutdown: {
            lines.finish(.shutdown)
            // A client that does not read would keep the writing task, and with it the process.
            channel.close(promise: nil)
        }
        switch lines.end {
        case .completed: channel.close(mode: .output, promise: nil)
        case .failed(let error): throw error
        case .clientClosed, .unread, .shutdown, nil: throw BrokenOff()
        }
    }

    /// Writes all lines, and the end if it is a proper one.
    @concurrent
    private func write(_ lines: LineQueue, to writer: inout any ResponseBodyWriter) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [opened, channel] in
                guard (try? await opened.keepalives.run(lines)) != nil else { return }
                channel.close(promise: nil)
            }
            defer { group.cancelAll() }
            try await write(opened.takeFirstLine(), of: lines, to: &writer)
            group.addTask { [opened] in await opened.run(lines) }
            while let batch = try await lines.next() { try await write(Self.joined(batch), of: lines, to: &writer) }
            if case .completed = lines.end { try await writer.finish(nil) }
        }
    }

    /// Writes bytes, and waits until the network has taken them.
    @concurrent
    private func write(
        _ bytes: ByteBuffer,
        of lines: LineQueue,
        to writer: inout any ResponseBodyWriter
    ) async throws {
        opened.statistics.willWrite()
        var rest = bytes
        let sliceBytes = isCompressed ? Self.compressedSliceBytes : Self.sliceBytes
        while let slice = rest.readSlice(length: min(rest.readableBytes, sliceBytes)), slice.readableBytes > 0 {
            try await writer.write(slice)
            let isEndOfLongLine = rest.readableBytes == 0 && bytes.readableBytes > Self.sliceBytes
            guard slice.readableBytes >= Self.watermark || isEndOfLongLine else { continue }
            await DeliveryHandler.waitUntilDelivered(channel, all: isEndOfLongLine)
            lines.didDeliverPart()
            // The rest of a stream that is broken off is not read.
            switch lines.end {
            case .completed, nil: break
            case .clientClosed, .unread, .shutdown, .failed: return
            }
        }
        opened.statistics.didWrite(byteCount: bytes.readableBytes)
        if !isCompressed { ClientStreamStatistics.didSend(byteCount: bytes.readableBytes) }
    }

    /// Lines as one buffer, so that they leave in one write.
    private static func joined(_ lines: [ByteBuffer]) -> ByteBuffer {
        guard lines.count > 1 else { return lines.first ?? ByteBuffer() }
        var joined = ByteBuffer()
        joined.reserveCapacity(lines.reduce(0) { $0 + $1.readableBytes })
        for line in lines { joined.writeImmutableBuffer(line) }
        return joined
    }
}
