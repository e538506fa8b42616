import NIOCore
import NIOHTTP1

extension HTTPConnectionHandler {
    /// Decides what a connection does before and between requests, and at its end.
    ///
    /// ```
    ///                     a part of a head           the rest of it
    ///   ┌────────▶ rest ───────────────────▶ head ──────────────────▶ body ──end──▶ rest
    ///   │                                     │ │
    ///   │        no request: Unreadable ◀─────┘ └──▶ handshake ──end, all answered──▶ upgraded
    ///   │                  │
    ///   └─ idle            └──all answered──▶ the answer, then closing ──▶ closed
    /// ```
    ///
    /// Requests are answered in their order, and not all at once: what concerns the connection waits until those before
    /// it have been answered. The caller performs the action of each event, and calls ``timedOut()`` when ``wait`` has
    /// been the same for too long.
    struct StateMachine {
        /// Where the input is.
        enum Input: Equatable {
            /// Between two requests.
            case rest(isFirst: Bool)
            /// Within a head.
            case head
            /// Between a head and the end of the request.
            ///
            /// - Parameters:
            ///   - rest: How many bytes of the body have not arrived; `nil` when its length is not known.
            ///   - unread: How many bytes have arrived since the request was answered.
            case body(rest: Int?, unread: Int)
            /// A handshake waits for its end, or for the answers of requests before it.
            case handshake(WebSocketHandshake.Opening, isAtEnd: Bool)
            /// Nothing more can be read; the client gets a refusal.
            case unreadable(HTTPRefusal)
            /// Nothing more is read.
            case finished
        }

        /// The event of the client that the connection waits for.
        enum Wait: Equatable {
            case firstRequest, nextRequest, head, body, close
            /// The end of the connection, after a body that was answered before it had arrived.
            case closeAfterBody
        }

        /// The action for a part of a request.
        enum ReadAction: Equatable {
            /// Pass it on to the next handler.
            case forward
            case drop
            /// The same, and what follows the request is no HTTP.
            case dropAndKeepRest
            case perform(Action)
        }

        /// The action after an event.
        enum Action: Equatable {
            case none
            /// Answer with 101, and go on with WebSocket.
            case upgrade(WebSocketHandshake.Opening)
            /// Answer with a refusal, then close the output.
            case refuse(HTTPRefusal)
            /// Fail the body of the request: its reader gets an error.
            case failBody
            /// Close the output, and the rest when the client has.
            case closeOutput
            /// Close the connection.
            case close
        }

        private enum Output: Equatable {
            case open
            /// The output is closed once the network has taken what was written before.
            case closing
            case closed
            case upgraded
        }

        private let unreadLimit: Int
        private let upgrades: Bool
        private var input = Input.rest(isFirst: true)
        private var output = Output.open
        /// Requests whose response has not ended.
        private var unanswered = 0
        /// The client or the server wants no request after those that have arrived.
        private var closesWhenAnswered = false
        /// The response that is being written is the last one, whatever has been asked for behind it.
        private var closesAfterResponse = false
        /// The response says that it is the last one, because more of the body of its request may follow than is read.
        private var readsBodyBeforeClosing = false
        /// Whether the output was closed before the body of a request had arrived.
        private var isBodyCutOff = false
        /// Whether the client speaks HTTP/1.0: it knows no chunks, and the end of an answer by the end of the
        /// connection.
        private(set) var isOfVersion1_0 = false
        /// Whether the client has been sent anything, which proves that a handshake of TLS is complete.
        private var hasWritten = false

        /// Begins a connection.
        ///
        /// - Parameters:
        ///   - unreadLimit: How many bytes may come of a body whose request has been answered.
        ///   - upgrades: Whether there are WebSockets; if not, a request for one is answered by its route.
        init(unreadLimit: Int, upgrades: Bool = true) {
            self.unreadLimit = unreadLimit
            self.upgrades = upgrades
        }

        /// The event of the client that the connection waits for; `nil` when it is the server's turn, or a WebSocket.
        var wait: Wait? {
            if output == .closed { return isBodyCutOff ? .closeAfterBody : .close }
            guard output == .open, unanswered == 0 else { return nil }
            return switch input {
            case .rest(let isFirst): isFirst ? .firstRequest : .nextRequest
            case .head: .head
            case .body: .body
            case .handshake, .unreadable, .finished: nil
            }
        }

        /// Whether reading has to wait: the handler for the bytes behind a handshake is not there yet.
        var holdsReads: Bool {
            if case .handshake = input { output == .open } else { false }
        }

        // MARK: Requests

        mutating func received(_ part: HTTPServerRequestPart) -> ReadAction {
            guard output == .open else { return .drop }
            switch (part, input) {
            case (.head(let head), .rest), (.head(let head), .head):
                return received(head)
            case (.body(let bytes), .body(let rest, var unread)):
                if unanswered == 0 { unread += bytes.readableBytes }
                input = .body(rest: rest.map { $0 - bytes.readableBytes }, unread: unread)
                return unread > unreadLimit ? .perform(closeOutput()) : .forward
            case (.end, .body):
                input = .rest(isFirst: false)
                return readsBodyBeforeClosing && unanswered == 0 ? .perform(closeOutput()) : .forward
            case (.end, .handshake(let opening, _)):
                input = .handshake(opening, isAtEnd: true)
                return .perform(unanswered == 0 ? allAnswered() : .none)
            default:
                return .drop
            }
        }

