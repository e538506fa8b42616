/// Where the characters of a YAML scalar come from in the file.
///
/// The YAML parser gives the text of a scalar and the place where it begins. This type walks through the file once more
/// and finds each character of the text: it skips the indentation of block scalars and continued lines, knows that a
/// folded line break is a space, and undoes the escapes of quoted scalars.
struct ScalarSource {
    /// How a scalar is written.
    enum Style {
        /// Without quotes.
        case plain
        /// In single quotes.
        case singleQuoted
        /// In double quotes.
        case doubleQuoted
        /// After `|` or `>`.
        case block
    }

    /// For each byte of the text, and for its end, the offset in the file.
    private let offsets: [Int]

    /// The place of the whole scalar in the file, with its quotes.
    let range: Range<Int>

    /// The file.
    private let source: SourceText

    /// Finds a scalar in the file.
    ///
    /// - Parameters:
    ///   - text: The text of the scalar.
    ///   - style: How it is written.
    ///   - start: The offset of its first byte, or of the anchor or tag before it.
    ///   - source: The file.
    init(text: String, style: Style, start: Int, in source: SourceText) {
        self.source = source
        var walker = ScalarWalker(bytes: source.bytes, position: min(start, source.bytes.count))
        walker.skipProperties()
        let contentStart = walker.position
        walker.skipOpening(style)
        var offsets: [Int] = []
        offsets.reserveCapacity(text.utf8.count + 1)
        for scalar in text.unicodeScalars {
            guard let offset = walker.find(scalar, style: style) else {
                // The text was not read as expected: everything is at the beginning of the scalar.
                self.offsets = Array(repeating: contentStart, count: text.utf8.count + 1)
                range = contentStart..<min(contentStart + 1, source.bytes.count)
                return
            }
            for index in 0..<UTF8.width(scalar) {
                // Bytes of an escaped character share the place of the escape.
                offsets.append(min(offset + index, max(offset, walker.position - 1)))
            }
        }
        offsets.append(offsets.isEmpty ? contentStart : walker.position)
        self.offsets = offsets
        let isQuoted = style == .singleQuoted || style == .doubleQuoted
        range = contentStart..<max(contentStart, min(walker.position + (isQuoted ? 1 : 0), source.bytes.count))
    }

    /// The place of a part of the text in the file.
    func fileRange(of range: Range<Int>) -> Range<Int> {
        let last = offsets.count - 1
        let start = offsets[min(max(range.lowerBound, 0), last)]
        guard !range.isEmpty else { return start..<start }
        // The end of the last byte, not the beginning of what follows: a line break may lie between.
        let end = offsets[min(max(range.upperBound - 1, 0), last)] + 1
        return start..<max(start, end)
    }

    /// The lines of the file that a part of the text is on, each from the first byte that is no space.
    ///
    /// More than one when line breaks are folded.
    func lines(of range: Range<Int>) -> [ArraySlice<UInt8>] {
        source.bytes[fileRange(of: range)].split(whereSeparator: { $0 == 0x0a || $0 == 0x0d }).map { line in
            line.drop { $0 == 0x20 || $0 == 0x09 }
        }
    }
}

/// Walks through a scalar in the file.
private struct ScalarWalker {
    let bytes: [UInt8]
    var position: Int

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0d).contains(byte)
    }

    private mutating func skipSpace() {
        while let byte = next, Self.isSpace(byte) { position += 1 }
    }

    private mutating func skipLine() {
        while let byte = next, byte != 0x0a, byte != 0x0d { position += 1 }
    }

    /// Skips anchors, tags, and white space and comments after them.
    mutating func skipProperties() {
        while let byte = next, byte == UInt8(ascii: "&") || byte == UInt8(ascii: "!") {
            while let byte = next, !Self.isSpace(byte) { position += 1 }
            skipSpace()
            while next == UInt8(ascii: "#") {
                skipLine()
                skipSpace()
            }
        }
    }

    /// Skips the quote, or the header line of a block scalar.
    mutating func skipOpening(_ style: ScalarSource.Style) {
        switch style {
        case .plain: break
        case .singleQuoted, .doubleQuoted: position = min(position + 1, bytes.count)
        case .block: skipLine()
        }
        if style == .block {
            if next == 0x0d { position += 1 }
            if next == 0x0a { position += 1 }
        }
    }

    /// The place of the next character of the text; `nil` when something else is there.
    mutating func find(_ scalar: Unicode.Scalar, style: ScalarSource.Style) -> Int? {
        let isSpace = scalar == " " || scalar == "\n" || scalar == "\t"
        // Goes round again only for a backslash before a line break, which stands for nothing.
        while true {
            if isSpace, let byte = next, Self.isSpace(byte) {
                defer { position += 1 }
                return position
            }
            if !isSpace { skipSpace() }
            let start = position
            guard style == .doubleQuoted, next == UInt8(ascii: "\\") else { break }
            if let escaped = escape() { return escaped == scalar ? start : nil }
        }
        let start = position
        let encoded = Array(String(scalar).utf8)
        guard bytes[position...].starts(with: encoded) else { return nil }
        position += encoded.count
        if style == .singleQuoted, scalar == "'", next == UInt8(ascii: "'") { position += 1 }
        return start
    }

    /// Reads an escape sequence; `nil` for an escaped line break, which stands for nothing.
    private mutating func escape() -> Unicode.Scalar? {
        position += 1
        guard let letter = next else { return Unicode.Scalar(0) }
        position += 1
        switch letter {
        case 0x0a, 0x0d:
            skipSpace()
            return nil
        case UInt8(ascii: "x"): return hexadecimal(digits: 2)
        case UInt8(ascii: "u"): return hexadecimal(digits: 4)
        case UInt8(ascii: "U"): return hexadecimal(digits: 8)
        default: return Self.escapes[letter] ?? Unicode.Scalar(letter)
        }
    }

    private mutating func hexadecimal(digits: Int) -> Unicode.Scalar {
        let end = min(position + digits, bytes.count)
        let text = String(decoding: bytes[position..<end], as: UTF8.self)
        position = end
        return UInt32(text, radix: 16).flatMap(Unicode.Scalar.init) ?? Unicode.Scalar(0)
    }

    private static let escapes: [UInt8: Unicode.Scalar] = [
        UInt8(ascii: "0"): "\0", UInt8(ascii: "a"): "\u{7}", UInt8(ascii: "b"): "\u{8}", UInt8(ascii: "t"): "\t",
        UInt8(ascii: "n"): "\n", UInt8(ascii: "v"): "\u{b}", UInt8(ascii: "f"): "\u{c}", UInt8(ascii: "r"): "\r",
        UInt8(ascii: "e"): "\u{1b}", UInt8(ascii: "N"): "\u{85}", UInt8(ascii: "_"): "\u{a0}",
        UInt8(ascii: "L"): "\u{2028}", UInt8(ascii: "P"): "\u{2029}",
    ]
}
