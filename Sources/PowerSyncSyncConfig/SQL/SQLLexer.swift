/// Splits a query into tokens, by PostgreSQL's lexical rules (docs/sync-config.md "SQL").
///
/// ```
/// word      ASCII letter or _, then also digits                    folded to lower case
/// "Name"    doubled quotes stand for one                           keeps its case
/// 'text'    doubled quotes stand for one;  E'a\n' has escapes
/// 12  0.5  .5  1.  1e3                                             integers are exact up to 2^64 - 1
/// -- to the end of the line    /* nested comments */
/// ```
struct SQLLexer {
    private let bytes: [UInt8]
    private let base: Int
    private let source: ScalarSource
    private var position = 0

    /// All tokens of a query; the last one is ``SQLToken/Kind/end``.
    ///
    /// What is no token becomes ``SQLToken/Kind/invalid(_:)``, and reading goes on behind it.
    static func tokens(of text: SQLSources.Text) -> [SQLToken] {
        var lexer = SQLLexer(bytes: Array(text.text.utf8), base: text.base, source: text.source)
        var tokens: [SQLToken] = []
        while true {
            var start = lexer.position
            do throws(SQLProblem) {
                try lexer.skipSpaceAndComments()
                start = lexer.position
                guard let token = try lexer.nextToken() else { break }
                tokens.append(token)
            } catch {
                tokens.append(SQLToken(kind: .invalid(error), range: error.range))
                if lexer.position == start { lexer.position += 1 }
            }
        }
        // The end is where the last token ends, not behind white space on a later line.
        let end = tokens.last?.range.upperBound ?? text.base
        tokens.append(SQLToken(kind: .end, range: end..<end))
        return tokens
    }

    private func byte(at offset: Int = 0) -> UInt8? {
        position + offset < bytes.count ? bytes[position + offset] : nil
    }

    private func text(from start: Int) -> String {
        String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private func problem(
        _ message: String,
        hint: String? = nil,
        code: DiagnosticCode = .sqlSyntax,
        from start: Int
    ) -> SQLProblem {
        let end = max(start, min(position, bytes.count))
        return SQLProblem(code: code, message: message, hint: hint, range: (base + start)..<(base + end))
    }

    private mutating func nextToken() throws(SQLProblem) -> SQLToken? {
        let start = position
        var isFolded = false
        guard let kind = try nextKind(&isFolded) else { return nil }
        return SQLToken(kind: kind, range: (base + start)..<(base + position), isFolded: isFolded)
    }
}

// MARK: - Space and comments

extension SQLLexer {
    private mutating func skipSpaceAndComments() throws(SQLProblem) {
        while let next = byte() {
            if next == 0x20 || (0x09...0x0d).contains(next) {
                position += 1
            } else if next == UInt8(ascii: "-"), byte(at: 1) == UInt8(ascii: "-") {
                try skipLineComment()
            } else if next == UInt8(ascii: "/"), byte(at: 1) == UInt8(ascii: "*") {
                try skipBlockComment()
            } else {
                return
            }
        }
    }

    /// Skips a comment up to the end of its line.
    ///
    /// In most scalars of YAML a line break is a space, and the comment would take in what its author sees below it. Of more comments
    /// nothing is lost.
    private mutating func skipLineComment() throws(SQLProblem) {
        let start = position
        while let next = byte(), next != 0x0a, next != 0x0d { position += 1 }
        let isHarmless = source.lines(of: start..<position).dropFirst().allSatisfy { line in
            line.isEmpty || line.first == UInt8(ascii: ";") || line.starts(with: "--".utf8)
        }
        guard !isHarmless else { return }
        throw problem(
            "The line break is folded, so the rest of the query is in this comment.",
            hint: "Write the query behind “|”, or the comment as /* … */.",
            from: start
        )
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
        throw SQLProblem(
            code: .sqlSyntax,
            message: "The comment has no end.",
            hint: "Add “*/”.",
            range: (base + start)..<(base + start + 2)
        )
    }
}

// MARK: - Names and symbols

extension SQLLexer {
    private mutating func nextKind(_ isFolded: inout Bool) throws(SQLProblem) -> SQLToken.Kind? {
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
        case UInt8(ascii: "$"):
            throw parameterProblem()
        case _ where Self.isWordStart(first) || first >= 0x80:
            return try word(&isFolded)
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
        throw unclosed(what, from: start)
    }

    private func unclosed(_ what: String, from start: Int) -> SQLProblem {
        SQLProblem(
            code: .sqlSyntax,
            message: "The \(what) has no closing quote.",
            range: (base + start)..<(base + start + 1)
        )
    }

