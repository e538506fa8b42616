/// Writes the parts of JSON text.
///
/// Strings: `"` and `\` are escaped, control characters as `\b \f \n \r \t` or else `\u00xx` in lower case; everything
/// else is written raw, `/`, DEL and non-ASCII characters included. Numbers: integers as digits, doubles in the shortest
/// form that reads back as the same double, with `.0` where it would look like an integer (`1.0`, `1e21`, `-0.0`).
/// Infinities and NaN, which JSON does not have, become `null`.
package enum JSONText {
    /// What happens to the characters U+0085, U+2028 and U+2029, which are line breaks for some readers.
    enum LineBreaks {
        /// They are written raw.
        case raw
        /// They are written as `\u0085`, `\u2028`, `\u2029`. Needed inside NDJSON.
        case escaped
    }

    /// Appends a string with its quotes.
    package static func appendString(_ text: String, to output: inout [UInt8]) {
        append(string: text, to: &output)
    }

    /// Appends a string with its quotes.
    package static func appendString(_ text: String, to output: inout String) {
        var bytes: [UInt8] = []
        append(string: text, to: &bytes)
        output += String(decoding: bytes, as: UTF8.self)
    }

    /// A string with its quotes.
    package static func string(_ text: String) -> String {
        var result = ""
        appendString(text, to: &result)
        return result
    }

    /// A double in the form described above.
    package static func number(_ value: Double) -> String {
        guard value.isFinite else { return "null" }
        let text = value.description
        // Swift writes `1e+21` and `1e-05`; without sign and leading zero the text is that of other writers.
        guard let mark = text.firstIndex(of: "e") else { return text }
        var exponent = text[text.index(after: mark)...]
        let isNegative = exponent.first == "-"
        exponent = exponent.drop { $0 == "+" || $0 == "-" || $0 == "0" }
        var mantissa = text[..<mark]
        if mantissa.hasSuffix(".0") { mantissa = mantissa.dropLast(2) }
        return "\(mantissa)\(isNegative ? "e-" : "e")\(exponent)"
    }
}

extension JSONText {
    static func append(string text: String, to sink: inout some ByteSink, lineBreaks: LineBreaks = .raw) {
        ByteView.of(text) { append(string: $0, to: &sink, lineBreaks: lineBreaks) }
    }

    /// Appends the string whose UTF-8 bytes are given, with its quotes.
    static func append(string text: ByteView, to sink: inout some ByteSink, lineBreaks: LineBreaks = .raw) {
        sink.append(UInt8(ascii: "\""))
        var offset = 0
        while offset < text.count {
            let start = offset
            offset = text.endOfPlainText(from: offset)
            // Non-ASCII characters stop the search but most of them are written as they are.
            while offset < text.count, text[offset] >= 0x80,
                lineBreaks == .raw || text.lineBreak(at: offset) == nil
            {
                offset += 1
                if offset < text.count, text[offset] < 0x80 { offset = text.endOfPlainText(from: offset) }
            }
            if offset > start { sink.append(text[start..<offset]) }
            guard offset < text.count else { break }
            if let (escape, length) = text.lineBreak(at: offset) {
                sink.append(escape)
                offset += length
            } else {
                append(escaped: text[offset], to: &sink)
                offset += 1
            }
        }
        sink.append(UInt8(ascii: "\""))
    }

    /// Appends a text that is JSON already, on one line.
    ///
    /// JSON text has raw line feeds only as white space between tokens, and characters that some readers take for line
    /// breaks only inside of strings.
    static func append(json text: ByteView, to sink: inout some ByteSink) {
        var start = 0
        var offset = 0
        while offset < text.count {
            let byte = text[offset]
            if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
                sink.append(text[start..<offset])
                sink.append(UInt8(ascii: " "))
                offset += 1
                start = offset
            } else if byte >= 0x80, let (escape, length) = text.lineBreak(at: offset) {
                sink.append(text[start..<offset])
                sink.append(escape)
                offset += length
                start = offset
            } else {
                offset += 1
            }
        }
        sink.append(text[start..<text.count])
    }

    private static func append(escaped byte: UInt8, to sink: inout some ByteSink) {
        switch byte {
        case UInt8(ascii: "\""): sink.append("\\\"" as StaticString)
        case UInt8(ascii: "\\"): sink.append("\\\\" as StaticString)
        case 0x08: sink.append("\\b" as StaticString)
        case 0x0c: sink.append("\\f" as StaticString)
        case UInt8(ascii: "\n"): sink.append("\\n" as StaticString)
        case UInt8(ascii: "\r"): sink.append("\\r" as StaticString)
        case UInt8(ascii: "\t"): sink.append("\\t" as StaticString)
        default:
            sink.append("\\u00" as StaticString)
            for nibble in [byte >> 4, byte & 0xf] {
                sink.append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
            }
        }
    }
}

extension ByteView {
    /// The escape sequence and the length of U+0085, U+2028 or U+2029; `nil` when none of them starts at the offset.
    fileprivate func lineBreak(at offset: Int) -> (escape: StaticString, length: Int)? {
        switch self[offset] {
        case 0xc2 where offset + 1 < count && self[offset + 1] == 0x85:
            return ("\\u0085", 2)
        case 0xe2 where offset + 2 < count && self[offset + 1] == 0x80:
            switch self[offset + 2] {
            case 0xa8: return ("\\u2028", 3)
            case 0xa9: return ("\\u2029", 3)
            default: return nil
            }
        default: return nil
        }
    }
}
