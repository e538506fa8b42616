package import NIOCore

/// What SETUP, REQUEST_STREAM and PAYLOAD carry: optional metadata, and data that may be empty.
///
/// Both are slices of the message they came in.
package struct Payload: Sendable, Hashable {
    /// The most bytes of metadata that a frame can have, 2^24 - 1.
    package static let maximumMetadataLength = 0xff_ffff

    /// The metadata; `nil` is different from empty.
    package var metadata: ByteBuffer?
    /// The data.
    package var data: ByteBuffer

    /// Creates a payload.
    package init(metadata: ByteBuffer? = nil, data: ByteBuffer = ByteBuffer()) {
        self.metadata = metadata
        self.data = data
    }

    /// The bytes of metadata and data.
    package var byteCount: Int { (metadata?.readableBytes ?? 0) + data.readableBytes }
}
