package import NIOCore

/// The first frame of a connection: what the requester speaks, and who it is.
package struct SetupFrame: Sendable, Hashable {
    /// The version of the protocol, 1.0 for all.
    package struct Version: Sendable, Hashable {
        /// The version of this implementation.
        package static let current = Version(major: 1, minor: 0)

        package let major: UInt16
        package let minor: UInt16

        /// Creates a version.
        package init(major: UInt16, minor: UInt16) {
            self.major = major
            self.minor = minor
        }
    }

    /// The most bytes that a MIME type can have.
    package static let maximumMIMETypeLength = 0xff
    /// The most bytes that a resume token can have.
    package static let maximumResumeTokenLength = 0xffff

    /// The version of the protocol.
    package var version = Version.current
    /// The time between two KEEPALIVE frames of the requester; whole milliseconds, at most 2^32 - 1, on the wire.
    package var keepaliveInterval: Duration
    /// How long the responder waits for a KEEPALIVE before it takes the requester for dead; as above.
    package var lifetime: Duration
    /// The token for resuming the connection; the sync protocol has none.
    package var resumeToken: ByteBuffer?
    /// Whether the requester asks for leases; not in the sync protocol.
    package var usesLeases = false
    /// How the metadata of SETUP and requests is encoded.
    package var metadataMIMEType: String
    /// How the data of requests is encoded.
    package var dataMIMEType: String
    /// The token of the user and the user agent as metadata; no data.
    package var payload: Payload

    /// Creates a SETUP without resuming and leases.
    package init(
        keepaliveInterval: Duration,
        lifetime: Duration,
        metadataMIMEType: String,
        dataMIMEType: String,
        payload: Payload
    ) {
        self.keepaliveInterval = keepaliveInterval
        self.lifetime = lifetime
        self.metadataMIMEType = metadataMIMEType
        self.dataMIMEType = dataMIMEType
        self.payload = payload
    }
}
