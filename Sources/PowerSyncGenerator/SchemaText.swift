import PowerSyncTerminal

/// A file of statements that make the tables of a source, as far as SQLite runs them.
///
/// `public.`, the schema in which PostgreSQL has tables that are named without one, may stand before a name.
struct SchemaText {
    private let sql: String

    /// Creates a text; nothing is run.
    init(_ sql: String) {
        self.sql = Self.withoutPublicSchema(sql)
    }

    /// Runs the statements one after the other.
    ///
    /// - Throws: ``UnreadableFile`` with the line on which the statement begins that cannot be run, and nothing else of the text.
    func run(in database: SQLiteFile) throws(UnreadableFile) {
        var offset = 0
        do {
            try database.run(sql, willRun: { offset = $0 })
        } catch {
            throw UnreadableFile(message(of: error, after: sql.utf8.index(sql.startIndex, offsetBy: offset)))
        }
    }

    private func message(of error: SQLiteFailure, after place: String.Index) -> String {
        let firstNumber = sql[..<place].count { $0.isNewline } + 1
        let lines = sql[place...].split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let offset = lines.firstIndex { line in
            let text = line.drop { $0.isWhitespace || $0 == ";" }
            return !text.isEmpty && !text.hasPrefix("--")
        }
        let line = (offset.map { lines[$0] } ?? "").drop { $0.isWhitespace || $0 == ";" }
        return """
            line \(firstNumber + (offset ?? 0)), which begins with “\(line.prefix(60))”, is not for SQLite (\(error)): give the \
            CREATE TABLE statements alone, or the database itself with --source
            """
    }

    /// Takes `public.` before names out of statements, and leaves texts and comments as they are.
    static func withoutPublicSchema(_ sql: String) -> String {
        var result = ""
        var rest = sql[...]
        while let first = rest.first {
            let token = token(at: rest, first)
            let after = rest[token.endIndex...]
            let isSchema = token.lowercased() == "public" || token.lowercased() == "\"public\""
            if isSchema, after.first == "." {
                rest = after.dropFirst()
            } else {
                result += token
                rest = after
            }
        }
        return result
    }

    /// A name, a text, a comment, or one other character.
    private static func token(at rest: Substring, _ first: Character) -> Substring {
        func through(_ mark: some Collection<Character>, from start: Int) -> Substring {
            let end = rest.dropFirst(start).firstRange(of: mark)?.upperBound ?? rest.endIndex
            return rest[..<end]
        }
        switch first {
        case "'", "\"", "`": return through(String(first), from: 1)
        case "[": return through("]", from: 1)
        case "-" where rest.hasPrefix("--"): return rest.prefix { !$0.isNewline }
        case "/" where rest.hasPrefix("/*"): return through("*/", from: 2)
        default:
            let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            return word.isEmpty ? rest.prefix(1) : word
        }
    }
}
