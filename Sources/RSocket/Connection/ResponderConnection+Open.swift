extension ResponderConnection {
    /// The data of a connection that has had its SETUP.
    struct Open: Sendable {
        private let maximumStreamCount: Int
        private let maximumHeldByteCount: Int
        private let errorPrefix: String
        var keepalive: ResponderKeepalive
        /// The highest id that the requester has used; ``StreamID/connection`` when there was none.
        private var lastStreamID = StreamID.connection
        /// The streams that have not ended, those included whose request is incomplete.
        private var streams: [StreamID: SendCredit] = [:]
        private var fragments: FragmentAssembler

        init(_ configuration: Configuration, setup: SetupFrame, at now: Duration) {
            maximumStreamCount = configuration.maximumStreamCount
            maximumHeldByteCount = configuration.limits.maximumHeldByteCount
            errorPrefix = configuration.errorPrefix
            keepalive = ResponderKeepalive(lifetime: setup.lifetime, startingAt: now)
            fragments = FragmentAssembler(maximumHeldByteCount: maximumHeldByteCount)
        }

        /// The streams that have not ended and whose request is complete.
        var streamIDs: [StreamID] {
            streams.keys.filter { !fragments.isAssembling($0) }.sorted()
        }

        func checkHeldBytes(waiting: [StreamRequest]) throws(ProtocolViolation) {
            let count = waiting.reduce(fragments.heldByteCount) { $0 + $1.payload.byteCount }
            guard count <= maximumHeldByteCount else { throw .tooManyHeldBytes(limit: maximumHeldByteCount) }
        }

        mutating func send(_ payload: Payload, on streamID: StreamID) -> SendAction {
            guard streams[streamID] != nil else { return .streamEnded }
            guard streams[streamID]?.take() == true else { return .waitForCredit }
            return .send(.payload(.next(payload, on: streamID)))
        }

        /// Forgets a stream.
        ///
        /// - Returns: Whether it was open.
        mutating func end(_ streamID: StreamID) -> Bool {
            fragments.discard(streamID)
            return streams.removeValue(forKey: streamID) != nil
        }

        mutating func frameReceived(_ frame: Frame, at now: Duration) throws(ProtocolViolation) -> ReceiveAction {
            switch frame {
            case .keepalive(let frame):
                keepalive.keepaliveReceived(at: now)
                return frame.expectsAnswer ? .send(.keepalive(try frame.checkedAnswer())) : .none
            case .requestStream(let request):
                return try requestReceived(request)
            case .requestN(let streamID, let requestN):
                let hadNone = streams[streamID]?.add(requestN) ?? false
                return hadNone ? .resume(streamID) : .none
            case .cancel(let streamID):
                let wasStarted = !fragments.isAssembling(streamID)
                return end(streamID) && wasStarted ? .cancel(streamID) : .none
            case .payload(let payload):
                return try payloadReceived(payload)
            case .error(let error) where error.streamID == .connection:
                return .close(.endedByPeer(error, streams: streamIDs))
            case .error(let error):
                return unexpectedFrameReceived(.error, error.streamID)
            case .setup:
                throw .unexpectedFrame(.setup, .connection)
            case .unsupported(let unsupported):
                return try unsupportedFrameReceived(unsupported)
            }
        }

        private mutating func requestReceived(
            _ request: RequestStreamFrame
        ) throws(ProtocolViolation) -> ReceiveAction {
            let streamID = request.streamID
            guard streamID.isOpenedByRequester else { throw .invalidStreamID(.requestStream, streamID) }
            // RSocket wants a request for a stream that is open to be ignored.
            if streams[streamID] != nil { return .none }
            guard streamID > lastStreamID else {
                return rejection(streamID, "Stream id \(streamID) does not come after \(lastStreamID)")
            }
            lastStreamID = streamID
            guard streams.count < maximumStreamCount else {
                return rejection(streamID, "More than \(maximumStreamCount) streams on one connection")
            }
            streams[streamID] = SendCredit(request.initialRequestN)
            return try append(request.payload, on: streamID, hasMoreFragments: request.hasMoreFragments)
        }

        private mutating func payloadReceived(_ frame: PayloadFrame) throws(ProtocolViolation) -> ReceiveAction {
            guard fragments.isAssembling(frame.streamID) else {
                return unexpectedFrameReceived(.payload, frame.streamID)
            }
            return try append(frame.payload, on: frame.streamID, hasMoreFragments: frame.hasMoreFragments)
        }

        private mutating func append(
            _ fragment: Payload,
            on streamID: StreamID,
            hasMoreFragments: Bool
        ) throws(ProtocolViolation) -> ReceiveAction {
            let payload = try fragments.append(fragment, on: streamID, hasMoreFragments: hasMoreFragments)
            guard let payload else { return .none }
            return .start(StreamRequest(streamID: streamID, payload: payload))
        }

        /// A frame makes no sense on its stream: the stream ends, if there is one.
        private mutating func unexpectedFrameReceived(_ type: FrameType, _ streamID: StreamID) -> ReceiveAction {
            let wasStarted = !fragments.isAssembling(streamID)
            guard end(streamID) else { return .none }
            let message = errorPrefix + ProtocolViolation.unexpectedFrame(type, streamID).description
            let error = ErrorFrame(streamID: streamID, code: .canceled, message: message)
            return wasStarted ? .abort(error) : .send(.error(error))
        }

        private mutating func unsupportedFrameReceived(
            _ frame: UnsupportedFrame
        ) throws(ProtocolViolation) -> ReceiveAction {
            switch frame.type {
            case .requestResponse, .requestChannel, .requestFireAndForget:
                let streamID = frame.streamID
                guard streamID.isOpenedByRequester else { throw .invalidStreamID(frame.type, streamID) }
                if streams[streamID] != nil { return .none }
                lastStreamID = max(lastStreamID, streamID)
                if frame.type == .requestFireAndForget { return .none }
                return rejection(streamID, "No available handler found")
            case .metadataPush:
                return .none
            default:
                guard frame.isIgnorable else { throw .unknownFrame(frame.type) }
                return .none
            }
        }

        private func rejection(_ streamID: StreamID, _ message: String) -> ReceiveAction {
            .send(.error(ErrorFrame(streamID: streamID, code: .rejected, message: errorPrefix + message)))
        }
    }
}
