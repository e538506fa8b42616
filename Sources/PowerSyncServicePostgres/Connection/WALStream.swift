import Foundation
import NIOConcurrencyHelpers
import NIOCore
import PowerSyncServiceCore

/// The change stream of a replication slot, as messages of `pgoutput`.
///
/// What comes is read on the queue of the connection, which also tells the server that this side is alive: every ten seconds,
/// however long the reader of the messages is busy. When a few megabytes wait, no more is read.
///
/// The server forgets what was acknowledged and nothing else. A status names a flushed position only if it is news: a server
/// that shuts down waits until everything it has sent is flushed, or, if the client never says so, received.
final class WALStream: Sendable {
    /// How often the server hears of this side.
    ///
    /// The server gives up after ``PostgresSource/senderTimeout``.
    static let statusInterval = Duration.seconds(10)
    /// Bytes that wait to be taken, from which on no more is read.
    static let maximumBufferedBytes = 8 << 20

    private struct State {
        var messages: [ByteBuffer] = []
        var bytes = 0
        var failure: (any Error)?
        /// The position to tell the server, if it has not been told.
        var acknowledged: WALPosition?
        /// Up to where messages have come.
        var received = WALPosition(rawValue: 0)
        /// Whether the queue waits for messages to be taken.
        var isFull = false
        /// How many frames of the server have come.
        var frames: UInt64 = 0
        /// Whether the server is to be asked for a sign of life.
        var asks = false
    }

    private let connection: PostgresConnection
    private let state = NIOLockedValueBox(State())
    private let news = ChangeSignal()
    /// Advanced when the server was told an acknowledged position, and when the stream has ended.
    private let statuses = ChangeSignal()
    private let wake: @Sendable () -> Void
    /// The process of the server that sends.
    let process: Int32

    private init(_ connection: PostgresConnection, process: Int32, wake: @escaping @Sendable () -> Void) {
        self.connection = connection
        self.process = process
        self.wake = wake
    }

    /// Begins to stream.
    ///
    /// - Parameters:
    ///   - connection: A connection for replication, which belongs to the stream from now on.
    ///   - command: `START_REPLICATION …`.
    /// - Returns: The stream.
    /// - Throws: ``PostgresError``, or `CancellationError`.
    static func start(_ connection: PostgresConnection, _ command: String) async throws -> WALStream {
        let (process, wake) = try await connection.run { libpq in
            try libpq.startCopy(command, until: .now.advanced(by: PostgresConnection.statementTimeout), activity)
            return (libpq.process, { @Sendable in libpq.wake() })
        }
        let stream = WALStream(connection, process: process, wake: wake)
        connection.detach { [weak stream] libpq in
            // Each turn has the stream only for a moment, so that its end is that of the connection.
            var nextStatus = ContinuousClock.now.advanced(by: statusInterval)
            while let stream, stream.turn(libpq, &nextStatus) {}
        }
        return stream
    }

    static let activity = "reading the change stream"

    // MARK: Taking

    /// What has come.
    ///
    /// - Parameter maximumCount: The most messages.
    /// - Returns: Messages in their order; none when there are none at the moment.
    /// - Throws: Why the stream has ended, once everything before has been taken.
    func take(_ maximumCount: Int) throws -> [ByteBuffer] {
        let (messages, wasFull) = try state.withLockedValue { state in
            if state.messages.isEmpty, let failure = state.failure { throw failure }
            let taken: [ByteBuffer]
            if state.messages.count <= maximumCount {
                taken = state.messages
                state.messages = []
            } else {
                taken = Array(state.messages.prefix(maximumCount))
                state.messages.removeFirst(maximumCount)
            }
            for message in taken { state.bytes -= message.readableBytes }
            defer { state.isFull = false }
            return (taken, state.isFull)
        }
        if wasFull { wake() }
        return messages
    }

    /// Changes when messages have come to a stream that had none, or it has ended.
    var version: UInt64 { news.version }

    /// Waits for what ``version`` says.
    func wait(after version: UInt64) async throws {
        try await news.wait(after: version)
    }

    /// How many frames of the server have come, also those without a message: it changes for as long as the server is heard.
    var frames: UInt64 { state.withLockedValue(\.frames) }

