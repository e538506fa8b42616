package import NIOCore

extension Frame {
    /// Writes the frame as one WebSocket message.
    ///
    /// - Parameter allocator: Where the memory comes from; the message is allocated once, in its final size.
    /// - Returns: The message.
    /// - Throws: ``FrameError/fieldTooLong(_:limit:)``.
    package func encoded(allocator: ByteBufferAllocator = ByteBufferAllocator()) throws(FrameError) -> ByteBuffer {
        try checkLengths()
        var message = allocator.buffer(capacity: encodedLength)
        writeHeader(into: &message)
        switch self {
        case .setup(let frame): frame.writeBody(into: &message)
        case .keepalive(let frame):
            message.writeInteger(frame.position)
            message.writeImmutableBuffer(frame.data)
        case .requestStream(let frame):
            message.writeInteger(frame.initialRequestN.rawValue)
            frame.payload.write(into: &message)
        case .requestN(_, let requestN): message.writeInteger(requestN.rawValue)
        case .cancel: break
        case .payload(let frame): frame.payload.write(into: &message)
        case .error(let frame):
            message.writeInteger(frame.code.rawValue)
            message.writeString(frame.message)
        case .unsupported(let frame): message.writeImmutableBuffer(frame.body)
        }
        return message
    }

    /// The bytes that the frame has on the wire.
    package var encodedLength: Int {
        let bodyLength =
            switch self {
            case .setup(let frame): frame.bodyLength
            case .keepalive(let frame): 8 + frame.data.readableBytes
            case .requestStream(let frame): 4 + frame.payload.encodedLength
            case .requestN: 4
            case .cancel: 0
            case .payload(let frame): frame.payload.encodedLength
            case .error(let frame): 4 + frame.message.utf8.count
            case .unsupported(let frame): frame.body.readableBytes
            }
        return Self.headerLength + bodyLength
    }

    private func writeHeader(into message: inout ByteBuffer) {
        message.writeMultipleIntegers(streamID.rawValue, UInt16(type.rawValue) << 10 | flags.rawValue)
    }

    private var flags: FrameFlags {
        var flags: FrameFlags = []
        switch self {
        case .setup(let frame):
            if frame.payload.metadata != nil { flags.insert(.metadata) }
            if frame.resumeToken != nil { flags.insert(.resume) }
            if frame.usesLeases { flags.insert(.lease) }
        case .keepalive(let frame):
            if frame.expectsAnswer { flags.insert(.respond) }
        case .requestStream(let frame):
            if frame.payload.metadata != nil { flags.insert(.metadata) }
            if frame.hasMoreFragments { flags.insert(.follows) }
        case .payload(let frame):
            if frame.payload.metadata != nil { flags.insert(.metadata) }
            if frame.hasMoreFragments { flags.insert(.follows) }
            if frame.isComplete { flags.insert(.complete) }
            if frame.isNext { flags.insert(.next) }
        case .unsupported(let frame):
            if frame.isIgnorable { flags.insert(.ignore) }
        case .requestN, .cancel, .error: break
        }
        return flags
    }

    private func checkLengths() throws(FrameError) {
        switch self {
        case .setup(let frame):
            try frame.checkLengths()
            try frame.payload.checkLength()
        case .requestStream(let frame): try frame.payload.checkLength()
        case .payload(let frame): try frame.payload.checkLength()
        case .keepalive, .requestN, .cancel, .error, .unsupported: break
        }
    }
}

extension Payload {
    fileprivate var encodedLength: Int { byteCount + (metadata == nil ? 0 : 3) }

    func checkLength() throws(FrameError) {
        guard let metadata, metadata.readableBytes > Self.maximumMetadataLength else { return }
        throw .fieldTooLong(.metadata, limit: Self.maximumMetadataLength)
    }

    fileprivate func write(into message: inout ByteBuffer) {
        if let metadata {
            let length = metadata.readableBytes
            message.writeMultipleIntegers(UInt8(length >> 16), UInt16(length & 0xffff))
            message.writeImmutableBuffer(metadata)
        }
        message.writeImmutableBuffer(data)
    }
}

extension SetupFrame {
    fileprivate var bodyLength: Int {
        4 + 8 + (resumeToken.map { 2 + $0.readableBytes } ?? 0)
            + 1 + metadataMIMEType.utf8.count + 1 + dataMIMEType.utf8.count + payload.encodedLength
    }

    fileprivate func checkLengths() throws(FrameError) {
        if let resumeToken, resumeToken.readableBytes > Self.maximumResumeTokenLength {
            throw .fieldTooLong(.resumeToken, limit: Self.maximumResumeTokenLength)
        }
        for (type, field) in [(metadataMIMEType, FrameField.metadataMIMEType), (dataMIMEType, .dataMIMEType)] {
            guard type.utf8.count <= Self.maximumMIMETypeLength else {
                throw .fieldTooLong(field, limit: Self.maximumMIMETypeLength)
            }
            guard type.utf8.allSatisfy({ $0 < 0x80 }) else { throw .invalidMIMEType }
        }
    }

    fileprivate func writeBody(into message: inout ByteBuffer) {
        message.writeMultipleIntegers(version.major, version.minor)
        message.writeMultipleIntegers(keepaliveInterval.wireMilliseconds, lifetime.wireMilliseconds)
        if let resumeToken {
            message.writeInteger(UInt16(resumeToken.readableBytes))
            message.writeImmutableBuffer(resumeToken)
        }
        for type in [metadataMIMEType, dataMIMEType] {
            message.writeInteger(UInt8(type.utf8.count))
            message.writeString(type)
        }
        payload.write(into: &message)
    }
}

extension Duration {
    /// Whole milliseconds, within what 32 bits can say.
    fileprivate var wireMilliseconds: UInt32 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        return UInt32(clamping: min(seconds, Int64(UInt32.max)) * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}
