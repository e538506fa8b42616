/// A statement of the log, cut into words: SQL is never parsed as grammar (docs/mysql.md "Changed tables").
///
/// Comments are left out, what is in `/*! … */` and `/*M! … */` is read as text. A word is made of letters, digits, `_`, `$` and bytes
/// above 127.
struct StatementWords: Sendable, Hashable {
    /// A piece of the statement.
    enum Token: Sendable, Hashable {
        /// A keyword, a plain name, or a number.
        case word(String)
        /// A name in backticks or double quotes. The latter is a string in most sessions, and counts as a name all the same.
        case quoted(String)
        /// What is between single quotes.
        case text(String)
        /// Any other character.
        case sign(UInt8)
    }

    /// The pieces, in their order.
    private(set) var tokens: [Token] = []
    /// Whether a name is not UTF-8: it may be any.
    private(set) var hasUnreadableName = false

    /// Cuts a statement.
    ///
    /// - Parameters:
    ///   - statement: The bytes of the statement.
    ///   - hasEscapes: Whether a backslash in quotes escapes what follows: not in a session with `NO_BACKSLASH_ESCAPES`.
    init(_ statement: some Collection<UInt8>, hasEscapes: Bool = true) {
        var cutter = StatementCutter(bytes: Array(statement), hasEscapes: hasEscapes)
        while let token = cutter.next() { tokens.append(token) }
        hasUnreadableName = cutter.hasUnreadableName
    }

    /// The words from a place on.
    func dropping(_ count: Int) -> StatementWords {
        var rest = self
        rest.tokens.removeFirst(min(count, rest.tokens.count))
        return rest
    }
}

/// Goes through the bytes of a statement.
private struct StatementCutter {
    let bytes: [UInt8]
    let hasEscapes: Bool
    var hasUnreadableName = false
    private var place = 0
    /// Whether the place is in a comment that is executed.
    private var isInExecutedComment = false

    init(bytes: [UInt8], hasEscapes: Bool) {
        self.bytes = bytes
        self.hasEscapes = hasEscapes
    }

    private func byte(_ offset: Int = 0) -> UInt8? {
        place + offset < bytes.count ? bytes[place + offset] : nil
    }

    mutating func next() -> StatementWords.Token? {
        while let byte = byte() {
            switch byte {
            case 0...0x20, 0x7F: place += 1
            case UInt8(ascii: "#"): skipLine()
            case UInt8(ascii: "-") where self.byte(1) == byte && (self.byte(2).map { $0 <= 0x20 } ?? true): skipLine()
            case UInt8(ascii: "/") where self.byte(1) == UInt8(ascii: "*"): beginComment()
            case UInt8(ascii: "*") where isInExecutedComment && self.byte(1) == UInt8(ascii: "/"):
                isInExecutedComment = false
                place += 2
            case UInt8(ascii: "'"): return .text(String(decoding: quoted(by: byte, isName: false), as: UTF8.self))
            case UInt8(ascii: "\""), UInt8(ascii: "`"):
                return .quoted(name(quoted(by: byte, isName: byte == UInt8(ascii: "`"))))
            case _ where Self.isOfWord(byte):
                let start = place
                while let byte = self.byte(), Self.isOfWord(byte) { place += 1 }
                return .word(name(Array(bytes[start..<place])))
            default:
                place += 1
                return .sign(byte)
            }
        }
        return nil
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...0xFF:
            true
        default: false
        }
    }

    private mutating func name(_ bytes: [UInt8]) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        // What is not UTF-8 becomes this character, here or in the decoder of the log.
        hasUnreadableName = hasUnreadableName || text.unicodeScalars.contains("\u{FFFD}")
        return text
    }

    private mutating func skipLine() {
        while let byte = byte(), byte != UInt8(ascii: "\n") { place += 1 }
    }

    private mutating func beginComment() {
        place += 2
        let isOfMariaDB = byte() == UInt8(ascii: "M") && byte(1) == UInt8(ascii: "!")
        guard isOfMariaDB || byte() == UInt8(ascii: "!") else {
            while let byte = byte(), !(byte == UInt8(ascii: "*") && self.byte(1) == UInt8(ascii: "/")) { place += 1 }
            place += 2
            return
        }
        place += isOfMariaDB ? 2 : 1
        // The version from which on it is executed, which this server has: it is in its log.
        while let byte = byte(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { place += 1 }
        isInExecutedComment = true
    }

    /// What is in quotes; to the end if they do not end.
    private mutating func quoted(by quote: UInt8, isName: Bool) -> [UInt8] {
        var content: [UInt8] = []
        place += 1
        while let byte = byte() {
            place += 1
            if byte == quote {
                guard self.byte() == quote else { break }
                place += 1
            } else if byte == UInt8(ascii: "\\"), hasEscapes, !isName, let escaped = self.byte() {
                place += 1
                content.append(escaped)
                continue
            }
            content.append(byte)
        }
        return content
    }
}
