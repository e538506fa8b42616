import NIOConcurrencyHelpers
import NIOCore
import PowerSyncProtocol
import TestSupport
import Testing

/// Lines that were encoded before: hundreds of streams have most of them in common.
private let encodedLines = NIOLockedValueBox<[String: ByteBuffer]>([:])

/// A sync stream with something wrong in it.
struct Damage: Sendable, CustomTestStringConvertible {
    /// What a response consists of.
    private enum Body {
        /// Lines, as JSON where that is possible.
        case lines([String])
        /// Bytes of the format of the response.
        case bytes(ByteBuffer)
    }

    let testDescription: String
    /// How the response is encoded.
    let format: SyncLineFormat
    private let content: Body
    /// Whether it depends on the moment how many of the lines the client gets to.
    var isTimed = false

    private init(_ description: String, _ lines: [String], _ format: SyncLineFormat, isTimed: Bool = false) {
        testDescription = "\(description) (\(format))"
        self.format = format
        content = .lines(lines)
        self.isTimed = isTimed
    }

    private init(_ description: String, bytes: ByteBuffer, _ format: SyncLineFormat) {
        testDescription = "\(description) (\(format))"
        self.format = format
        content = .bytes(bytes)
    }

    /// The body of the response.
    var body: ByteBuffer {
        switch content {
        case .lines(let lines): ByteBuffer(lines: lines, format)
        case .bytes(let bytes): bytes
        }
    }

