/// What a peer did that no peer may do, and what ends the connection.
package enum ProtocolViolation: Error, Sendable, Hashable {
    /// A frame of a type that is not known, or not used, and that must not be ignored.
    case unknownFrame(FrameType)
    /// A frame that has no meaning here, such as a second SETUP.
    case unexpectedFrame(FrameType, StreamID)
    /// A stream id that the peer may not use, or that belongs to no stream so far.
    case invalidStreamID(FrameType, StreamID)
    /// A payload for which there was no credit.
    case creditExceeded(StreamID)
    /// A PAYLOAD that is neither a payload nor the end of the stream.
    case emptyPayload(StreamID)
    /// A fragment with metadata after one with data.
    case metadataAfterData(StreamID)
    /// Incomplete payloads and requests that wait for the SETUP to be accepted exceed the limit in bytes.
    case tooManyHeldBytes(limit: Int)
    /// The data of a KEEPALIVE exceeds the limit in bytes.
    case keepaliveTooLong(limit: Int)
}

extension ProtocolViolation: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownFrame(let type): "\(type) is not supported"
        case .unexpectedFrame(let type, let id): "unexpected \(type) on stream \(id)"
        case .invalidStreamID(let type, let id): "\(type) for stream \(id), which does not exist"
        case .creditExceeded(let id): "more payloads on stream \(id) than were requested"
        case .emptyPayload(let id): "PAYLOAD without meaning on stream \(id)"
        case .metadataAfterData(let id): "fragments in the wrong order on stream \(id)"
        case .tooManyHeldBytes(let limit): "incomplete requests or payloads exceed \(limit) bytes"
        case .keepaliveTooLong(let limit): "data of a KEEPALIVE exceeds \(limit) bytes"
        }
    }
}
