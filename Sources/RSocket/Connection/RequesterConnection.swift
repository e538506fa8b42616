package import NIOCore

/// The state of a connection at the end that opened it: the client.
///
/// ```
///            init: send setupFrame
///              │
///              ▼                  connectionClosed, or any .close
///            open ──────────────────────────────────────────────▶ closed
///
/// one stream:
///
///   requestStream ──▶ open ──▶ .deliverLast, .complete     PAYLOAD with COMPLETE
///                      │ ├───▶ .fail                       ERROR
///                      │ ├───▶ cancel                      what still comes is ignored
///                      │ └───▶ .close                      the connection ends
///                      └─ .deliver, payloadConsumed ▶ REQUEST_N, any number of times
/// ```
///
/// Nothing here waits, sends or reads a clock. The caller:
///
/// - sends ``setupFrame`` first, and all frames in the order in which it got them;
/// - passes every WebSocket message, binary or text, to ``messageReceived(_:at:)``, and does what it returns;
/// - calls ``partReceived(at:)`` for bytes of a message that is not complete;
/// - calls ``timerFired(at:)`` when ``deadline`` has come, and looks at the deadline again after every call;
/// - passes times as durations since a common start, on a monotonic clock;
/// - after ``ConnectionClosure``, sends its last frame, closes the socket and ends its streams.
package struct RequesterConnection: ~Copyable, Sendable {
    /// What a connection is opened with.
    package struct Configuration: Sendable, Hashable {
        /// 30 s, as in the official clients.
        package static let defaultSilenceLimit = Duration.seconds(30)

        /// The SETUP; its keepalive interval is honoured, and should be below the silence limit.
        package var setup: SetupFrame
        /// The time without any part of a message after which the responder is taken for dead.
        package var silenceLimit: Duration
        /// What is accepted from the responder.
        package var limits: ConnectionLimits

        /// Creates a configuration.
        package init(
            setup: SetupFrame,
            silenceLimit: Duration = defaultSilenceLimit,
            limits: ConnectionLimits = .requester
        ) {
            self.setup = setup
            self.silenceLimit = silenceLimit
            self.limits = limits
        }
    }

    private enum State: Sendable {
        case open(Open)
        case closed
    }

    /// What to do after a message.
    package enum ReceiveAction: Sendable, Hashable {
        case none
        /// Send the frame.
        case send(Frame)
        /// The responder has answered a KEEPALIVE: it is there, and has nothing else to say.
        case keepaliveAnswered
        /// A part of a payload has arrived; more is to come.
        case partArrived
        /// Hand the payload to the consumer of the stream, and call ``payloadConsumed(on:)`` when it took it.
        case deliver(Payload, to: StreamID)
        /// As ``deliver(_:to:)``; the stream has ended after it.
        case deliverLast(Payload, to: StreamID)
        /// The stream has ended normally, after what was delivered.
        case complete(StreamID)
        /// The stream has failed; the connection stays open.
        case fail(ErrorFrame)
        /// End the connection.
        case close(ConnectionClosure)
    }

    /// What to do at a deadline.
    package enum TimerAction: Sendable, Hashable {
        /// It was too early.
        case none
        /// Send the frame.
        case send(Frame)
        /// End the connection.
        case close(ConnectionClosure)
    }

    /// The SETUP, to be sent before anything else.
    package let setupFrame: Frame
    private let maximumFrameLength: Int
    private var state: State

    /// Begins a connection whose socket is open.
    package init(_ configuration: Configuration, openedAt now: Duration) {
        setupFrame = .setup(configuration.setup)
        maximumFrameLength = configuration.limits.maximumFrameLength
        state = .open(Open(configuration, at: now))
    }

    /// When ``timerFired(at:)`` is due; `nil` when the connection is closed.
    package var deadline: Duration? {
        switch state {
        case .open(let open): open.keepalive.deadline
        case .closed: nil
        }
    }

    /// Opens a stream.
    ///
    /// - Parameters:
    ///   - payload: The request.
    ///   - window: How far the responder may run ahead of the consumer.
    /// - Returns: The frame to send; it has the id of the stream.
    /// - Throws: ``RSocketError/connectionClosed``, ``RSocketError/streamIDsExhausted``, or
    ///   ``RSocketError/malformedFrame(_:)`` when the metadata is too long. No stream was opened then.
    package mutating func requestStream(
        _ payload: Payload,
        window: CreditWindow = .standard
    ) throws(RSocketError) -> RequestStreamFrame {
        switch exchange(&state, with: .closed) {
        case .open(var open):
            do throws(RSocketError) {
                let frame = try open.requestStream(payload, window: window)
                state = .open(open)
                return frame
            } catch {
                state = .open(open)
                throw error
            }
        case .closed:
            throw .connectionClosed
        }
    }

    /// The consumer of a stream has taken a payload.
    ///
    /// - Returns: A REQUEST_N to send, when it is time for one.
    package mutating func payloadConsumed(on streamID: StreamID) -> Frame? {
        switch exchange(&state, with: .closed) {
        case .open(var open):
            let frame = open.payloadConsumed(on: streamID)
            state = .open(open)
            return frame
        case .closed:
            return nil
        }
    }

    /// The consumer of a stream wants no more; what still comes for it is ignored.
    ///
    /// - Returns: The CANCEL to send; `nil` when the stream has ended already.
    package mutating func cancel(_ streamID: StreamID) -> Frame? {
        switch exchange(&state, with: .closed) {
        case .open(var open):
            let frame = open.cancel(streamID)
            state = .open(open)
            return frame
        case .closed:
            return nil
        }
    }

    /// A WebSocket message has arrived.
    package mutating func messageReceived(_ message: ByteBuffer, at now: Duration) -> ReceiveAction {
        do throws(FrameError) {
            let frame = try Frame(decoding: message, maximumLength: maximumFrameLength)
            return frameReceived(frame, at: now)
        } catch {
            switch exchange(&state, with: .closed) {
            case .open(let open):
                return .close(.malformedFrame(error, prefix: "", streams: open.streamIDs))
            case .closed:
                return .none
            }
        }
    }

    /// Bytes have arrived that belong to a message, and do not complete it.
    ///
    /// - Returns: Whether the consumer should hear of it; not of each, see ``RequesterKeepalive/partReceived(at:)``.
    package mutating func partReceived(at now: Duration) -> Bool {
        switch exchange(&state, with: .closed) {
        case .open(var open):
            let counts = open.keepalive.partReceived(at: now)
            state = .open(open)
            return counts
        case .closed:
            return false
        }
    }

    /// A frame has arrived.
    package mutating func frameReceived(_ frame: Frame, at now: Duration) -> ReceiveAction {
        switch exchange(&state, with: .closed) {
        case .open(var open):
            do throws(ProtocolViolation) {
                let action = try open.frameReceived(frame, at: now)
                if case .close = action { return action }
                state = .open(open)
                return action
            } catch {
                return .close(.violation(error, prefix: "", streams: open.streamIDs))
            }
        case .closed:
            return .none
        }
    }

    /// Time has passed.
    package mutating func timerFired(at now: Duration) -> TimerAction {
        switch exchange(&state, with: .closed) {
        case .open(var open):
            switch open.keepalive.timerFired(at: now) {
            case .wait:
                state = .open(open)
                return .none
            case .send:
                state = .open(open)
                return .send(.keepalive(KeepaliveFrame(expectsAnswer: true)))
            case .close:
                return .close(ConnectionClosure(reason: .peerSilent, lastFrame: nil, streams: open.streamIDs))
            }
        case .closed:
            return .none
        }
    }

    /// The socket was closed, by either side.
    ///
    /// - Returns: The streams that were open, in ascending order.
    package mutating func connectionClosed() -> [StreamID] {
        switch exchange(&state, with: .closed) {
        case .open(let open): open.streamIDs
        case .closed: []
        }
    }
}
