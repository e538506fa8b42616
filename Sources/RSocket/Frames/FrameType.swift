/// What a frame is: the upper six bits after the stream id.
package struct FrameType: RawRepresentable, Sendable, Hashable {
    package static let setup = FrameType(rawValue: 0x01)
    package static let lease = FrameType(rawValue: 0x02)
    package static let keepalive = FrameType(rawValue: 0x03)
    package static let requestResponse = FrameType(rawValue: 0x04)
    package static let requestFireAndForget = FrameType(rawValue: 0x05)
    package static let requestStream = FrameType(rawValue: 0x06)
    package static let requestChannel = FrameType(rawValue: 0x07)
    package static let requestN = FrameType(rawValue: 0x08)
    package static let cancel = FrameType(rawValue: 0x09)
    package static let payload = FrameType(rawValue: 0x0a)
    package static let error = FrameType(rawValue: 0x0b)
    package static let metadataPush = FrameType(rawValue: 0x0c)
    package static let resume = FrameType(rawValue: 0x0d)
    package static let resumeOK = FrameType(rawValue: 0x0e)
    /// A type of an extension, named by the bytes that follow.
    package static let `extension` = FrameType(rawValue: 0x3f)

    /// The number on the wire, 0 to 63.
    package let rawValue: UInt8

    /// Creates a type from its number; only the lower six bits count.
    package init(rawValue: UInt8) {
        self.rawValue = rawValue & 0x3f
    }
}

extension FrameType: CustomStringConvertible {
    package var description: String {
        switch self {
        case .setup: "SETUP"
        case .lease: "LEASE"
        case .keepalive: "KEEPALIVE"
        case .requestResponse: "REQUEST_RESPONSE"
        case .requestFireAndForget: "REQUEST_FNF"
        case .requestStream: "REQUEST_STREAM"
        case .requestChannel: "REQUEST_CHANNEL"
        case .requestN: "REQUEST_N"
        case .cancel: "CANCEL"
        case .payload: "PAYLOAD"
        case .error: "ERROR"
        case .metadataPush: "METADATA_PUSH"
        case .resume: "RESUME"
        case .resumeOK: "RESUME_OK"
        case .extension: "EXT"
        default: "frame of type \(rawValue)"
        }
    }
}
