/// What somebody types.
enum Command: Equatable {
    case add(String)
    case toggle(Int)
    case delete(Int)
    case photo(Int, path: String)
    case list(String)
    case offline
    case online
    /// Waits until the screen shows a text; for scripts.
    case wait(String)
    /// Waits until all local writes are uploaded; for scripts.
    case upload
    case quit

    static let help = "+ TITLE  adds · N  toggles · - N  deletes · photo N FILE · list NAME · offline · online · quit"

    /// Reads a line; `nil` for an empty one.
    static func parse(_ line: String) throws -> Command? {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        guard let word = words.first else { return nil }
        let rest = words.count > 1 ? words[1] : ""
        switch word {
        case "+" where !rest.isEmpty: return .add(rest)
        case "-":
            guard let number = Int(rest) else { throw Mistake("Which one? - N") }
            return .delete(number)
        case "photo":
            let words = rest.split(separator: " ", maxSplits: 1).map(String.init)
            guard words.count == 2, let number = Int(words[0]) else { throw Mistake("photo N FILE") }
            return .photo(number, path: words[1])
        case "list" where !rest.isEmpty: return .list(rest)
        case "offline": return .offline
        case "online": return .online
        case "wait" where !rest.isEmpty: return .wait(rest)
        case "upload": return .upload
        case "quit": return .quit
        default:
            guard let number = Int(line) else { throw Mistake(help) }
            return .toggle(number)
        }
    }
}
