import NIOCore

@testable import RSocket

extension StreamID {
    /// A stream for a test.
    init(_ number: UInt32) {
        guard let streamID = StreamID(rawValue: number) else { preconditionFailure("\(number)") }
        self = streamID
    }
}

extension RequestN {
    /// A number for a test.
    init(_ number: UInt32) {
        guard let requestN = RequestN(rawValue: number) else { preconditionFailure("\(number)") }
        self = requestN
    }
}

extension Payload {
    /// A payload of texts.
    init(_ data: String, metadata: String? = nil) {
        self.init(metadata: metadata.map { ByteBuffer(string: $0) }, data: ByteBuffer(string: data))
    }
}

extension SetupFrame {
    /// A SETUP as the JavaScript client sends it.
    static let example = SetupFrame(
        keepaliveInterval: .seconds(20),
        lifetime: .seconds(90),
        metadataMIMEType: "application/json",
        dataMIMEType: "application/json",
        payload: Payload("", metadata: #"{"token":"Token aaa.bbb.ccc","user_agent":"test/1"}"#)
    )
}

extension Frame {
    /// A whole payload; the stream goes on.
    static func next(_ data: String, on streamID: StreamID) -> Frame {
        .payload(.next(Payload(data), on: streamID))
    }

    /// The end of a stream.
    static func complete(_ streamID: StreamID) -> Frame {
        .payload(.complete(streamID))
    }

    /// A fragment of a payload that goes on.
    static func fragment(_ data: String, metadata: String? = nil, on streamID: StreamID) -> Frame {
        .payload(
            PayloadFrame(
                streamID: streamID,
                isNext: true,
                isComplete: false,
                hasMoreFragments: true,
                payload: Payload(data, metadata: metadata)
            )
        )
    }

    /// A whole request.
    static func request(_ data: String, on streamID: StreamID, requestN: UInt32 = 10) -> Frame {
        .requestStream(
            RequestStreamFrame(streamID: streamID, initialRequestN: RequestN(requestN), payload: Payload(data))
        )
    }

    /// A frame of a type that is not used.
    static func unsupported(_ type: FrameType, on streamID: StreamID, isIgnorable: Bool = false) -> Frame {
        .unsupported(UnsupportedFrame(streamID: streamID, type: type, isIgnorable: isIgnorable))
    }

    /// An error.
    static func error(_ code: RSocketErrorCode, _ message: String, on streamID: StreamID) -> Frame {
        .error(ErrorFrame(streamID: streamID, code: code, message: message))
    }
}

let one = StreamID(1)
let three = StreamID(3)
