import GRDB
import NIOConcurrencyHelpers

/// Tells one watch that something of interest to it has been committed.
///
/// A ``ChangeTracker`` knows what is of interest. News are kept until they are taken, however slow the watch is.
final class ChangeListener: Sendable {
    /// The changes that a listener asks for.
    ///
    /// Names of tables are in lower case. `virtualTables` are those among what is read, with their shadow tables: see
    /// ``VirtualTables``.
    enum Interest: Sendable, Equatable {
        /// The tables that a query reads. Views need no treatment of their own: a region names the tables behind them, and
        /// their triggers write to those.
        case region(DatabaseRegion, virtualTables: Set<String> = [])
        /// Tables by their names in SQLite.
        case tables(Set<String>, virtualTables: Set<String> = [])
        /// Rows that are appended to the upload queue, and nothing else that is done to it.
        case appendedEntries

        /// Whether changes of a table are of interest.
        func contains(_ table: String) -> Bool {
            switch self {
            case .region(let region, let virtualTables):
                // A region contains the deletions from each of its tables, whichever columns it has.
                region.isModified(byEventsOfKind: .delete(tableName: table))
                    || !virtualTables.isEmpty && virtualTables.contains(table.lowercased())
            case .tables(let names, let virtualTables):
                names.contains(table.lowercased()) || virtualTables.contains(table.lowercased())
            case .appendedEntries:
                table == ChangeTracker.uploadQueue
            }
        }

        /// Whether a table is a virtual one of these, whose rows SQLite may report late or never.
        func isVirtual(_ table: String) -> Bool {
            switch self {
            case .region(_, let names), .tables(_, let names): !names.isEmpty && names.contains(table.lowercased())
            case .appendedEntries: false
            }
        }
    }

    /// What a listener was told, added up since it was last asked.
    struct News: Sendable, Equatable {
        /// The tables of interest that have changed, or may have, in lower case; of a query one of them is enough.
        var tables: Set<String> = []
        /// Whether any table may have changed.
        var mayBeAny = false
        /// The last commit that has certainly changed one of the tables; 0 if there is none.
        var lastCertain: UInt64 = 0
        /// The last commit that may have changed one of them; 0 if there is none.
        var lastPossible: UInt64 = 0

        /// The number of commits whose place among those of our own writer is not known.
        static let unknownCommit = UInt64.max

        /// Another connection has committed, or the schema was replaced.
        static let anything = News(mayBeAny: true, lastPossible: unknownCommit)

        var isEmpty: Bool { !mayBeAny && tables.isEmpty }

        mutating func formUnion(_ other: News) {
            tables.formUnion(other.tables)
            mayBeAny = mayBeAny || other.mayBeAny
            lastCertain = max(lastCertain, other.lastCertain)
            lastPossible = max(lastPossible, other.lastPossible)
        }
    }

    private let news = NIOLockedValueBox(News())
    private let signal: AsyncStream<Void>.Continuation
    private let onNews: @Sendable () -> Void
    private let onFinish: @Sendable () -> Void

    /// "Look again": one element after any number of commits, for one task.
    ///
    /// Finishes when the database is closed.
    let signals: AsyncStream<Void>

    /// Whether the listener is also told of the opening of the database, which changes nothing.
    let hearsOfOpening: Bool

    /// Creates a listener without news.
    ///
    /// - Parameters:
    ///   - hearsOfOpening: Whether the listener is also told of the opening of the database.
    ///   - onFinish: Called when the database is closed.
    ///   - onNews: Called with each signal, on the thread that commits.
    init(
        hearsOfOpening: Bool = false,
        onFinish: @escaping @Sendable () -> Void = {},
        onNews: @escaping @Sendable () -> Void = {}
    ) {
        self.hearsOfOpening = hearsOfOpening
        self.onNews = onNews
        self.onFinish = onFinish
        (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Keeps news and sends a signal.
    func hear(_ news: News) {
        self.news.withLockedValue { $0.formUnion(news) }
        signal.yield()
        onNews()
    }

    /// The news since the last call.
    func takeNews() -> News {
        news.withLockedValue { news in
            defer { news = News() }
            return news
        }
    }

    /// Ends ``signals``.
    func finish() {
        signal.finish()
        onFinish()
    }
}

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
