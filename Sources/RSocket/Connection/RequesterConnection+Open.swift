extension RequesterConnection {
    /// The data of an open connection.
    struct Open: Sendable {
        var keepalive: RequesterKeepalive
        /// The id of the next stream; `nil` when all have been used.
        private var nextStreamID: StreamID? = .first
        private var streams: [StreamID: ReceiveCredit] = [:]
        private var fragments: FragmentAssembler

        init(_ configuration: Configuration, at now: Duration) {
            keepalive = RequesterKeepalive(
                interval: configuration.setup.keepaliveInterval,
                silenceLimit: configuration.silenceLimit,
                startingAt: now
            )
            fragments = FragmentAssembler(maximumHeldByteCount: configuration.limits.maximumHeldByteCount)
        }

        var streamIDs: [StreamID] { streams.keys.sorted() }

        mutating func requestStream(
            _ payload: Payload,
            window: CreditWindow
        ) throws(RSocketError) -> RequestStreamFrame {
            guard let streamID = nextStreamID else { throw .streamIDsExhausted }
            do throws(FrameError) { try payload.checkLength() } catch { throw .malformedFrame(error) }
            nextStreamID = streamID.next
            streams[streamID] = ReceiveCredit(window)
            return RequestStreamFrame(streamID: streamID, initialRequestN: window.size, payload: payload)
        }

        mutating func payloadConsumed(on streamID: StreamID) -> Frame? {
            guard let requestN = streams[streamID]?.payloadConsumed() else { return nil }
            return .requestN(streamID, requestN)
        }

        mutating func cancel(_ streamID: StreamID) -> Frame? {
            end(streamID) ? .cancel(streamID) : nil
        }

        mutating func frameReceived(_ frame: Frame, at now: Duration) throws(ProtocolViolation) -> ReceiveAction {
            keepalive.messageReceived(at: now)
            switch frame {
            case .keepalive(let keepalive):
                guard keepalive.expectsAnswer else { return .keepaliveAnswered }
                return .send(.keepalive(try keepalive.checkedAnswer()))
            case .payload(let payload):
                return try payloadReceived(payload)
            case .error(let error):
                if error.streamID == .connection { return .close(.endedByPeer(error, streams: streamIDs)) }
                guard try isOpen(error.streamID, for: frame) else { return .none }
                end(error.streamID)
                return .fail(error)
            case .requestN(let streamID, _), .cancel(let streamID):
                guard try isOpen(streamID, for: frame) else { return .none }
                throw .unexpectedFrame(frame.type, streamID)
            case .setup:
                throw .unexpectedFrame(.setup, .connection)
            case .requestStream(let request):
                return try requestReceived(frame.type, request.streamID)
            case .unsupported(let unsupported):
                return try unsupportedFrameReceived(unsupported)
            }
        }

        private mutating func payloadReceived(_ frame: PayloadFrame) throws(ProtocolViolation) -> ReceiveAction {
            let streamID = frame.streamID
            guard try isOpen(streamID, for: .payload(frame)) else { return .none }
            let isContinuation = fragments.isAssembling(streamID)
            // A fragment is part of a payload, whatever its own NEXT flag says.
            guard frame.isNext || frame.hasMoreFragments || isContinuation else {
                guard frame.isComplete else { throw .emptyPayload(streamID) }
                end(streamID)
                return .complete(streamID)
            }
            if !isContinuation, streams[streamID]?.payloadArrived() != true { throw .creditExceeded(streamID) }
            guard
                let payload = try fragments.append(
                    frame.payload,
                    on: streamID,
                    hasMoreFragments: frame.hasMoreFragments
                )
            else { return .partArrived }
            guard frame.isComplete else { return .deliver(payload, to: streamID) }
            end(streamID)
            return .deliverLast(payload, to: streamID)
        }

        private func unsupportedFrameReceived(_ frame: UnsupportedFrame) throws(ProtocolViolation) -> ReceiveAction {
            switch frame.type {
            case .requestResponse, .requestChannel: return try requestReceived(frame.type, frame.streamID)
            case .requestFireAndForget, .metadataPush: return .none
            default:
                guard frame.isIgnorable else { throw .unknownFrame(frame.type) }
                return .none
            }
        }

        /// The service asks for something; no client has an answer.
        private func requestReceived(_ type: FrameType, _ streamID: StreamID) throws(ProtocolViolation) -> ReceiveAction
        {
            guard streamID != .connection, !streamID.isOpenedByRequester else { throw .invalidStreamID(type, streamID) }
            let message = "No available handler found"
            return .send(.error(ErrorFrame(streamID: streamID, code: .rejected, message: message)))
        }

        /// Whether a stream is open.
        ///
        /// One that has ended is not: what was on its way is ignored. So is what belongs to a request of the responder,
        /// which was rejected.
        private func isOpen(_ streamID: StreamID, for frame: Frame) throws(ProtocolViolation) -> Bool {
            if streams[streamID] != nil { return true }
            if streamID.isOpenedByRequester, let nextStreamID, streamID >= nextStreamID {
                throw .invalidStreamID(frame.type, streamID)
            }
            return false
        }

        @discardableResult
        private mutating func end(_ streamID: StreamID) -> Bool {
            fragments.discard(streamID)
            return streams.removeValue(forKey: streamID) != nil
        }
    }
}
