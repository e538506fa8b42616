import NIOCore
import PowerSyncProtocol
import TestSupport

/// The two encodings, for cases that are written as JSON and hold in both.
enum LineForm: CaseIterable {
    case json, bson

    var format: SyncLineFormat {
        switch self {
        case .json: .ndjson
        case .bson: .bson
        }
    }

    /// Decodes a line that is given as the JSON text of an object.
    func decode(_ json: String) throws -> SyncLine {
        switch self {
        case .json: try SyncLine(json: ByteBuffer(string: json))
        case .bson: try SyncLine(bson: TestBSON.document(JSONObject(parsing: json)))
        }
    }

    /// The line as it is on the wire.
    func encode(_ line: SyncLine) -> ByteBuffer {
        var buffer = ByteBuffer()
        line.encode(as: format, into: &buffer)
        return buffer
    }

    /// All lines of a body.
    func lines(of body: ByteBuffer) throws -> [SyncLine] {
        var reader = SyncLineReader(format: format)
        reader.append(body)
        var lines: [SyncLine] = []
        while let line = try reader.next() { lines.append(line.line) }
        while let line = try reader.finish() { lines.append(line.line) }
        return lines
    }

    /// A transcript as a body in this form.
    func body(of transcript: Transcript) throws -> ByteBuffer {
        switch self {
        case .json: return ByteBuffer(string: transcript.ndjson)
        case .bson:
            var body = ByteBuffer()
            for line in transcript.lines {
                try SyncLine(json: ByteBuffer(string: line)).encode(as: .bson, into: &body)
            }
            return body
        }
    }
}