    /// Everything that can happen to a whole line, for each line.
    static func ofLines(_ lines: [String], _ format: SyncLineFormat) -> [Damage] {
        lines.indices.flatMap { index in
            let next = index + 1
            var damages = [
                Damage("cut after line \(index)", Array(lines[...index]), format),
                Damage("line \(index) dropped", Array(lines[..<index] + lines[next...]), format),
                Damage("line \(index) twice", Array(lines[...index] + lines[index...]), format),
                Damage(
                    "token expires before line \(index)",
                    inserting([#"{"token_expires_in":0}"#], index, lines),
                    format
                ),
            ]
            // The order within a bucket is what the protocol rests on; nothing could tell that it is wrong.
            if next < lines.count, !(lines[index].hasPrefix(#"{"data"#) && lines[next].hasPrefix(#"{"data"#)) {
                var swapped = lines
                swapped.swapAt(index, next)
                damages.append(Damage("lines \(index) and \(next) swapped", swapped, format))
            }
            return damages
        }
    }

    /// A cut inside each line.
    static func insideLines(_ lines: [String], _ format: SyncLineFormat, seed: UInt64) -> [Damage] {
        var random = SeededGenerator(seed: seed)
        return lines.indices.map { index in
            var body = ByteBuffer(lines: Array(lines[..<index]), format)
            let line = ByteBuffer(lines: [lines[index]], format)
            // Half a line of JSON may be whole but for its line feed.
            let count = 1 + random.number(below: line.readableBytes - 2)
            body.writeBytes(line.readableBytesView.prefix(count))
            return Damage("cut after \(count) bytes of line \(index)", bytes: body, format)
        }
    }

    /// Wrong values in the first line that has the field, and in the last.
    static func ofValues(_ lines: [String], _ format: SyncLineFormat) -> [Damage] {
        let values: [(field: String, values: [String])] = [
            (#""op_id":""#, ["9223372036854775808\"", "-1\"", "\"", "1e3\"", "99999999999999999999999999\""]),
            (#""last_op_id":""#, ["9223372036854775808\"", "-7\"", "x\""]),
            (#""count":"#, ["-5", "-9223372036854775808", "9223372036854775807", "1e300", "\"4\"", "1.5"]),
            (#""checksum":"#, ["1", "4294967296", "-2147483649", "null", "\"1\"", "0.5", "1e99"]),
            (#""priority":"#, ["-1", "2147483647", "2147483648", "77", "null", "\"1\""]),
            (#""bucket":""#, ["\"", "other\"", "\\u0000\"", "\\ud800\""]),
            (#""op":""#, ["PATCH\"", "put\"", "\""]),
        ]
        return values.flatMap { field, values in
            let indices = lines.indices.filter { lines[$0].contains(field) }
            return values.flatMap { value in
                [indices.first, indices.last].compactMap(\.self).map { index in
                    var damaged = lines
                    damaged[index] = replacing(field, with: value, in: lines[index])
                    return Damage("\(field)\(value) in line \(index)", damaged, format)
                }
            }
        }
    }

    /// Lines that nobody should send, in the middle.
    static func ofStrangeLines(_ lines: [String], _ format: SyncLineFormat) -> [Damage] {
        let strange: [(name: String, line: String)] = [
            ("an unknown line", #"{"future":{"a":[1,2,{"b":null}]}}"#),
            ("a number", #"{"future":7}"#), ("no member", "{}"), ("two members", #"{"a":1,"b":2}"#),
            ("an array", "[]"), ("null", "null"), ("no JSON", "<html>busy</html>"), ("an empty line", ""),
            ("a NUL", "\0"), ("many brackets", String(repeating: "[", count: 100_000)),
            ("many nested unknown objects", #"{"x":"# + String(repeating: #"{"a":"#, count: 50_000)),
            ("a long line", #"{"future":""# + String(repeating: "x", count: 3_000_000) + #""}"#),
            ("no operations", #"{"data":{"bucket":"b0","data":[]}}"#),
            ("another bucket", #"{"data":{"bucket":"z","data":[{"op_id":"3","op":"MOVE","checksum":5}]}}"#),
            ("a nested row", #"{"data":{"bucket":"b0","data":[{"op_id":"1","op":"PUT","checksum":5,"data":{}}]}}"#),
            (
                "a row without id",
                #"{"data":{"bucket":"z","data":[{"op_id":"1","op":"PUT","checksum":5,"data":"{}"}]}}"#
            ),
            ("a fraction of a second", #"{"token_expires_in":0.5}"#),
            ("an expired token", #"{"token_expires_in":-2147483648}"#),
            ("no buckets", #"{"checkpoint":{"last_op_id":"3"}}"#),
            ("a diff of nothing", #"{"checkpoint_diff":{"last_op_id":"3","updated_buckets":[],"removed_buckets":[]}}"#),
            (
                "a removed bucket nobody has",
                #"{"checkpoint_diff":{"last_op_id":"3","updated_buckets":[],"removed_buckets":["q","q"]}}"#
            ),
            ("a completion of no priority", #"{"partial_checkpoint_complete":{"last_op_id":"3"}}"#),
            ("a completion of a low priority", #"{"partial_checkpoint_complete":{"last_op_id":"3","priority":2000}}"#),
        ]
        let middle = lines.count / 2
        return strange.flatMap { name, line in
            [0, middle, lines.count].map { Damage("\(name) before line \($0)", inserting([line], $0, lines), format) }
        } + [
            Damage("token expires soon", inserting([#"{"token_expires_in":10}"#], middle, lines), format, isTimed: true)
        ]
    }

    /// Random bytes changed.
    static func ofBytes(_ lines: [String], _ format: SyncLineFormat, count: Int, seed: UInt64) -> [Damage] {
        var random = SeededGenerator(seed: seed)
        let whole = ByteBuffer(lines: lines, format)
        return (0..<count).map { number in
            var body = whole
            for _ in 0...random.number(below: 3) {
                let index = random.number(below: body.readableBytes)
                // Bytes that mean something in JSON make more damage than others.
                let bytes = Array("{}[]\",:0-9\\\n".utf8) + [UInt8.random(in: 0...255, using: &random)]
                body.setInteger(bytes[random.number(below: bytes.count)], at: index)
            }
            return Damage("random bytes \(number)", bytes: body, format)
        }
    }

    private static func inserting(_ new: [String], _ index: Int, _ lines: [String]) -> [String] {
        Array(lines[..<index]) + new + Array(lines[index...])
    }

    /// Puts another value after the last occurrence of `field`.
    private static func replacing(_ field: String, with value: String, in line: String) -> String {
        let parts = line.split(separator: field, omittingEmptySubsequences: false)
        guard let last = parts.last, parts.count > 1 else { return line }
        let rest: Substring
        if field.hasSuffix("\"") {
            rest = last.drop { $0 != "\"" }.dropFirst()
        } else {
            rest = last.drop { $0 != "," && $0 != "}" }
        }
        return parts.dropLast().joined(separator: field) + field + value + rest
    }
}

extension ByteBuffer {
    /// Lines as a response has them.
    ///
    /// In BSON, what is no JSON object becomes the bytes of its text, which are no document.
    init(lines: [String], _ format: SyncLineFormat) {
        self.init()
        for line in lines {
            switch format {
            case .ndjson: writeString(line + "\n")
            case .bson: writeImmutableBuffer(Self.bson(line))
            }
        }
    }

    private static func bson(_ line: String) -> ByteBuffer {
        if let known = encodedLines.withLockedValue({ $0[line] }) { return known }
        let object = try? JSONObject(parsing: ByteBuffer(string: line))
        let bytes = object.map(TestBSON.document) ?? ByteBuffer(string: line)
        encodedLines.withLockedValue { $0[line] = bytes }
        return bytes
    }
}
