/// Why a message is not a frame, or why a frame cannot be written.
package enum FrameError: Error, Sendable, Hashable {
    /// The message has more bytes than the limit.
    case tooLong(limit: Int)
    /// The message ends before the field with this name.
    case truncated(FrameField)
    /// The first bit of the stream id is set, or the id is 0 for a frame of a stream, or not 0 for one of the connection.
    case invalidStreamID(FrameType, UInt32)
    /// The metadata is said to be longer than the rest of the message.
    case invalidMetadataLength(Int)
    /// A MIME type is not ASCII.
    case invalidMIMEType
    /// The number of requested payloads is 0 or above 2^31 - 1.
    case invalidRequestN(UInt32)
    /// Something follows after the frame.
    case trailingBytes(FrameType)
    /// Metadata, a MIME type or a resume token, to be written, exceeds what its length field can say.
    case fieldTooLong(FrameField, limit: Int)
}

/// A part of a frame, for error messages.
package enum FrameField: String, Sendable, Hashable {
    case header
    case version
    case keepaliveTimes = "keepalive times"
    case resumeToken = "resume token"
    case metadataMIMEType = "metadata MIME type"
    case dataMIMEType = "data MIME type"
    case metadata
    case requestN = "request N"
    case position
    case errorCode = "error code"
}

extension FrameError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLong(let limit): "a frame is longer than \(limit) bytes"
        case .truncated(let field): "a frame ends before or inside its \(field.rawValue)"
        case .invalidStreamID(let type, let id): "a \(type) cannot have the stream id \(id)"
        case .invalidMetadataLength(let length): "metadata of \(length) bytes extends beyond its frame"
        case .invalidMIMEType: "a MIME type is not ASCII"
        case .invalidRequestN(let count): "\(count) payloads cannot be requested"
        case .trailingBytes(let type): "something follows after a \(type)"
        case .fieldTooLong(let field, let limit): "\(field.rawValue) is longer than \(limit) bytes"
        }
    }
}