    private mutating func word(_ isFolded: inout Bool) throws(SQLProblem) -> SQLToken.Kind {
        let start = position
        while let next = byte(), Self.isWordStart(next) || Self.isDigit(next) { position += 1 }
        let folded = bytes[start..<position].map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
        isFolded = folded != Array(bytes[start..<position])
        let word = String(decoding: folded, as: UTF8.self)
        if let next = byte(), next >= 0x80 || next == UInt8(ascii: "$") {
            while let next = byte(), Self.isWordStart(next) || Self.isDigit(next) || next >= 0x80 || next == 0x24 {
                position += 1
            }
            let name = text(from: start)
            throw problem(
                "“\(name)” is no name without quotes: those consist of ASCII letters, digits and “_”.",
                hint: "Write \"\(name)\".",
                from: start
            )
        }
        let prefixes: Set<String> = ["b", "x", "n", "u"]
        if word == "e", byte() == UInt8(ascii: "'") { return .string(try escapedString(from: start)) }
        if prefixes.contains(word), byte() == UInt8(ascii: "'") || (word == "u" && byte() == UInt8(ascii: "&")) {
            throw problem(
                "\(word.uppercased())'…' strings are not supported.",
                hint: "Use a plain string.",
                code: .sqlUnsupportedExpression,
                from: start
            )
        }
        return .word(word)
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
        throw problem("The character “\(text(from: start))” is not part of SQL.", from: start)
    }

    private mutating func parameterProblem() -> SQLProblem {
        let start = position
        position += 1
        while let next = byte(), Self.isWordStart(next) || Self.isDigit(next) { position += 1 }
        return problem(
            "Bind parameters are not supported.",
            hint: "Use auth.parameter(), connection.parameter() or subscription.parameter().",
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
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
    }
}

// MARK: - Literals

extension SQLLexer {
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
        if let next = byte(), Self.isWordStart(next) || next >= 0x80 {
            while let next = byte(), Self.isWordStart(next) || Self.isDigit(next) || next >= 0x80 { position += 1 }
            throw problem(
                "“\(text(from: start))” is not a number.",
                hint: "Numbers have decimal digits, without “_” or prefix.",
                from: start
            )
        }
        let digits = text(from: start)
        if isReal {
            // `1.` is a number in SQL, but not for `Double`.
            let mark = digits.firstIndex { $0 == "e" || $0 == "E" } ?? digits.endIndex
            var mantissa = String(digits[..<mark])
            if mantissa.hasSuffix(".") { mantissa += "0" }
            guard let number = Double(mantissa + digits[mark...]), number.isFinite else {
                throw problem("The number \(digits) is too large.", code: .sqlNumberRange, from: start)
            }
            return .real(number)
        }
        guard let integer = UInt64(digits) else {
            throw problem("The integer \(digits) does not fit 64 bits.", code: .sqlNumberRange, from: start)
        }
        return .integer(integer)
    }

    private mutating func skipDigits() {
        while let next = byte(), Self.isDigit(next) { position += 1 }
    }

    /// The rest of `E'…'`, the quote comes next.
    private mutating func escapedString(from start: Int) throws(SQLProblem) -> String {
        var content: [UInt8] = []
        position += 1
        while let next = byte() {
            position += 1
            switch next {
            case UInt8(ascii: "'"):
                guard byte() == UInt8(ascii: "'") else { return String(decoding: content, as: UTF8.self) }
                content.append(next)
                position += 1
            case UInt8(ascii: "\\"):
                guard let escaped = byte() else { throw unclosed("string", from: start) }
                position += 1
                content.append(contentsOf: try escape(escaped))
            default:
                content.append(next)
            }
        }
        throw unclosed("string", from: start)
    }

    private mutating func escape(_ letter: UInt8) throws(SQLProblem) -> [UInt8] {
        let start = position - 2
        switch letter {
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0c]
        case UInt8(ascii: "n"): return [0x0a]
        case UInt8(ascii: "r"): return [0x0d]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            position -= 1
            return try character(radix: 8, digits: 1...3, from: start)
        case UInt8(ascii: "x"): return try character(radix: 16, digits: 1...2, from: start)
        case UInt8(ascii: "u"): return try character(radix: 16, digits: 4...4, from: start)
        case UInt8(ascii: "U"): return try character(radix: 16, digits: 8...8, from: start)
        default: return [letter]
        }
    }

    private mutating func character(
        radix: Int,
        digits: ClosedRange<Int>,
        from start: Int
    ) throws(SQLProblem) -> [UInt8] {
        var value: UInt32 = 0
        var count = 0
        while count < digits.upperBound, let next = byte(),
            let digit = UInt32(String(UnicodeScalar(next)), radix: radix)
        {
            value = value &* UInt32(radix) &+ digit
            count += 1
            position += 1
        }
        guard count >= digits.lowerBound, value != 0, let scalar = Unicode.Scalar(value) else {
            throw problem("The escape sequence is not a character.", from: start)
        }
        return Array(String(scalar).utf8)
    }
}
