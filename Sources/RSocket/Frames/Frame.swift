/// A frame of RSocket 1.0, one to a WebSocket message (docs/protocol.md "WebSocket").
///
/// All integers are big endian. There is no length in front: the message has one.
///
/// ```
/// bits
///    1  0
///   31  stream id; 0 in SETUP and KEEPALIVE, not 0 in REQUEST_STREAM, REQUEST_N, CANCEL and PAYLOAD, either in ERROR
///    6  type
///   10  flags, from the left:
///         I  ignore the frame when the type is not known; in all frames
///         M  metadata is present
///         then for SETUP           R  resume token is present    L  leases are wanted
///                  KEEPALIVE       R  respond
///                  REQUEST_STREAM  F  more fragments follow
///                  PAYLOAD         F  more fragments follow      C  complete    N  next
///
/// type          body, numbers in bits
/// 01 SETUP           16 major version, 16 minor version
///                    32 keepalive interval in ms, 32 lifetime in ms
///                    with R: 16 length + resume token
///                    8 length + MIME type of metadata, 8 length + MIME type of data, ASCII
///                    payload
/// 03 KEEPALIVE       64 last received position, then data to the end of the message
/// 06 REQUEST_STREAM  32 initial request N, 1 to 2^31 - 1, payload
/// 08 REQUEST_N       32 request N, 1 to 2^31 - 1
/// 09 CANCEL          nothing
/// 0A PAYLOAD         payload
/// 0B ERROR           32 code, then UTF-8 to the end of the message
///
/// payload            with M: 24 length + metadata
///                    data to the end of the message
/// ```
///
/// Other types are kept as they are: see ``UnsupportedFrame``.
package enum Frame: Sendable, Hashable {
    case setup(SetupFrame)
    case keepalive(KeepaliveFrame)
    case requestStream(RequestStreamFrame)
    /// The requester allows so many more payloads.
    case requestN(StreamID, RequestN)
    /// The requester wants no more of the stream.
    case cancel(StreamID)
    case payload(PayloadFrame)
    case error(ErrorFrame)
    case unsupported(UnsupportedFrame)

    /// The bytes of stream id, type and flags.
    package static let headerLength = 6

    /// The type.
    package var type: FrameType {
        switch self {
        case .setup: .setup
        case .keepalive: .keepalive
        case .requestStream: .requestStream
        case .requestN: .requestN
        case .cancel: .cancel
        case .payload: .payload
        case .error: .error
        case .unsupported(let frame): frame.type
        }
    }

    /// The stream it belongs to.
    package var streamID: StreamID {
        switch self {
        case .setup, .keepalive: .connection
        case .requestStream(let frame): frame.streamID
        case .requestN(let streamID, _): streamID
        case .cancel(let streamID): streamID
        case .payload(let frame): frame.streamID
        case .error(let frame): frame.streamID
        case .unsupported(let frame): frame.streamID
        }
    }
}
