import NIOCore

/// Lines of a session that are written together.
struct LineBatch: Sendable {
    /// How many bytes are written together at most, unless one line is longer: 64 KiB.
    static let maximumBytes = 64 * 1024

    private let share: ReadAheadBudget.Share
    private var lines: [ByteBuffer] = []
    private var byteCount = 0
    /// The bytes that the budget counts.
    private var heldBytes = 0
    /// The shared runs that lines are from.
    private var sendings: [SharedRun.Sending] = []

    /// Creates an empty batch of the stream that has a share of the budget.
    init(share: ReadAheadBudget.Share) {
        self.share = share
    }

    /// Adds a line, without waiting.
    ///
    /// - Parameters:
    ///   - line: The line.
    ///   - isHeld: Whether the budget counts it for this session.
    mutating func add(_ line: ByteBuffer, isHeld: Bool = false) {
        lines.append(line)
        byteCount += line.readableBytes
        if isHeld { heldBytes += line.readableBytes }
    }

    /// Adds a line, and hands the batch over when it is full.
    ///
    /// - Parameters:
    ///   - line: The line.
    ///   - isHeld: Whether the budget counts it for this session.
    ///   - sending: The shared run that the line is from; `nil` when only this session sends it.
    ///   - queue: Where lines go.
    /// - Throws: `CancellationError` when the task is cancelled, or the queue has ended.
    mutating func add(
        _ line: ByteBuffer,
        isHeld: Bool = false,
        of sending: SharedRun.Sending? = nil,
        flushingTo queue: LineQueue
    ) async throws {
        if byteCount + line.readableBytes > Self.maximumBytes { try await flush(to: queue) }
        add(line, isHeld: isHeld)
        if let sending, sendings.last !== sending { sendings.append(sending) }
        if byteCount >= Self.maximumBytes { try await flush(to: queue) }
    }

    /// Hands the lines over to the queue.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, or the queue has ended.
    mutating func flush(to queue: LineQueue) async throws {
        guard !lines.isEmpty else { return }
        // Also without any bytes: that the network takes something tells that the client reads.
        let (ready, held) = (lines, LineQueue.Held(share: share, byteCount: heldBytes, sendings: sendings))
        (lines, byteCount, heldBytes, sendings) = ([], 0, 0, [])
        try await queue.send(ready, held: held)
    }
}
