import NIOCore

/// Messages that are sent in their order, when the one before them is compressed.
///
/// A long message is compressed piece by piece, and the event loop goes on between two pieces: it has other connections. Those that are
/// written meanwhile wait.
struct OutgoingMessages {
    /// What to do now.
    enum Next {
        /// Send this, and look again.
        case send(ByteBuffer, isCompressed: Bool, EventLoopPromise<Void>?)
        /// Look again when the event loop has looked at other connections.
        case pause
        /// Nothing waits any more.
        case done
    }

    private let windowBits: Int
    private var waiting = CircularBuffer<(message: ByteBuffer, promise: EventLoopPromise<Void>?)>()
    /// Compresses the first of them.
    private var compressor: MessageCompressor?

    /// Creates an empty queue.
    ///
    /// - Parameter windowBits: How far back the peer can look in a message, as a power of two.
    init(windowBits: Int) {
        self.windowBits = windowBits
    }

    /// Whether nothing waits.
    var isEmpty: Bool { waiting.isEmpty }

    /// Adds a message.
    mutating func append(_ message: ByteBuffer, _ promise: EventLoopPromise<Void>?) {
        waiting.append((message, promise))
    }

    /// Does the next piece of work.
    mutating func next() -> Next {
        guard let (message, promise) = waiting.first else { return .done }
        if compressor == nil { compressor = MessageCompressor(message, windowBits: windowBits) }
        let progress = compressor?.compressPiece() ?? .complete(nil)
        guard case .complete(let compressed) = progress else { return .pause }
        compressor = nil
        waiting.removeFirst()
        return .send(compressed ?? message, isCompressed: compressed != nil, promise)
    }

    /// Drops everything.
    mutating func fail(_ error: any Error) {
        compressor = nil
        let dropped = waiting
        waiting.removeAll()
        for (_, promise) in dropped { promise?.fail(error) }
    }
}
