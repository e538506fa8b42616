/// The text of a config file, addressed by byte offsets and by lines and columns.
///
/// Lines and columns start at 1; columns count Unicode scalars. A line ends at LF, CR LF, CR, and, as the YAML parser
/// counts too, at U+0085, U+2028 and U+2029.
struct SourceText {
    /// The bytes of the file.
    let bytes: [UInt8]
    /// The offset of the first byte of each line.
    private let lineStarts: [Int]
    /// How many characters begin before each block of bytes: a file may have one long line with thousands of places in it.
    private let scalarCounts: [Int]

    /// The bytes of a block.
    private static let blockSize = 256

    /// Creates an index of a text.
    init(_ text: String) {
        bytes = Array(text.utf8)
        // A byte order mark means nothing, and has no width.
        var starts = [bytes.starts(with: Self.byteOrderMark) ? Self.byteOrderMark.count : 0]
        for position in bytes.indices {
            let length = Self.lineBreakLength(bytes, at: position)
            // CR LF is one break, which ends at the LF.
            if length > 0, !(bytes[position] == 0x0d && position + 1 < bytes.count && bytes[position + 1] == 0x0a) {
                starts.append(position + length)
            }
        }
        lineStarts = starts
        var counts: [Int] = []
        var count = 0
        for position in bytes.indices {
            if position.isMultiple(of: Self.blockSize) { counts.append(count) }
            if bytes[position] & 0xc0 != 0x80 { count += 1 }
        }
        counts.append(count)
        scalarCounts = counts
    }

    /// How many characters begin before an offset.
    private func scalars(before offset: Int) -> Int {
        let block = min(offset / Self.blockSize, scalarCounts.count - 1)
        guard block * Self.blockSize < bytes.count else { return scalarCounts[scalarCounts.count - 1] }
        return scalarCounts[block] + bytes[(block * Self.blockSize)..<offset].count { $0 & 0xc0 != 0x80 }
    }

    /// The offset of a character by its number in the text; that of the end when there are fewer.
    private func offset(ofScalar number: Int) -> Int {
        guard number < scalarCounts[scalarCounts.count - 1] else { return bytes.count }
        // The last block before which at most that many characters begin.
        var low = 0
        var high = scalarCounts.count - 1
        while high - low > 1 {
            let middle = (low + high) / 2
            if scalarCounts[middle] <= number { low = middle } else { high = middle }
        }
        var remaining = number - scalarCounts[low]
        var offset = low * Self.blockSize
        while offset < bytes.count {
            if bytes[offset] & 0xc0 != 0x80 {
                if remaining == 0 { break }
                remaining -= 1
            }
            offset += 1
        }
        return offset
    }

    /// U+FEFF in UTF-8.
    static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

    /// The length of the line break that begins at a position; 0 if none does.
    private static func lineBreakLength(_ bytes: [UInt8], at position: Int) -> Int {
        switch bytes[position] {
        case 0x0a, 0x0d: 1
        case 0xc2 where position + 1 < bytes.count && bytes[position + 1] == 0x85: 2
        case 0xe2
        where position + 2 < bytes.count && bytes[position + 1] == 0x80
            && (bytes[position + 2] == 0xa8 || bytes[position + 2] == 0xa9):
            3
        default: 0
        }
    }

    /// The offset of a line and column; the nearest one when the text is shorter.
    func offset(line: Int, column: Int) -> Int {
        guard line >= 1 else { return lineStarts[0] }
        guard line <= lineStarts.count else { return bytes.count }
        return offset(ofScalar: scalars(before: lineStarts[line - 1]) + max(column - 1, 0))
    }

    /// The line and column of an offset.
    func position(of offset: Int) -> (line: Int, column: Int) {
        let offset = min(max(offset, lineStarts[0]), bytes.count)
        // The last line that starts at or before the offset.
        var low = 0
        var high = lineStarts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if lineStarts[middle] <= offset { low = middle } else { high = middle }
        }
        return (low + 1, scalars(before: offset) - scalars(before: lineStarts[low]) + 1)
    }

    /// The line of a range, and below it a line with marks under the range.
    ///
    /// Long lines are cut on both sides of the range.
    func excerpt(of range: Range<Int>) -> String {
        let (line, column) = position(of: range.lowerBound)
        let start = lineStarts[line - 1]
        var end = line < lineStarts.count ? lineStarts[line] : bytes.count
        while end > start, bytes[end - 1] == 0x0a || bytes[end - 1] == 0x0d { end -= 1 }
        let before = scalars(before: start)
        let count = scalars(before: end) - before
        let place = min(column - 1, count)
        let first = max(0, place - Self.excerptScalars / 2)
        let last = min(count, first + Self.excerptScalars)
        let shown = min(offset(ofScalar: before + first), end)..<min(offset(ofScalar: before + last), end)
        let text = String(decoding: bytes[shown], as: UTF8.self)
        let marked = bytes[min(range.lowerBound, end)..<min(max(range.upperBound, range.lowerBound), end)]
        // As many as fit, at most.
        let marks = min(
            max(1, marked.prefix(Self.excerptScalars * 4).count { $0 & 0xc0 != 0x80 }),
            max(1, last - place)
        )
        // Tabs stay tabs, so that the marks stand below their place.
        let indent = text.unicodeScalars.prefix(place - first).map { $0 == "\t" ? "\t" : " " }.joined()
        return "\(text)\n\(indent)\(String(repeating: "^", count: marks))"
    }

    /// How much of a line an excerpt shows.
    private static let excerptScalars = 160
}
