package import NIOCore

/// A frame that the sync protocol does not use: a type that RSocket defines, or one that is unknown.
package struct UnsupportedFrame: Sendable, Hashable {
    /// The stream it belongs to.
    package var streamID: StreamID
    /// Its type.
    package var type: FrameType
    /// Whether the sender allows to ignore it.
    package var isIgnorable: Bool
    /// What follows after the header.
    package var body: ByteBuffer

    /// Creates a frame.
    package init(streamID: StreamID, type: FrameType, isIgnorable: Bool, body: ByteBuffer = ByteBuffer()) {
        self.streamID = streamID
        self.type = type
        self.isIgnorable = isIgnorable
        self.body = body
    }
}
