/// The text of a config file, addressed by byte offsets and by lines and columns.
///
/// Lines and columns start at 1; columns count Unicode scalars. A line ends at LF, CR LF, CR, and, as the YAML parser
/// counts too, at U+0085, U+2028 and U+2029.
struct SourceText {
    /// The bytes of the file.
    let bytes: [UInt8]
    /// The offset of the first byte of each line.
    private let lineStarts: [Int]

    /// Creates an index of a text.
    init(_ text: String) {
        bytes = Array(text.utf8)
        var starts = [0]
        for position in bytes.indices {
            let length = Self.lineBreakLength(bytes, at: position)
            // CR LF is one break, which ends at the LF.
            if length > 0, !(bytes[position] == 0x0d && position + 1 < bytes.count && bytes[position + 1] == 0x0a) {
                starts.append(position + length)
            }
        }
        lineStarts = starts
    }

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
        guard line >= 1 else { return 0 }
        guard line <= lineStarts.count else { return bytes.count }
        var offset = lineStarts[line - 1]
        var remaining = max(column - 1, 0)
        while offset < bytes.count, remaining > 0 {
            offset += 1
            while offset < bytes.count, bytes[offset] & 0xc0 == 0x80 { offset += 1 }
            remaining -= 1
        }
        return offset
    }

    /// The line and column of an offset.
    func position(of offset: Int) -> (line: Int, column: Int) {
        let offset = min(max(offset, 0), bytes.count)
        // The last line that starts at or before the offset.
        var low = 0
        var high = lineStarts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if lineStarts[middle] <= offset { low = middle } else { high = middle }
        }
        let scalars = bytes[lineStarts[low]..<offset].count { $0 & 0xc0 != 0x80 }
        return (low + 1, scalars + 1)
    }
}
