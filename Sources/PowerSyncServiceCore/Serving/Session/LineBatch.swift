import NIOCore

/// The lines of a session that are written together, at most ``maximumBytes``.
struct LineBatch: Sendable {
    /// The most bytes that are written together, unless one line is longer: 64 KiB.
    static let maximumBytes = 64 * 1024

    private let account: LineMemory.Account
    private var lines: [ByteBuffer] = []
    private var byteCount = 0
    /// The bytes that the account counts.
    private var heldBytes = 0
    /// The registrations with the shared runs that lines are from.
    private var senders: [SharedRun.Sender] = []

    /// Creates an empty batch of the stream that has an account.
    init(_ account: LineMemory.Account) {
        self.account = account
    }

    /// Adds a line, without waiting.
    ///
    /// - Parameters:
    ///   - line: The line.
    ///   - isHeld: Whether the account counts the line.
    mutating func add(_ line: ByteBuffer, isHeld: Bool = false) {
        lines.append(line)
        byteCount += line.readableBytes
        if isHeld { heldBytes += line.readableBytes }
    }

    /// Adds a line, and hands the batch over when it is full.
    ///
    /// - Parameters:
    ///   - line: The line.
    ///   - isHeld: Whether the account counts the line.
    ///   - sender: The registration with the shared run that the line is from; `nil` when only this session sends the
    ///     line.
    ///   - queue: Where lines go.
    /// - Throws: `CancellationError` when the task is cancelled, or the queue has ended.
    mutating func add(
        _ line: ByteBuffer,
        isHeld: Bool = false,
        from sender: SharedRun.Sender? = nil,
        flushingTo queue: LineQueue
    ) async throws {
        if byteCount + line.readableBytes > Self.maximumBytes { try await flush(to: queue) }
        add(line, isHeld: isHeld)
        if let sender, senders.last !== sender { senders.append(sender) }
        if byteCount >= Self.maximumBytes { try await flush(to: queue) }
    }

    /// Hands the lines over to the queue.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, or the queue has ended.
    mutating func flush(to queue: LineQueue) async throws {
        guard !lines.isEmpty else { return }
        // Also without bytes that count: that the network takes lines tells that the client reads.
        let (ready, held) = (lines, LineQueue.Held(account: account, byteCount: heldBytes, senders: senders))
        (lines, byteCount, heldBytes, senders) = ([], 0, 0, [])
        try await queue.send(ready, held: held)
    }
}
