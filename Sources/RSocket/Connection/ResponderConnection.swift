package import NIOCore

/// The state of a connection at the end that accepted it: the service.
///
/// ```
///   awaitingSetup ──SETUP, .verify──▶ verifying ──acceptSetup──▶ open
///        │                                │                        │
///        └────────────────────────────────┴────────────────────────┴──▶ closed
///   no SETUP in time                 rejectSetup            any .close, connectionClosed
///   another frame first              any .close
///   unusable SETUP
///
/// one stream:
///
///   REQUEST_STREAM ──▶ .start ──▶ open ──▶ complete, fail      by the service
///                                  │ ├───▶ .cancel             CANCEL
///                                  │ ├───▶ .abort              a frame that makes no sense on the stream
///                                  │ └───▶ .close              the connection ends
///                                  └─ send; .waitForCredit … REQUEST_N, .resume, send
/// ```
///
/// While the SETUP is verified, requests wait here, and count their REQUEST_N and CANCEL; keepalives are answered.
///
/// Nothing here waits, sends or reads a clock. The caller:
///
/// - passes every WebSocket message, binary or text, to ``messageReceived(_:at:)``, and does what it returns;
/// - reads no further messages while the socket does not take what it has to send: answers to KEEPALIVE have no credit;
/// - sends frames in the order in which it got them;
/// - calls ``timerFired(at:)`` when ``deadline`` has come, and looks at the deadline again after every call;
/// - passes times as durations since a common start, on a monotonic clock;
/// - after ``ConnectionClosure``, sends its last frame, closes the socket and ends its streams.
package struct ResponderConnection: ~Copyable, Sendable {
    /// How a service treats its connections.
    package struct Configuration: Sendable, Hashable {
        /// How long a connection may live without a SETUP.
        package var setupTimeout = Duration.seconds(30)
        /// What is accepted from the requester.
        package var limits = ConnectionLimits.responder
        /// The most streams at a time; more are rejected one by one.
        package var maximumStreamCount = 16
        /// Put in front of the messages of all errors that originate here, such as `[PSYNC_S2001] `.
        ///
        /// Official clients decide by such a code whether to keep their credentials.
        package var errorPrefix = ""

        /// Creates a configuration with the defaults.
        package init() {}
    }

    private enum State: Sendable {
        case awaitingSetup(until: Duration)
        /// The requests are complete and in the order of their arrival.
        case verifying(Open, waiting: [StreamRequest])
        case open(Open)
        case closed
    }

    /// What to do after a message.
    package enum ReceiveAction: Sendable, Hashable {
        case none
        /// Check MIME types and token, then call ``acceptSetup()`` or ``rejectSetup(code:message:)``.
        ///
        /// Comes once. Go on reading meanwhile.
        case verify(SetupFrame)
        /// Send the frame.
        case send(Frame)
        /// Answer the request with ``send(_:on:)``, and ``complete(_:)`` or ``fail(_:code:message:)`` in the end.
        case start(StreamRequest)
        /// There is credit again on a stream that had none.
        case resume(StreamID)
        /// Stop answering; the requester wants no more. Nothing is sent.
        case cancel(StreamID)
        /// Stop answering, and send the error.
        case abort(ErrorFrame)
        /// End the connection.
        case close(ConnectionClosure)
    }

    /// What to do with a payload.
    package enum SendAction: Sendable, Hashable {
        /// Send the frame.
        case send(Frame)
        /// There is no credit: offer the payload again after ``ReceiveAction/resume(_:)``.
        case waitForCredit
        /// The payload is not wanted any more.
        case streamEnded
    }

    private let configuration: Configuration
    private var state: State

    /// Begins a connection whose socket is open.
    package init(_ configuration: Configuration, openedAt now: Duration) {
        self.configuration = configuration
        state = .awaitingSetup(until: now + configuration.setupTimeout)
    }

    /// When ``timerFired(at:)`` is due; `nil` when the connection is closed.
    package var deadline: Duration? {
        switch state {
        case .awaitingSetup(let deadline): deadline
        case .verifying(let open, _), .open(let open): open.keepalive.deadline
        case .closed: nil
        }
    }

    /// Whether the requester has sent its SETUP, and the connection goes on.
    package var hasSetup: Bool {
        switch state {
        case .awaitingSetup, .closed: false
        case .verifying, .open: true
        }
    }

    /// The requester is who it says.
    ///
    /// - Returns: The requests that have waited, in the order of their arrival; start them.
    package mutating func acceptSetup() -> [StreamRequest] {
        switch exchange(&state, with: .closed) {
        case .verifying(let open, let waiting):
            state = .open(open)
            return waiting
        case .closed:
            return []
        case .awaitingSetup, .open:
            preconditionFailure("a SETUP was accepted that was not being verified")
        }
    }

    /// The requester is not welcome.
    ///
    /// - Parameters:
    ///   - code: As a rule ``RSocketErrorCode/rejectedSetup``.
    ///   - message: The whole message; ``Configuration/errorPrefix`` is not added.
    /// - Returns: How to end the connection; `nil` when it is closed already.
    package mutating func rejectSetup(code: RSocketErrorCode, message: String) -> ConnectionClosure? {
        switch exchange(&state, with: .closed) {
        case .verifying: return Self.rejection(code, message)
        case .closed: return nil
        case .awaitingSetup, .open: preconditionFailure("a SETUP was rejected that was not being verified")
        }
    }

    /// A WebSocket message has arrived.
    package mutating func messageReceived(_ message: ByteBuffer, at now: Duration) -> ReceiveAction {
        do throws(FrameError) {
            let frame = try Frame(decoding: message, maximumLength: configuration.limits.maximumFrameLength)
            return frameReceived(frame, at: now)
        } catch {
            switch exchange(&state, with: .closed) {
            case .awaitingSetup:
                // Perhaps not RSocket at all: it gets no answer.
                return .close(ConnectionClosure(reason: .malformedFrame(error), lastFrame: nil, streams: []))
            case .verifying:
                return .close(.malformedFrame(error, prefix: configuration.errorPrefix, streams: []))
            case .open(let open):
                return .close(.malformedFrame(error, prefix: configuration.errorPrefix, streams: open.streamIDs))
            case .closed:
                return .none
            }
        }
    }

    /// A frame has arrived.
    package mutating func frameReceived(_ frame: Frame, at now: Duration) -> ReceiveAction {
        switch exchange(&state, with: .closed) {
        case .awaitingSetup:
            return firstFrameReceived(frame, at: now)
        case .verifying(var open, var waiting):
            do throws(ProtocolViolation) {
                let action = try open.frameReceived(frame, at: now)
                switch action {
                case .start(let request): waiting.append(request)
                case .cancel(let streamID): waiting.removeAll { $0.streamID == streamID }
                case .abort(let error): waiting.removeAll { $0.streamID == error.streamID }
                case .close(let closure): return .close(closure.withoutStreams)
                case .none, .verify, .send, .resume: break
                }
                try open.checkHeldBytes(waiting: waiting)
                state = .verifying(open, waiting: waiting)
                return action.whileVerifying
            } catch {
                return .close(.violation(error, prefix: configuration.errorPrefix, streams: []))
            }
        case .open(var open):
            do throws(ProtocolViolation) {
                let action = try open.frameReceived(frame, at: now)
                if case .close = action { return action }
                state = .open(open)
                return action
            } catch {
                return .close(.violation(error, prefix: configuration.errorPrefix, streams: open.streamIDs))
            }
        case .closed:
            return .none
        }
    }

    /// Offers a payload of a stream.
    package mutating func send(_ payload: Payload, on streamID: StreamID) -> SendAction {
        switch exchange(&state, with: .closed) {
        case .open(var open):
            let action = open.send(payload, on: streamID)
            state = .open(open)
            return action
        case .closed:
            return .streamEnded
        case .awaitingSetup, .verifying:
            preconditionFailure("a payload for stream \(streamID), which was not started")
        }
    }

    /// Ends a stream normally; that needs no credit.
    ///
    /// - Returns: The frame to send; `nil` when the stream has ended already.
    package mutating func complete(_ streamID: StreamID) -> Frame? {
        end(streamID) ? .payload(.complete(streamID)) : nil
    }

    /// Ends a stream with an error; that needs no credit.
    ///
    /// - Parameters:
    ///   - streamID: The stream.
    ///   - code: As a rule ``RSocketErrorCode/applicationError``.
    ///   - message: The whole message; ``Configuration/errorPrefix`` is not added.
    /// - Returns: The frame to send; `nil` when the stream has ended already.
    package mutating func fail(_ streamID: StreamID, code: RSocketErrorCode, message: String) -> Frame? {
        end(streamID) ? .error(ErrorFrame(streamID: streamID, code: code, message: message)) : nil
    }

    /// Time has passed.
    ///
    /// - Returns: How to end the connection, without an ERROR frame; `nil` when it goes on.
    package mutating func timerFired(at now: Duration) -> ConnectionClosure? {
        switch exchange(&state, with: .closed) {
        case .awaitingSetup(let deadline):
            if now >= deadline { return ConnectionClosure(reason: .setupTimeout, lastFrame: nil, streams: []) }
            state = .awaitingSetup(until: deadline)
        case .verifying(let open, let waiting):
            if open.keepalive.isExpired(at: now) {
                return ConnectionClosure(reason: .peerSilent, lastFrame: nil, streams: [])
            }
            state = .verifying(open, waiting: waiting)
        case .open(let open):
            if open.keepalive.isExpired(at: now) {
                return ConnectionClosure(reason: .peerSilent, lastFrame: nil, streams: open.streamIDs)
            }
            state = .open(open)
        case .closed:
            break
        }
        return nil
    }

    /// Messages are read again, after a time in which none was: what the requester has sent meanwhile is still to come.
    package mutating func readingContinues(at now: Duration) {
        switch exchange(&state, with: .closed) {
        case .verifying(var open, let waiting):
            open.keepalive.readingContinues(at: now)
            state = .verifying(open, waiting: waiting)
        case .open(var open):
            open.keepalive.readingContinues(at: now)
            state = .open(open)
        case .awaitingSetup(let deadline):
            state = .awaitingSetup(until: deadline)
        case .closed:
            break
        }
    }

    /// The socket was closed, by either side.
    ///
    /// - Returns: The streams that were started and have not ended, in ascending order.
    package mutating func connectionClosed() -> [StreamID] {
        switch exchange(&state, with: .closed) {
        case .open(let open): open.streamIDs
        case .awaitingSetup, .verifying, .closed: []
        }
    }

    private mutating func end(_ streamID: StreamID) -> Bool {
        switch exchange(&state, with: .closed) {
        case .open(var open):
            let wasOpen = open.end(streamID)
            state = .open(open)
            return wasOpen
        case .closed:
            return false
        case .awaitingSetup, .verifying:
            preconditionFailure("the end of stream \(streamID), which was not started")
        }
    }

    /// Only a SETUP that asks for nothing special leads on.
    private mutating func firstFrameReceived(_ frame: Frame, at now: Duration) -> ReceiveAction {
        switch frame {
        case .setup(let setup):
            if let (code, message) = setup.objection {
                return .close(Self.rejection(code, configuration.errorPrefix + message))
            }
            state = .verifying(Open(configuration, setup: setup, at: now), waiting: [])
            return .verify(setup)
        case .unsupported(let unsupported) where unsupported.type == .resume:
            return .close(Self.rejection(.rejectedResume, configuration.errorPrefix + "Resume is not enabled"))
        case .keepalive, .requestStream, .requestN, .cancel, .payload, .error, .unsupported:
            return .close(Self.rejection(.unsupportedSetup, configuration.errorPrefix + "Unsupported setup"))
        }
    }

    private static func rejection(_ code: RSocketErrorCode, _ message: String) -> ConnectionClosure {
        ConnectionClosure(
            reason: .setupRejected(code, message: message),
            lastFrame: .connectionError(code, message),
            streams: []
        )
    }
}

extension SetupFrame {
    /// What no SETUP may ask for, as the code and the message of the answer.
    fileprivate var objection: (RSocketErrorCode, String)? {
        if usesLeases { return (.rejectedSetup, "Lease has to be disabled") }
        if resumeToken != nil { return (.rejectedSetup, "No resume support") }
        if version.major != Version.current.major { return (.unsupportedSetup, "Unsupported setup") }
        if keepaliveInterval <= .zero || lifetime <= .zero { return (.invalidSetup, "Invalid keepalive times") }
        return nil
    }
}

extension ResponderConnection.ReceiveAction {
    /// What is left of the action while streams are not known outside.
    fileprivate var whileVerifying: Self {
        switch self {
        case .none, .start, .resume, .cancel: .none
        case .abort(let error): .send(.error(error))
        case .verify, .send, .close: self
        }
    }
}

extension ConnectionClosure {
    fileprivate var withoutStreams: ConnectionClosure {
        ConnectionClosure(reason: reason, lastFrame: lastFrame, streams: [])
    }
}
