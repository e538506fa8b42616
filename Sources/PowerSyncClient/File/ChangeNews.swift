/// What a ``ChangeListener`` hears of, added up since it was last asked.
struct ChangeNews: Sendable, Equatable {
    /// Which of the listener's interests have changed, or may have.
    var changes = InterestingChanges()
    /// The last commit that has certainly changed some of them; 0 if there is none.
    var lastCertain: UInt64 = 0
    /// The last commit that may have changed some of them; 0 if there is none.
    var lastPossible: UInt64 = 0

    /// The number of commits whose place among those of our own writer is not known.
    static let unknownCommit = UInt64.max

    /// Somebody else has committed, or the schema was replaced: anything may have changed.
    static let anything = ChangeNews(changes: .all, lastPossible: unknownCommit)

    mutating func formUnion(_ other: ChangeNews) {
        changes.formUnion(other.changes)
        lastCertain = max(lastCertain, other.lastCertain)
        lastPossible = max(lastPossible, other.lastPossible)
    }
}

/// Which commits of our own writer the state that a reader sees contains.
///
/// ```
///  commits:   1 … contained   contained + 1 … possible   possible + 1 …
///  the state: has them        has them or not            does not have them
/// ```
///
/// SQLite does not tell a reader which commit it sees. What is counted before the reader begins, it sees; what begins
/// after it has begun, it does not see.
struct SeenCommits: Sendable, Equatable {
    /// The last commit that it certainly contains.
    var contained: UInt64
    /// The last commit that it may contain.
    var possible: UInt64

    /// What news mean for somebody who has read this state.
    func look(after news: ChangeNews) -> Look {
        if news.lastCertain > possible { return .hasChanged }
        return max(news.lastCertain, news.lastPossible) > contained ? .mayHaveChanged : .isCurrent
    }

    enum Look: Equatable {
        /// Nothing of interest was committed since.
        case isCurrent
        /// There may be another state, with another result or not.
        case mayHaveChanged
        /// Something of interest was committed since.
        case hasChanged
    }
}
