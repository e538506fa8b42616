/// The commits of our own writer that a state of the database contains, by their numbers.
///
/// ```
///  commits:   1 … contained   contained + 1 … possible   possible + 1 …
///  the state: has them        has them or not            does not have them
/// ```
///
/// SQLite does not tell a reader which commit it sees. A reader sees what was counted before it began, and does not see what
/// began to commit after that.
struct SeenCommits: Sendable, Equatable {
    /// The last commit that the state certainly contains.
    var contained: UInt64
    /// The last commit that the state may contain.
    var possible: UInt64

    /// What news mean for a caller that has read this state.
    func look(after news: ChangeListener.News) -> Look {
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
