/// The ten flags of a frame; the lower five bits have no meaning.
///
/// The same bit means different things in different frames. Flags that a frame does not have are ignored.
struct FrameFlags: OptionSet, Sendable {
    static let mask: UInt16 = 0x3ff

    /// All frames: a receiver that does not know the type may ignore the frame.
    static let ignore = FrameFlags(rawValue: 0x200)
    /// SETUP, REQUEST_STREAM, PAYLOAD: metadata precedes the data.
    static let metadata = FrameFlags(rawValue: 0x100)
    /// SETUP: the connection can be resumed, and a token for that follows.
    static let resume = FrameFlags(rawValue: 0x080)
    /// SETUP: the requester will wait for leases.
    static let lease = FrameFlags(rawValue: 0x040)
    /// KEEPALIVE: an answer is expected.
    static let respond = FrameFlags(rawValue: 0x080)
    /// REQUEST_STREAM, PAYLOAD: the payload goes on in the next PAYLOAD of the stream.
    static let follows = FrameFlags(rawValue: 0x080)
    /// PAYLOAD: the stream ends.
    static let complete = FrameFlags(rawValue: 0x040)
    /// PAYLOAD: there is a payload, possibly empty.
    static let next = FrameFlags(rawValue: 0x020)

    let rawValue: UInt16
}
