import PowerSyncServiceCore

/// How often the log of a server has gone back without another timeline, as when its files are put back: what the names of its
/// histories end with (docs/postgres.md "How it is followed").
///
/// Such a server has the name that it had before. A process that sees that its log ends before a position that is known, or has something
/// else there, appends that position, so that all processes over one storage find the same name. A process that was not there when it
/// happened, because it has started again since, takes the name that is stored.
struct LogRewinds: Sendable {
    /// Empty, or `~` and a position for each time.
    private(set) var suffix = ""

    /// Learns from a stored position.
    ///
    /// - Parameters:
    ///   - known: A position of this server or another one.
    ///   - head: Where the log of the server ends, in the history that it has as far as was known.
    /// - Returns: Whether the history has, or may have, another name than `head` says.
    mutating func learn(from known: SourcePosition, at head: SourcePosition) -> Bool {
        let (name, knownName) = (head.history.rawValue, known.history.rawValue)
        // Another process has recorded a rewind since.
        guard name.hasSuffix(suffix) else { return true }
        guard knownName.hasPrefix(name) else { return false }
        var added = String(knownName.dropFirst(name.count))
        guard added.isEmpty || added.first == "~" else { return false }
        let end = known.lsn.unmarked
        if end > head.lsn.unmarked { added += "~\(end)" }
        suffix += added
        return !added.isEmpty
    }

    /// Learns that the log has something else at a position than it had.
    ///
    /// - Parameters:
    ///   - position: The position.
    ///   - history: The name of the history that had it.
    mutating func learn(contradicting position: WALPosition, in history: SourceHistory) {
        // Another process may have recorded it meanwhile.
        if history.rawValue.hasSuffix(suffix) { suffix += "~\(position.lsn)" }
    }
}

extension LSN {
    /// The position without its mark (``MarkedPosition``).
    var unmarked: LSN { LSN(String(rawValue.prefix { $0 != MarkedPosition.separator })) }
}
