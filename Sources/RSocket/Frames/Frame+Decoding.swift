package import NIOCore

extension Frame {
    /// Reads a frame.
    ///
    /// Payloads are slices of the message; nothing is copied but texts, and nothing is allocated for a length that the
    /// message only claims.
    ///
    /// - Parameters:
    ///   - message: The content of one WebSocket message.
    ///   - maximumLength: The limit in bytes.
    /// - Throws: ``FrameError``.
    package init(decoding message: ByteBuffer, maximumLength: Int) throws(FrameError) {
        guard message.readableBytes <= maximumLength else { throw .tooLong(limit: maximumLength) }
        var body = message
        guard let (id, head) = body.readMultipleIntegers(as: (UInt32, UInt16).self) else { throw .truncated(.header) }
        let type = FrameType(rawValue: UInt8(head >> 10))
        let flags = FrameFlags(rawValue: head & FrameFlags.mask)
        guard let streamID = StreamID(rawValue: id) else { throw .invalidStreamID(type, id) }
        if let isOfConnection = type.isOfConnection {
            guard isOfConnection == (streamID == .connection) else { throw .invalidStreamID(type, id) }
        }
        switch type {
        case .setup:
            self = .setup(try SetupFrame(decoding: &body, flags: flags))
        case .keepalive:
            guard let position = body.readInteger(as: UInt64.self) else { throw .truncated(.position) }
            self = .keepalive(
                KeepaliveFrame(expectsAnswer: flags.contains(.respond), position: position, data: body.slice())
            )
        case .requestStream:
            self = .requestStream(
                RequestStreamFrame(
                    streamID: streamID,
                    initialRequestN: try RequestN(decoding: &body),
                    payload: try Payload(decoding: &body, flags: flags),
                    hasMoreFragments: flags.contains(.follows)
                )
            )
        case .requestN:
            self = .requestN(streamID, try RequestN(decoding: &body))
            guard body.readableBytes == 0 else { throw .trailingBytes(type) }
        case .cancel:
            self = .cancel(streamID)
            guard body.readableBytes == 0 else { throw .trailingBytes(type) }
        case .payload:
            self = .payload(
                PayloadFrame(
                    streamID: streamID,
                    isNext: flags.contains(.next),
                    isComplete: flags.contains(.complete),
                    hasMoreFragments: flags.contains(.follows),
                    payload: try Payload(decoding: &body, flags: flags)
                )
            )
        case .error:
            self = .error(try ErrorFrame(decoding: &body, streamID: streamID))
        default:
            self = .unsupported(
                UnsupportedFrame(
                    streamID: streamID,
                    type: type,
                    isIgnorable: flags.contains(.ignore),
                    body: body.slice()
                )
            )
        }
    }
}

extension FrameType {
    /// Whether frames of this type have the stream id 0; `nil` when both is possible or not our business.
    fileprivate var isOfConnection: Bool? {
        switch self {
        case .setup, .keepalive: true
        case .requestStream, .requestN, .cancel, .payload: false
        default: nil
        }
    }
}

extension RequestN {
    fileprivate init(decoding body: inout ByteBuffer) throws(FrameError) {
        guard let count = body.readInteger(as: UInt32.self) else { throw .truncated(.requestN) }
        guard let requestN = RequestN(rawValue: count) else { throw .invalidRequestN(count) }
        self = requestN
    }
}

extension Payload {
    fileprivate init(decoding body: inout ByteBuffer, flags: FrameFlags) throws(FrameError) {
        guard flags.contains(.metadata) else {
            self.init(data: body.slice())
            return
        }
        guard let (high, low) = body.readMultipleIntegers(as: (UInt8, UInt16).self) else {
            throw .truncated(.metadata)
        }
        let length = Int(high) << 16 | Int(low)
        guard let metadata = body.readSlice(length: length) else { throw .invalidMetadataLength(length) }
        self.init(metadata: metadata, data: body.slice())
    }
}

extension SetupFrame {
    fileprivate init(decoding body: inout ByteBuffer, flags: FrameFlags) throws(FrameError) {
        guard let (major, minor) = body.readMultipleIntegers(as: (UInt16, UInt16).self) else {
            throw .truncated(.version)
        }
        guard let (interval, lifetime) = body.readMultipleIntegers(as: (UInt32, UInt32).self) else {
            throw .truncated(.keepaliveTimes)
        }
        var resumeToken: ByteBuffer?
        if flags.contains(.resume) {
            resumeToken = body.readLengthPrefixedSlice(as: UInt16.self)
            guard resumeToken != nil else { throw .truncated(.resumeToken) }
        }
        let metadataMIMEType = try Self.readMIMEType(.metadataMIMEType, from: &body)
        let dataMIMEType = try Self.readMIMEType(.dataMIMEType, from: &body)
        self.init(
            keepaliveInterval: .milliseconds(interval),
            lifetime: .milliseconds(lifetime),
            metadataMIMEType: metadataMIMEType,
            dataMIMEType: dataMIMEType,
            payload: try Payload(decoding: &body, flags: flags)
        )
        version = Version(major: major, minor: minor)
        self.resumeToken = resumeToken
        usesLeases = flags.contains(.lease)
    }

    private static func readMIMEType(_ field: FrameField, from body: inout ByteBuffer) throws(FrameError) -> String {
        guard let bytes = body.readLengthPrefixedSlice(as: UInt8.self) else { throw .truncated(field) }
        guard bytes.readableBytesView.allSatisfy({ $0 < 0x80 }) else { throw .invalidMIMEType }
        return String(buffer: bytes)
    }
}

extension ErrorFrame {
    fileprivate init(decoding body: inout ByteBuffer, streamID: StreamID) throws(FrameError) {
        guard let code = body.readInteger(as: UInt32.self) else { throw .truncated(.errorCode) }
        let message = body.readableBytesView.prefix(Self.maximumMessageLength)
        self.init(
            streamID: streamID,
            code: RSocketErrorCode(rawValue: code),
            message: String(decoding: message, as: UTF8.self)
        )
    }
}
