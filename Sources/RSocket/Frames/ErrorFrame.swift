/// The end of a stream, or of the connection, by a failure.
package struct ErrorFrame: Sendable, Hashable {
    /// The most bytes of a message that are read, 64 KiB; what is longer is cut.
    package static let maximumMessageLength = 64 * 1024

    /// The stream; ``StreamID/connection`` when everything ends.
    package var streamID: StreamID
    /// What went wrong.
    package var code: RSocketErrorCode
    /// What went wrong, for people; the sync protocol puts its own code in front, as in `[PSYNC_S2101] …`.
    package var message: String

    /// Creates an error.
    package init(streamID: StreamID, code: RSocketErrorCode, message: String) {
        self.streamID = streamID
        self.code = code
        self.message = message
    }
}