    /// Asks the server for a frame, which it sends at once.
    func ask() {
        state.withLockedValue { $0.asks = true }
        wake()
    }

    /// Tells the server soon that everything before a position may be forgotten.
    func acknowledge(_ position: WALPosition) {
        state.withLockedValue { $0.acknowledged = max($0.acknowledged ?? position, position) }
        wake()
    }

    /// How long ``finish()`` waits for the network.
    private static let lastPatience = Duration.seconds(1)

    /// Ends the stream once the server has been told what was acknowledged last, also if the task is cancelled.
    ///
    /// - Parameter clock: Measures ``lastPatience``.
    func finish(_ clock: any Clock<Duration>) async {
        let seen = statuses.version
        if state.withLockedValue({ $0.acknowledged != nil && $0.failure == nil }) {
            await Task { [statuses] in
                try? await firstOf {
                    try await statuses.wait(after: seen)
                } or: {
                    try await clock.sleep(for: Self.lastPatience)
                }
            }.value
        }
        close()
    }

    /// Ends the stream: the server ends its side, and the slot is free soon.
    func close() {
        connection.close()
    }

    // MARK: The queue

    /// Reads what has come, tells the server what it has to know, and waits for more.
    ///
    /// - Returns: Whether to go on.
    private func turn(_ libpq: LibPQ, _ nextStatus: inout ContinuousClock.Instant) -> Bool {
        do {
            let mayRead = state.withLockedValue { state in
                state.isFull = state.bytes >= Self.maximumBufferedBytes
                return !state.isFull
            }
            var mustReply = false
            var isDrained = true
            if mayRead { (mustReply, isDrained) = try read(libpq) }
            let (acknowledged, asks) = state.withLockedValue { state in
                defer { (state.acknowledged, state.asks) = (nil, false) }
                return (state.acknowledged, state.asks)
            }
            if mustReply || asks || acknowledged != nil || ContinuousClock.now >= nextStatus {
                try libpq.putCopyData(status(acknowledged, wantsReply: asks).bytes, Self.activity)
                nextStatus = ContinuousClock.now.advanced(by: Self.statusInterval)
            }
            let isSent = try libpq.flushSome(Self.activity)
            if acknowledged != nil { statuses.advance() }
            guard isDrained else { return true }
            var interest: WakeablePoll.Readiness = mayRead ? .readable : []
            if !isSent { interest.insert(.writable) }
            try libpq.waitForActivity(interest, timeout: ContinuousClock.now.duration(to: nextStatus), Self.activity)
            return true
        } catch {
            state.withLockedValue { $0.failure = error }
            news.advance()
            statuses.advance()
            return false
        }
    }

    /// - Returns: Whether the server wants an answer, and whether everything has been read.
    private func read(_ libpq: LibPQ) throws -> (mustReply: Bool, isDrained: Bool) {
        var mustReply = false
        var messages: [ByteBuffer] = []
        var bytes = 0
        var received = WALPosition(rawValue: 0)
        var frames: UInt64 = 0
        var isDrained = false
        while bytes < 1 << 20 {
            guard case .bytes(let data) = try libpq.copyData(Self.activity) else {
                isDrained = true
                break
            }
            frames += 1
            switch try ReplicationFrame(decoding: data) {
            case .walData(_, let end, _, let message):
                messages.append(message)
                bytes += message.readableBytes
                received = max(received, end)
            case .keepalive(let end, _, let wantsReply):
                mustReply = mustReply || wantsReply
                received = max(received, end)
            }
        }
        let isNews = state.withLockedValue { state in
            let wasEmpty = state.messages.isEmpty
            state.messages += messages
            state.bytes += bytes
            state.received = max(state.received, received)
            state.frames += frames
            return wasEmpty && !messages.isEmpty
        }
        if isNews { news.advance() }
        return (mustReply, isDrained)
    }

    private func status(_ acknowledged: WALPosition?, wantsReply: Bool) -> StandbyStatus {
        let none = WALPosition(rawValue: 0)
        return StandbyStatus(
            written: state.withLockedValue { $0.received },
            flushed: acknowledged ?? none,
            applied: acknowledged ?? none,
            sentAt: PostgresInstant(unixMicroseconds: Int64(Date().timeIntervalSince1970 * 1_000_000)),
            wantsReply: wantsReply
        )
    }
}
