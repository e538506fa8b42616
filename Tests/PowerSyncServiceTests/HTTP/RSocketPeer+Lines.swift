import NIOCore
import PowerSyncProtocol
import RSocket
import ServiceTestSupport
import Testing
import TestSupport

extension StreamID {
    init(_ number: UInt32) {
        self = StreamID(rawValue: number) ?? .connection
    }
}

extension SetupFrame {
    static func example(
        metadata: ByteBuffer,
        lifetime: Duration = .seconds(90),
        mimeTypes: (String, String) = ("application/json", "application/json")
    ) -> SetupFrame {
        SetupFrame(
            keepaliveInterval: .seconds(20),
            lifetime: lifetime,
            metadataMIMEType: mimeTypes.0,
            dataMIMEType: mimeTypes.1,
            payload: Payload(metadata: metadata)
        )
    }
}

extension Frame {
    static func setup(token: String, lifetime: Duration = .seconds(90)) -> Frame {
        let metadata = ByteBuffer(string: #"{"token":"Token \#(token)","user_agent":"test/1"}"#)
        return .setup(.example(metadata: metadata, lifetime: lifetime))
    }

    static func setup(
        metadata: ByteBuffer,
        mimeTypes: (String, String) = ("application/json", "application/json")
    ) -> Frame {
        .setup(.example(metadata: metadata, mimeTypes: mimeTypes))
    }

    static func request(_ streamID: UInt32, path: String = "/sync/stream", credit: Int) -> Frame {
        .requestStream(
            RequestStreamFrame(
                streamID: StreamID(streamID),
                initialRequestN: RequestN(clamping: credit),
                payload: Payload(
                    metadata: ByteBuffer(string: #"{"path":"\#(path)"}"#),
                    data: ByteBuffer(string: #"{"buckets":[],"client_id":"c1"}"#)
                )
            )
        )
    }
}

extension RSocketPeer {
    /// The line of the next frame, which must be a payload.
    mutating func payload(on streamID: UInt32 = 1) async throws -> JSONObject {
        let frame = try await next()
        guard case .payload(let payload) = frame, payload.streamID == StreamID(streamID), payload.isNext else {
            Issue.record("\(frame.debugDescription)")
            return JSONObject()
        }
        #expect(payload.payload.metadata == nil)
        var text = ByteBuffer()
        try SyncLine(bson: payload.payload.data).encode(as: .ndjson, into: &text)
        return try JSONObject(parsing: text)
    }

    /// The next lines in short form.
    mutating func lines(_ count: Int, on streamID: UInt32 = 1) async throws -> [String] {
        var lines: [String] = []
        for _ in 0..<count { lines.append(try await payload(on: streamID).summary) }
        return lines
    }

    /// Asks for a sign of life, which must come before anything else.
    mutating func expectSilence() async throws {
        let data = ByteBuffer(string: "ab")
        try await send(.keepalive(KeepaliveFrame(expectsAnswer: true, data: data)))
        #expect(try await next() == .keepalive(KeepaliveFrame(expectsAnswer: false, data: data)))
    }
}
