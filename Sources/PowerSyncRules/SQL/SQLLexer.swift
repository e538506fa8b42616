/// Splits a query into tokens, by PostgreSQL's lexical rules (docs/sync-config.md "SQL").
///
/// ```
/// word      letter or _ or non-ASCII, then also digits and $      folded to lower case (ASCII letters)
/// "Name"    doubled quotes stand for one                           keeps its case
/// 'text'    doubled quotes stand for one
/// 12  0.5  .5  1e3                                                 integers are exact up to 2^64 - 1
/// -- to the end of the line    /* nested comments */
/// ```
struct SQLLexer {
    private let bytes: [UInt8]
    private var position = 0

    /// All tokens of a query; the last one is ``SQLToken/Kind/end``.
    ///
    /// - Throws: The first problem.
    static func tokens(of text: String) throws(SQLProblem) -> [SQLToken] {
        var lexer = SQLLexer(bytes: Array(text.utf8))
        var tokens: [SQLToken] = []
        while true {
            try lexer.skipSpaceAndComments()
            let start = lexer.position
            guard let kind = try lexer.nextKind() else { break }
            tokens.append(SQLToken(kind: kind, range: start..<lexer.position))
        }
        // The end is where the last token ends, not behind white space on a later line.
        let end = tokens.last?.range.upperBound ?? 0
        tokens.append(SQLToken(kind: .end, range: end..<end))
        return tokens
    }

    private func byte(at offset: Int = 0) -> UInt8? {
        position + offset < bytes.count ? bytes[position + offset] : nil
    }

    private func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }

    private func problem(
        _ message: String,
        code: DiagnosticCode = .sqlSyntax,
        from start: Int
    ) -> SQLProblem {
        SQLProblem(code: code, message: message, range: start..<max(start, min(position, bytes.count)))
    }
}

extension SQLLexer {
    private mutating func skipSpaceAndComments() throws(SQLProblem) {
        while let next = byte() {
            if next == 0x20 || (0x09...0x0d).contains(next) {
                position += 1
            } else if next == UInt8(ascii: "-"), byte(at: 1) == UInt8(ascii: "-") {
                while let next = byte(), next != 0x0a, next != 0x0d { position += 1 }
            } else if next == UInt8(ascii: "/"), byte(at: 1) == UInt8(ascii: "*") {
                try skipBlockComment()
            } else {
                return
            }
        }
    }

    private mutating func skipBlockComment() throws(SQLProblem) {
        let start = position
        var depth = 0
        while let next = byte() {
            switch (next, byte(at: 1)) {
            case (UInt8(ascii: "/"), UInt8(ascii: "*")):
                depth += 1
                position += 2
            case (UInt8(ascii: "*"), UInt8(ascii: "/")):
                depth -= 1
                position += 2
                if depth == 0 { return }
            default:
                position += 1
            }
        }
        position = start + 2
        throw problem("The comment has no end; add “*/”.", from: start)
    }

    private mutating func nextKind() throws(SQLProblem) -> SQLToken.Kind? {
        guard let first = byte() else { return nil }
        switch first {
        case UInt8(ascii: "'"):
            return .string(try quoted("'", what: "string"))
        case UInt8(ascii: "\""):
            let start = position
            let name = try quoted("\"", what: "quoted name")
            guard !name.isEmpty else { throw problem("A quoted name is empty.", from: start) }
            return .quotedName(name)
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            return try number()
        case UInt8(ascii: ".") where byte(at: 1).map(Self.isDigit) == true:
            return try number()
        case UInt8(ascii: "$") where byte(at: 1).map { Self.isDigit($0) || Self.isWordStart($0) || $0 == first } == true:
            throw parameterProblem()
        case _ where Self.isWordStart(first):
            return try word()
        default:
            return try symbol()
        }
    }

