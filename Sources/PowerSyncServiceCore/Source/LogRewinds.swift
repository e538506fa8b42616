/// How often the log of a server has gone back, as when its files are put back to an older state: what the names of its histories end with
/// (docs/service.md "What a source promises").
///
/// Such a server has the name that it had before. A process that sees that the log no longer has a position that is known, or has something
/// else there, appends that position, so that all processes over one storage find the same name. A process that was not there when it
/// happened, because it has started again since, takes the name that is stored.
package struct LogRewinds: Sendable {
    /// Empty, or `~` and a position for each time.
    package private(set) var suffix = ""

    /// Creates the knowledge of a process that has just started: none.
    package init() {}

    /// Learns from a stored position.
    ///
    /// - Parameters:
    ///   - known: A position of this server or another one.
    ///   - history: The name that the server's history has as far as was known.
    ///   - isInLog: Whether the log of the server has the position now.
    /// - Returns: Whether the history has, or may have, another name than `history`.
    package mutating func learn(from known: SourcePosition, in history: SourceHistory, isInLog: Bool) -> Bool {
        let (name, knownName) = (history.rawValue, known.history.rawValue)
        // Another process may have recorded a rewind meanwhile.
        guard name.hasSuffix(suffix) else { return true }
        guard let added = Self.added(to: name, in: knownName) else { return false }
        let all = isInLog ? added : added + "~\(known.lsn)"
        suffix += all
        return !all.isEmpty
    }

    /// Learns that the log has something else at a position than it had.
    ///
    /// - Parameters:
    ///   - position: The position.
    ///   - history: The name of the history that had it.
    package mutating func learn(contradicting position: LSN, in history: SourceHistory) {
        // Another process may have recorded it meanwhile.
        if history.rawValue.hasSuffix(suffix) { suffix += "~\(position)" }
    }

    /// Whether a known position may be one of a history, or of one that followed it on the same server: only then the log is looked at.
    package static func concerns(_ known: SourcePosition, _ history: SourceHistory) -> Bool {
        added(to: history.rawValue, in: known.history.rawValue) != nil
    }

    /// What a name has more than the one that it begins with; `nil` for the name of another server, or of an earlier history.
    private static func added(to name: String, in knownName: String) -> String? {
        guard knownName.hasPrefix(name) else { return nil }
        let added = knownName.dropFirst(name.count)
        return added.isEmpty || added.first == "~" ? String(added) : nil
    }
}
