/// A token of statements that make tables, in the SQL of PostgreSQL, MySQL or SQLite.
enum DDLToken: Hashable {
    /// A word without quotes, as it is written.
    case word(String)
    /// A name in double quotes or back quotes.
    case name(String)
    /// A text, whose content does not matter.
    case text
    /// A number, or one of the other characters.
    case symbol(String)

    /// Whether the token is a word, in any case.
    func isWord(_ word: String) -> Bool {
        if case .word(let text) = self { text.uppercased() == word } else { false }
    }

    /// Whether the token is a character.
    func isSymbol(_ symbol: String) -> Bool { self == .symbol(symbol) }
}

/// Splits a file into statements, and those into tokens.
///
/// What is in texts, comments and bodies of functions is passed over. What only some programs know is, too: commands of `psql`, data of `COPY`,
/// `DELIMITER` of the client of MySQL, and the parts of migrations that take them back (`-- migrate:down`, `-- +goose Down`).
struct DDLLexer {
    /// The statements, in the order of the file.
    private(set) var statements: [[DDLToken]] = []
    private var tokens: [DDLToken] = []
    private var rest: Substring.UnicodeScalarView
    /// What ends a statement.
    private var delimiter = ";"
    /// Whether the file is for MySQL: then a backslash in a text escapes what follows.
    let isMySQL: Bool

    /// Reads a file.
    ///
    /// - Complexity: O(length).
    init(_ text: String) {
        isMySQL = text.contains("`") || text.contains(/(?i)\bENGINE\s*=/)
        rest = text[...].unicodeScalars
        while !rest.isEmpty { step() }
        endStatement()
    }

    private mutating func endStatement() {
        if !tokens.isEmpty { statements.append(tokens) }
        tokens = []
    }

    private mutating func step() {
        guard let first = rest.first else { return }
        if first.properties.isWhitespace {
            rest.removeFirst()
        } else if hasPrefix("--") || isMySQL && first == "#" {
            comment()
        } else if hasPrefix("/*") {
            skip(through: "*/", from: 2)
        } else if hasPrefix(delimiter) {
            rest.removeFirst(delimiter.unicodeScalars.count)
            let isCopy = tokens.first?.isWord("COPY") == true && tokens.last?.isWord("STDIN") == true
            endStatement()
            if isCopy { skipData() }
        } else if first == "\\", tokens.isEmpty {
            line()
        } else if first == "'" {
            let escapes = isMySQL || tokens.last.map { $0.isWord("E") } == true
            skipText("'", escapes: escapes)
            tokens.append(.text)
        } else if first == "\"" || first == "`" {
            tokens.append(.name(quoted(first)))
        } else if first == "$", let tag = dollarTag() {
            skip(through: tag, from: tag.unicodeScalars.count)
            tokens.append(.text)
        } else if first == "_" || first.properties.isAlphabetic {
            word()
        } else if isDigit(first) {
            let number = rest.prefix { isDigit($0) || $0 == "." }
            tokens.append(.symbol(String(number)))
            rest.removeFirst(number.count)
        } else {
            tokens.append(.symbol(String(first)))
            rest.removeFirst()
        }
    }

    private func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

    private func hasPrefix(_ text: String) -> Bool { rest.starts(with: text.unicodeScalars) }

    /// Takes the rest of the line.
    @discardableResult
    private mutating func line() -> String {
        let line = rest.prefix { $0 != "\n" }
        rest = rest[line.endIndex...]
        return String(line)
    }

    private static let endsOfMigrations = ["-- migrate:down", "-- +goose down", "-- +migrate down"]

    private mutating func comment() {
        let text = line().lowercased()
        // What follows takes the migration back.
        if Self.endsOfMigrations.contains(where: { text.hasPrefix($0) }) { rest = rest[rest.endIndex...] }
    }

    private mutating func skip(through mark: String, from start: Int) {
        if let range = rest.dropFirst(start).firstRange(of: mark.unicodeScalars) {
            rest = rest[range.upperBound...]
        } else {
            rest = rest[rest.endIndex...]
        }
    }

    /// Passes over a text; two quotes in it are one.
    private mutating func skipText(_ quote: Unicode.Scalar, escapes: Bool) {
        rest.removeFirst()
        while let next = rest.popFirst() {
            if escapes, next == "\\" {
                _ = rest.popFirst()
            } else if next == quote {
                guard rest.first == quote else { return }
                rest.removeFirst()
            }
        }
    }

    private mutating func quoted(_ quote: Unicode.Scalar) -> String {
        rest.removeFirst()
        var name = String.UnicodeScalarView()
        while let next = rest.popFirst() {
            if next == quote {
                guard rest.first == quote else { break }
                rest.removeFirst()
            }
            name.append(next)
        }
        return String(name)
    }

    /// The mark of a text such as `$$` or `$body$`.
    private func dollarTag() -> String? {
        let tag = rest.dropFirst().prefix { $0 == "_" || $0.properties.isAlphabetic || isDigit($0) }
        guard tag.first.map({ !isDigit($0) }) ?? true, rest[tag.endIndex...].first == "$" else { return nil }
        return "$\(String(tag))$"
    }

    private mutating func word() {
        let word = rest.prefix { $0 == "_" || $0 == "$" || $0.properties.isAlphabetic || isDigit($0) }
        rest = rest[word.endIndex...]
        let text = String(word)
        if tokens.isEmpty, text.uppercased() == "DELIMITER" {
            let mark = line().split(whereSeparator: \.isWhitespace).first
            delimiter = mark.map { String($0) } ?? ";"
        } else {
            tokens.append(.word(text))
        }
    }

    /// Passes over the lines of `COPY … FROM stdin`.
    private mutating func skipData() {
        line()
        while !rest.isEmpty {
            rest.removeFirst()
            if line().hasPrefix("\\.") { return }
        }
    }
}
