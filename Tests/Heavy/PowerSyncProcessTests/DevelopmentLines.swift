import Foundation

/// What `powersync dev` prints when it is ready.
struct DevelopmentLines {
    /// The text behind each word, and the command below each comment, which may have two lines.
    private var texts: [String: String] = [:]

    /// Reads the lines.
    init(_ lines: [String]) {
        var comment: String?
        for line in lines where line.hasPrefix("  ") {
            let text = line.trimmingCharacters(in: .whitespaces)
            if text.hasPrefix("# ") {
                comment = String(text.dropFirst(2))
            } else if let known = comment {
                texts[known] = texts[known].map { "\($0)\n\(text)" } ?? text
                if !text.hasSuffix("\\") { comment = nil }
            } else {
                let parts = text.split(separator: " ", maxSplits: 1)
                if parts.count == 2 { texts[String(parts[0])] = parts[1].trimmingCharacters(in: .whitespaces) }
            }
        }
    }

    /// The text behind a word, or the command below a comment.
    subscript(name: String) -> String? { texts[name] }

    /// The command that shows the rows of a user.
    func stream(of user: String) -> String? { texts["the rows of \(user), as they come"] }

    /// The command that writes a row as a user; what it writes is in `data/dev/write.json`.
    func write(as user: String) -> String? { texts["a row that \(user) writes"] }

    /// Whether a line is the last one.
    static func isLast(_ line: String) -> Bool { line == "  }" }
}
