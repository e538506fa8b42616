import NIOCore
import PowerSyncHTTP

extension Transfer {
    /// What a transfer knows: the waiters, and what has arrived and is not read.
    ///
    /// ```
    /// created ── asked for the head ─▶ awaitingHead ── head ─▶ receiving ⇄ (paused)
    ///                                       │                     │
    ///                                       └──── completed ──────┴──▶ ended (what is left) ─▶ closed
    /// ```
    ///
    /// In every state, ``cancelled()`` leads to `closed`, where whatever the session still says is of no interest.
    struct StateMachine<Head: Sendable, HeadWaiter: Sendable, ChunkWaiter: Sendable>: Sendable {
        /// How many unread bytes pause a task: 1 MiB.
        static var pauseLimit: Int { 1 << 20 }
        /// How few unread bytes let it go on: 256 KiB.
        static var resumeLimit: Int { 256 << 10 }
        /// How many unread bytes are too many where a task cannot be paused: 64 MiB.
        static var unreadLimit: Int { 64 << 20 }

        private enum Pause {
            case none
            /// The task is being suspended. It is not resumed before that is done: a task that is not suspended cannot be resumed.
            case begins
            case isComplete
        }

        private struct Unread {
            var chunks: CircularBuffer<ByteBuffer> = []
            var bytes = 0
            var pause = Pause.none

            mutating func append(_ chunk: ByteBuffer) {
                chunks.append(chunk)
                bytes += chunk.readableBytes
            }

            mutating func popFirst() -> ByteBuffer? {
                guard let chunk = chunks.popFirst() else { return nil }
                bytes -= chunk.readableBytes
                return chunk
            }
        }

        private enum State {
            case created
            case awaitingHead(HeadWaiter)
            case receiving(Unread)
            /// Everything is read, and there is a waiter for more.
            case awaitingChunk(ChunkWaiter)
            case ended(Unread, (any Error)?)
            case closed
        }

        /// What the caller does.
        enum Action {
            case none
            /// Starts the task.
            case start
            /// Hands over the head.
            case head(HeadWaiter, Head)
            /// Hands over bytes, or the end.
            case chunk(ChunkWaiter, ByteBuffer?)
            /// Hands over bytes, and lets the task go on.
            case chunkAndResume(ChunkWaiter, ByteBuffer)
            /// Suspends the task, and calls ``suspended()`` after that.
            case suspend
            /// Lets the task go on.
            case resume
            /// Cancels the task, and tells those who wait.
            case cancel(HeadWaiter?, ChunkWaiter?)
            case failHead(HeadWaiter, (any Error)?)
            case failChunk(ChunkWaiter, any Error)
        }

        private let pausing: ResponsePausing
        private var state = State.created

        init(pausing: ResponsePausing) {
            self.pausing = pausing
        }

        /// The task is suspended.
        mutating func suspended() -> Action {
            switch state {
            case .receiving(var unread):
                let isRead = unread.bytes < Self.resumeLimit
                unread.pause = isRead ? .none : .isComplete
                state = .receiving(unread)
                return isRead ? .resume : .none
            case .awaitingChunk: return .resume
            case .created, .awaitingHead, .ended, .closed: return .none
            }
        }

        /// There is a waiter for the head.
        mutating func headAsked(_ waiter: HeadWaiter) -> Action {
            guard case .created = state else { return .failHead(waiter, CancellationError()) }
            state = .awaitingHead(waiter)
            return .start
        }

        /// The head has arrived.
        mutating func received(_ head: Head) -> Action {
            guard case .awaitingHead(let waiter) = state else { return .none }
            state = .receiving(Unread())
            return .head(waiter, head)
        }

        /// Bytes have arrived.
        mutating func received(_ chunk: ByteBuffer) -> Action {
            switch state {
            case .awaitingChunk(let waiter):
                state = .receiving(Unread())
                return .chunk(waiter, chunk)
            case .receiving(var unread):
                unread.append(chunk)
                switch pausing {
                case .suspendsTask where unread.bytes > Self.pauseLimit && unread.pause == .none:
                    unread.pause = .begins
                    state = .receiving(unread)
                    return .suspend
                case .impossible where unread.bytes > Self.unreadLimit:
                    state = .ended(unread, HTTPExchangeError(.unread(Self.unreadLimit)))
                    return .cancel(nil, nil)
                case .suspendsTask, .impossible:
                    state = .receiving(unread)
                    return .none
                }
            case .created, .awaitingHead, .ended, .closed:
                return .none
            }
        }

        /// The task has ended.
        mutating func completed(_ error: (any Error)?) -> Action {
            switch state {
            case .awaitingHead(let waiter):
                state = .closed
                return .failHead(waiter, error)
            case .awaitingChunk(let waiter):
                state = .closed
                return error.map { .failChunk(waiter, $0) } ?? .chunk(waiter, nil)
            case .receiving(let unread):
                state = .ended(unread, error)
                return .none
            case .created, .ended, .closed:
                return .none
            }
        }

        /// There is a waiter for bytes.
        mutating func chunkAsked(_ waiter: ChunkWaiter) -> Action {
            switch state {
            case .receiving(var unread):
                guard let chunk = unread.popFirst() else {
                    state = .awaitingChunk(waiter)
                    return .none
                }
                let resumes = unread.pause == .isComplete && unread.bytes < Self.resumeLimit
                if resumes { unread.pause = .none }
                state = .receiving(unread)
                return resumes ? .chunkAndResume(waiter, chunk) : .chunk(waiter, chunk)
            case .ended(var unread, let error):
                if let chunk = unread.popFirst() {
                    state = .ended(unread, error)
                    return .chunk(waiter, chunk)
                }
                state = .closed
                return error.map { .failChunk(waiter, $0) } ?? .chunk(waiter, nil)
            case .created, .awaitingHead, .awaitingChunk, .closed:
                return .chunk(waiter, nil)
            }
        }

        /// There is no reader any more.
        mutating func cancelled() -> Action {
            defer { state = .closed }
            return switch state {
            case .created, .receiving: .cancel(nil, nil)
            case .awaitingHead(let waiter): .cancel(waiter, nil)
            case .awaitingChunk(let waiter): .cancel(nil, waiter)
            case .ended, .closed: .none
            }
        }
    }
}