        private mutating func received(_ head: HTTPRequestHead) -> ReadAction {
            guard !closesWhenAnswered else {
                input = .finished
                return .drop
            }
            if let refusal = head.hostProblem { return .perform(refuse(refusal)) }
            switch upgrades ? WebSocketHandshake(head) : .none {
            case .complete(let opening):
                input = .handshake(opening, isAtEnd: false)
                return .dropAndKeepRest
            case .broken(let reason):
                return .perform(refuse(.brokenHandshake(reason: reason)))
            case .none:
                if head.version == .http1_0 { isOfVersion1_0 = true }
                input = .body(rest: head.bodyLength, unread: 0)
                unanswered += 1
                closesWhenAnswered = !head.isKeepAlive
                return .forward
            }
        }

        /// A read is complete.
        ///
        /// - Parameter isWithinRequest: Whether it has ended within a request: if that has no head yet, then within its
        ///   head, also when the same read has brought the request before it.
        mutating func readCompleted(isWithinRequest: Bool) {
            guard output == .open, isWithinRequest, case .rest = input else { return }
            input = .head
        }

        /// The parser has failed: the bytes are no request, or no body.
        mutating func failed(_ error: HTTPParserError) -> Action {
            guard output == .open else { return .none }
            if case .body = input {
                closesWhenAnswered = true
                input = .finished
                return unanswered == 0 ? closeOutput() : .failBody
            }
            if case .unreadable = input { return .none }
            // The parser also fails when something follows the last request.
            guard !closesWhenAnswered else {
                input = .finished
                return .none
            }
            return refuse(error == .headerOverflow ? .headTooLarge : .notHTTP(error))
        }

        private mutating func refuse(_ refusal: HTTPRefusal) -> Action {
            input = .unreadable(refusal)
            return unanswered == 0 ? allAnswered() : .none
        }

        /// A route begins to read a body that the client keeps until then.
        ///
        /// - Returns: Whether the client is to be told; a client of HTTP/1.0 would take it for the answer.
        mutating func bodyIsWanted() -> Bool {
            guard output == .open, !isOfVersion1_0, case .body = input else { return false }
            hasWritten = true
            return true
        }

        // MARK: Responses

        /// The head of a response is about to be written.
        ///
        /// A connection that may end before the body of its request has arrived is not used again, and the client has
        /// to know that: its next request would be lost.
        ///
        /// - Returns: Whether the head has to say that the connection is closed after the response.
        mutating func responseBegan(_ head: HTTPResponseHead) -> Bool {
            hasWritten = true
            if !head.isKeepAlive { closesAfterResponse = true }
            guard !closesAfterResponse, !closesWhenAnswered, unanswered == 1, case .body(let rest, _) = input,
                rest.map({ $0 > unreadLimit }) ?? true
            else { return false }
            closesWhenAnswered = true
            readsBodyBeforeClosing = true
            return true
        }

        mutating func responseEnded() -> Action {
            unanswered -= 1
            guard output == .open else { return .none }
            if closesAfterResponse { return closeOutput() }
            return unanswered == 0 ? allAnswered() : .none
        }

        private mutating func allAnswered() -> Action {
            switch input {
            case .unreadable(let refusal):
                output = .closing
                hasWritten = true
                return .refuse(refusal)
            case .handshake(let opening, isAtEnd: true) where !closesWhenAnswered:
                output = .upgraded
                return .upgrade(opening)
            case .finished:
                return closeOutput()
            case .body where readsBodyBeforeClosing:
                return .none
            case .rest, .head, .body, .handshake:
                return closesWhenAnswered ? closeOutput() : .none
            }
        }

        /// Ends the connection behind what was written.
        ///
        /// Where nothing was written, the connection is closed at once: the end of the output may never get through, as
        /// a handler of TLS keeps it until a handshake is complete that a stranger need not even begin.
        private mutating func closeOutput() -> Action {
            output = .closing
            if case .body = input { isBodyCutOff = true }
            return hasWritten ? .closeOutput : .close
        }

        // MARK: The connection

        /// The client has closed its end.
        mutating func inputClosed() -> Action {
            guard output != .upgraded else { return .none }
            closesWhenAnswered = true
            switch input {
            case .unreadable: break
            case .rest, .head, .body, .handshake, .finished: input = .finished
            }
            switch output {
            case .open: return unanswered == 0 ? allAnswered() : .none
            case .closed: return .close
            case .closing, .upgraded: return .none
            }
        }

        /// Whether the connection is none of HTTP any more.
        var isUpgraded: Bool { output == .upgraded }

        /// A later handler wants the output closed.
        mutating func closeRequested() -> Action {
            output == .open ? closeOutput() : .none
        }

        /// The client can have all that was written.
        ///
        /// - Returns: Whether it is waited for that it closes its end.
        mutating func outputClosed() -> Bool {
            guard output != .upgraded else { return false }
            output = .closed
            return true
        }

        /// The server shuts down.
        mutating func shutDown() -> Action {
            closesWhenAnswered = true
            return unanswered == 0 ? .close : .none
        }

        /// The event that the connection waits for has not come in time.
        mutating func timedOut() -> Action {
            switch wait {
            case .head: return refuse(.headTooSlow)
            case .close, .closeAfterBody, nil: return .close
            case .body:
                // The time for the rest of the body is over.
                input = .finished
                return closeOutput()
            case .firstRequest, .nextRequest: return closeOutput()
            }
        }
    }
}

extension HTTPRequestHead {
    /// The length of the body in bytes; `nil` when only its end tells.
    fileprivate var bodyLength: Int? {
        if headers.contains(name: "Transfer-Encoding") { return nil }
        guard let length = headers.first(name: "Content-Length") else { return 0 }
        return Int(length)
    }
}
