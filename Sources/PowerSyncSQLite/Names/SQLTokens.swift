/// The lexical elements of a SQL text, one after the other, without white space and comments.
///
/// ```
/// INSERT INTO "a""b" (x) -- why   →   INSERT, INTO, "a""b", (, x, )
/// ```
///
/// Numbers count as words, and of operators each byte is a symbol. A quote that is never closed reaches to the end.
package struct SQLTokens: Sequence, IteratorProtocol {
    /// One element.
    package struct Token {
        package enum Kind {
            /// A keyword, a name without quotes, or a number.
            case word
            /// A name in double quotes, backticks or brackets.
            case quotedName
            /// A text in single quotes.
            case text
            /// Any other byte.
            case symbol
        }

        package let kind: Kind
        /// The element as it is written.
        package let source: Substring

        /// Whether the element is this keyword, in any case.
        package func isKeyword(_ keyword: StaticString) -> Bool {
            guard kind == .word, source.utf8.count == keyword.utf8CodeUnitCount else { return false }
            return keyword.withUTF8Buffer { keyword in
                unsafe zip(source.utf8, keyword).allSatisfy { $0 == $1 || $0 & 0xdf == $1 }
            }
        }

        package func isSymbol(_ symbol: Unicode.Scalar) -> Bool {
            kind == .symbol && source.unicodeScalars.first == symbol
        }

        /// The name that the element stands for, without its quotes; `nil` for a symbol.
        ///
        /// SQLite takes a text for a name where it expects one.
        package var name: String? {
            switch kind {
            case .symbol: return nil
            case .word: return String(source)
            case .quotedName, .text:
                let quote = source.unicodeScalars.last
                let inner = source.unicodeScalars.dropFirst().dropLast()
                guard let quote, quote != "]" else { return String(String.UnicodeScalarView(inner)) }
                var name = String.UnicodeScalarView()
                var isSecond = false
                for scalar in inner {
                    isSecond = scalar == quote && !isSecond
                    if !isSecond { name.append(scalar) }
                }
                return String(name)
            }
        }
    }

    private var rest: Substring

    /// Reads a text.
    package init(_ sql: String) {
        rest = sql[...]
    }

    package mutating func next() -> Token? {
        rest = SQLText.skippingBlanks(rest)
        let bytes = rest.utf8
        guard let first = bytes.first else { return nil }
        let kind: Token.Kind
        let end: Substring.Index
        switch first {
        case UInt8(ascii: "'"): (kind, end) = (.text, Self.endOfQuoted(bytes, by: first))
        case UInt8(ascii: "\""), UInt8(ascii: "`"): (kind, end) = (.quotedName, Self.endOfQuoted(bytes, by: first))
        case UInt8(ascii: "["):
            let close = bytes.firstIndex(of: UInt8(ascii: "]"))
            (kind, end) = (.quotedName, close.map(bytes.index(after:)) ?? bytes.endIndex)
        case _ where Self.isPartOfWord(first):
            (kind, end) = (.word, bytes.firstIndex { !Self.isPartOfWord($0) } ?? bytes.endIndex)
        default: (kind, end) = (.symbol, bytes.index(after: bytes.startIndex))
        }
        defer { rest = rest[end...] }
        return Token(kind: kind, source: rest[..<end])
    }

    /// The end of a quoted element, in which the quote is written twice.
    private static func endOfQuoted(_ bytes: Substring.UTF8View, by quote: UInt8) -> Substring.Index {
        var index = bytes.index(after: bytes.startIndex)
        while index < bytes.endIndex {
            let isQuote = bytes[index] == quote
            index = bytes.index(after: index)
            guard isQuote else { continue }
            guard index < bytes.endIndex, bytes[index] == quote else { return index }
            index = bytes.index(after: index)
        }
        return bytes.endIndex
    }

    private static func isPartOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }
}