    private mutating func quoted(_ quote: Unicode.Scalar, what: String) throws(SQLProblem) -> String {
        let start = position
        let quote = UInt8(ascii: quote)
        var content: [UInt8] = []
        position += 1
        while let next = byte() {
            position += 1
            if next != quote {
                content.append(next)
            } else if byte() == quote {
                content.append(quote)
                position += 1
            } else {
                return String(decoding: content, as: UTF8.self)
            }
        }
        position = start + 1
        throw problem("The \(what) has no closing quote.", from: start)
    }

    private mutating func word() throws(SQLProblem) -> SQLToken.Kind {
        let start = position
        while let next = byte(), Self.isWordStart(next) || Self.isDigit(next) || next == UInt8(ascii: "$") {
            position += 1
        }
        let folded = bytes[start..<position].map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
        let word = String(decoding: folded, as: UTF8.self)
        let prefixes: Set<String> = ["e", "b", "x", "n", "u"]
        if prefixes.contains(word), byte() == UInt8(ascii: "'") || (word == "u" && byte() == UInt8(ascii: "&")) {
            let code: DiagnosticCode = word == "e" ? .sqlNotSupportedYet : .sqlUnsupportedExpression
            let reason = word == "e" ? "are not supported yet" : "are not supported"
            throw problem("\(word.uppercased())'…' strings \(reason); use a plain string.", code: code, from: start)
        }
        return .word(word)
    }

    private mutating func number() throws(SQLProblem) -> SQLToken.Kind {
        let start = position
        skipDigits()
        var isReal = false
        if byte() == UInt8(ascii: ".") {
            isReal = true
            position += 1
            skipDigits()
        }
        if let next = byte(), next | 0x20 == UInt8(ascii: "e") {
            let sign = byte(at: 1)
            let hasSign = sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-")
            if let digit = byte(at: hasSign ? 2 : 1), Self.isDigit(digit) {
                isReal = true
                position += hasSign ? 2 : 1
                skipDigits()
            }
        }
        if let next = byte(), Self.isWordStart(next) {
            position += 1
            throw problem("A number is followed by a letter.", from: start)
        }
        let digits = text(start..<position)
        if isReal {
            // `1.` is a number in SQL, but not for `Double`.
            guard let number = Double(digits.hasSuffix(".") ? digits + "0" : digits), number.isFinite else {
                throw problem("The number \(digits) is too large.", from: start)
            }
            return .real(number)
        }
        guard let integer = UInt64(digits) else {
            throw problem("The integer \(digits) does not fit 64 bits.", from: start)
        }
        return .integer(integer)
    }

    private mutating func skipDigits() {
        while let next = byte(), Self.isDigit(next) { position += 1 }
    }

    private mutating func symbol() throws(SQLProblem) -> SQLToken.Kind {
        let start = position
        for symbol in Self.symbols where bytes[position...].starts(with: symbol.utf8) {
            position += symbol.utf8.count
            return .symbol(symbol)
        }
        let next = byte() ?? 0
        if next == UInt8(ascii: "?") || next == UInt8(ascii: ":") || next == UInt8(ascii: "@") {
            throw parameterProblem()
        }
        position += 1
        throw problem("The character “\(text(start..<position))” is not part of SQL.", from: start)
    }

    private mutating func parameterProblem() -> SQLProblem {
        let start = position
        position += 1
        while let next = byte(), Self.isWordStart(next) || Self.isDigit(next) { position += 1 }
        return problem(
            "Bind parameters are not supported; use auth, connection or subscription parameters.",
            code: .sqlUnsupportedExpression,
            from: start
        )
    }

    /// Longer symbols first.
    private static let symbols = [
        "->>", "!~~", "||", "->", "&&", "::", "<=", ">=", "<>", "!=", "<<", ">>", "!~", "~~", "@>", "<@",
        "(", ")", "[", "]", ",", ";", ".", "=", "<", ">", "+", "-", "*", "/", "%", "&", "|", "~", "^", "#",
    ]

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    private static func isWordStart(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_") || byte >= 0x80
    }
}
