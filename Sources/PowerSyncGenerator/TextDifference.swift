import PowerSyncProtocol
import PowerSyncTerminal

/// The lines in which a file differs from what it should be, in short.
struct TextDifference {
    /// How many lines of each side are shown.
    static let shownLines = 10

    /// The lines: `-` before those that are there, `+` before those that should be.
    let lines: [String]

    /// Compares two texts; `nil` when they are the same, byte for byte.
    ///
    /// - Parameters:
    ///   - old: What is there.
    ///   - new: What should be.
    init?(from old: String, to new: String) {
        guard !old.utf8.elementsEqual(new.utf8) else { return nil }
        var (oldLines, newLines) = (Self.split(old), Self.split(new))
        var start = 0
        while let first = oldLines.first, let other = newLines.first, first == other {
            oldLines.removeFirst()
            newLines.removeFirst()
            start += 1
        }
        while let last = oldLines.last, let other = newLines.last, last == other {
            oldLines.removeLast()
            newLines.removeLast()
        }
        lines =
            ["line \(start + 1):"] + Self.shown(oldLines, sign: "-") + Self.shown(newLines, sign: "+")
    }

    private static func split(_ text: String) -> ArraySlice<[UInt8]> {
        text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }[...]
    }

    private static func shown(_ lines: ArraySlice<[UInt8]>, sign: String) -> [String] {
        let hidden = lines.count - shownLines
        return lines.prefix(shownLines).map { "\(sign) \(String(decoding: $0, as: UTF8.self))" }
            + (hidden > 0 ? ["\(sign) and \(hidden) more \(hidden.words("line"))"] : [])
    }
}
