import GRDB
import NIOConcurrencyHelpers
import PowerSyncCore

/// The tables that each transaction of the writer changes, and the listeners that are told of them.
///
/// A transaction collects a set of tables: those of which GRDB reports a row, and those that the engine announces, whose rows
/// it writes where GRDB does not see them. The commit is told to each listener whose tables are in the set. What other writers
/// of the file commit is announced by ``announceAll()`` and ``announce(_:)``.
///
/// ```
///  a statement:        observes(kind)…  ── databaseDidChange(row)… ──┐
///  the engine:         willAnnounce(tables)                          ├──► will commit ──► did commit
///  notifyChanges(in:): observes(kind)…  ── databaseDidChange() ──────┘               └──► did roll back
/// ```
///
/// There is one observer for each database, and not one for each watch, because GRDB asks every observer about every
/// statement: what a statement costs does not grow with the number of listeners. The listeners that a table concerns are looked
/// up once, and a table that is in the set already is not looked at row by row.
///
/// GRDB promises that it asks for the kinds of changes before it reports changes of these kinds. It may ask for more kinds, more
/// often, in any order. `notifyChanges(in:)` reaches an observer as "something has changed": the engine names the tables before
/// it calls that, and for other callers any table may have changed.
final class ChangeTracker: TransactionObserver, AnnouncementObserver, Sendable {
    /// Local writes reach this table through a virtual table.
    static let uploadQueue = "ps_crud"
    /// The tables that are written behind the back of statements, and announced before the commit.
    private static let announcedTables: Set<String> = [uploadQueue, "ps_kv", "ps_tx"]
    /// The number of tables whose listeners are remembered between two transactions.
    private static let tableLimit = 10_000

    private let state = NIOLockedValueBox(State())

    // MARK: - Listeners

    /// Adds a listener.
    ///
    /// The listener is finished at once if the database is closed. If the database is open, call ``confirmListeners(_:)`` on the
    /// writer, soon.
    ///
    /// - Parameters:
    ///   - listener: The listener.
    ///   - interest: The changes that it is told; `nil` if that is not known yet: then it is told of everything.
    func add(_ listener: ChangeListener, interest: ChangeListener.Interest? = nil) {
        let isFinished = state.withLockedValue { state in
            if !state.isFinished { state.add(listener, interest) }
            return state.isFinished
        }
        if isFinished { listener.finish() }
    }

    /// Removes a listener.
    func remove(_ listener: ChangeListener) {
        // The last reference may go away outside the lock.
        _ = state.withLockedValue { $0.remove(listener) }
    }

    /// Sets what is of interest to a listener.
    ///
    /// A listener that had another interest before is told of everything once more: it may have missed something.
    func track(_ interest: ChangeListener.Interest, for listener: ChangeListener) {
        let mustLookAgain = state.withLockedValue { $0.track(interest, for: listener) }
        if mustLookAgain { listener.hear(.anything) }
    }

    /// Makes sure that listeners are told of deletions by statements that were prepared before they were added.
    ///
    /// SQLite deletes all rows of a table without naming them, if no observer was interested when the statement was prepared. GRDB
    /// prepares cached `DELETE` statements again whenever an observer is added. Until then each `DELETE` counts as a possible
    /// change.
    ///
    /// - Parameter db: The writer, outside a transaction.
    func confirmListeners(_ db: Database) {
        guard state.withLockedValue({ $0.isObserving }) else { return }
        db.remove(transactionObserver: self)
        db.add(transactionObserver: self, extent: .databaseLifetime)
        state.withLockedValue { $0.confirmListeners() }
    }

    /// The commits of our own writer that a reader sees which begins now, or has just begun.
    var seenCommits: SeenCommits {
        state.withLockedValue {
            SeenCommits(contained: $0.commits, possible: $0.isCommitting ? $0.commits + 1 : $0.commits)
        }
    }

    // MARK: - Announcements

    /// Anything may have changed: another connection has committed, or the schema was replaced.
    func announceAll() {
        for listener in state.withLockedValue({ $0.listeners }) { listener.hear(.anything) }
    }

    /// The database is open.
    func announceOpening() {
        for listener in state.withLockedValue({ $0.listeners }) where listener.hearsOfOpening {
            listener.hear(.anything)
        }
    }

    /// Another connection has written to tables, and committed.
    func announce(_ tables: Set<String>) {
        let told = state.withLockedValue { $0.news(ofOthers: tables) }
        told.forEach { listener, news in listener.hear(news) }
    }

    /// The database is closed: every listener is finished, and later ones at once.
    func finish() {
        let listeners = state.withLockedValue { state in
            defer {
                state.isFinished = true
                state.removeAll()
            }
            return state.listeners
        }
        listeners.forEach { $0.finish() }
    }

    // MARK: - The writer

    /// Observes the writer until ``stopObserving(_:)``.
    ///
    /// Call it when the database is opened, before its first write.
    func observe(_ db: Database) {
        state.withLockedValue { $0.isObserving = true }
        db.add(transactionObserver: self, extent: .databaseLifetime)
        Announcements.add(db, self)
    }

    /// Stops observing a writer that goes on without us.
    func stopObserving(_ db: Database) {
        state.withLockedValue { $0.isObserving = false }
        Announcements.remove(db, self)
        db.remove(transactionObserver: self)
    }

    func willAnnounce(_ tables: [String]?) {
        state.withLockedValue { state in
            state.isAnnouncing = true
            state.announce(tables)
        }
    }

    func didAnnounce() {
        state.withLockedValue { $0.isAnnouncing = false }
    }

    /// Whether our own writer has begun to commit, and GRDB has not told how that ended.
    var awaitsEndOfCommit: Bool { state.withLockedValue { $0.isCommitting } }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        state.withLockedValue { $0.observes(eventKind) }
    }

    func databaseDidChange() {
        state.withLockedValue { $0.announce(nil) }
    }

    func databaseDidChange(with event: DatabaseEvent) {
        state.withLockedValue { $0.didChange(event.kind, event.tableName) }
    }

    func databaseWillCommit() {
        state.withLockedValue { $0.isCommitting = true }
    }

    func databaseDidCommit(_ db: Database) {
        let told = state.withLockedValue { $0.commit() }
        told.forEach { listener, news in listener.hear(news) }
    }

    func databaseDidRollback(_ db: Database) {
        state.withLockedValue { $0.endTransaction() }
    }
}

extension ChangeTracker {
    private typealias Told = [(ChangeListener, ChangeListener.News)]

    /// A listener that was added.
    private struct Subscription {
        let listener: ChangeListener
        /// `nil` when it is not known yet; then everything is of interest.
        var interest: ChangeListener.Interest?
        /// Whether all deletions that are of interest are reported row by row; see ``ChangeTracker/confirmListeners(_:)``.
        var isConfirmed = false
    }

    /// What the open transaction does to one table that a statement names.
    private struct Writes {
        /// Whether a row was written, or the engine has said so.
        var isChanged = false
        /// Whether no listener needs to be told of its rows any more.
        var isNoted = false
        /// Whether a statement may have deleted rows.
        var mayDelete = false
    }

    /// Everything behind the lock.
    private struct State {
        private var subscriptions: [ObjectIdentifier: Subscription] = [:]
        /// The listeners that each table concerns, found when the table is first written to.
        private var concerned: [String: [ObjectIdentifier]] = [:]
        var isObserving = false
        var isFinished = false

        /// The number of commits so far.
        private(set) var commits: UInt64 = 0
        /// Whether a commit has begun, and nothing has said how it ended.
        var isCommitting = false
        /// Whether the engine calls `notifyChanges(in:)`, for tables that it has named.
        var isAnnouncing = false

        // The open transaction.
        private var writes: [String: Writes] = [:]
        /// Whether something was written to where GRDB cannot see it, to unknown tables.
        private var mayBeAnything = false
        /// Whether rows were appended to the upload queue.
        private var hasAppended = false
        /// The tables that statements named before a listener was interested in them: their rows were not reported.
        private var missed: [ObjectIdentifier: Set<String>] = [:]
        private var lastRow: (kind: DatabaseEvent.Kind, table: String)?
        /// The listeners with a table that has changed.
        private var told: Set<ObjectIdentifier> = []

        var listeners: [ChangeListener] { subscriptions.values.map(\.listener) }

        // MARK: Listeners

        mutating func add(_ listener: ChangeListener, _ interest: ChangeListener.Interest?) {
            let id = ObjectIdentifier(listener)
            subscriptions[id] = Subscription(listener: listener, interest: interest)
            noteMissed(id)
        }

        mutating func remove(_ listener: ChangeListener) -> ChangeListener? {
            let id = ObjectIdentifier(listener)
            missed[id] = nil
            concerned = [:]
            return subscriptions.removeValue(forKey: id)?.listener
        }

        mutating func removeAll() {
            subscriptions = [:]
            missed = [:]
            concerned = [:]
        }

        /// - Returns: Whether the listener had another interest before.
        mutating func track(_ interest: ChangeListener.Interest, for listener: ChangeListener) -> Bool {
            let id = ObjectIdentifier(listener)
            guard let known = subscriptions[id], known.interest != interest else { return false }
            subscriptions[id]?.interest = interest
            noteMissed(id)
            return known.interest != nil
        }

        mutating func confirmListeners() {
            for id in subscriptions.keys { subscriptions[id]?.isConfirmed = true }
        }

        private mutating func noteMissed(_ id: ObjectIdentifier) {
            if !writes.isEmpty { missed[id] = Set(writes.keys) }
            told.remove(id)
            concerned = [:]
        }

        private mutating func listeners(of table: String) -> [ObjectIdentifier] {
            if let known = concerned[table] { return known }
            let found = subscriptions.filter { $0.value.interest?.contains(table) ?? true }.map(\.key)
            concerned[table] = found
            return found
        }

        // MARK: The open transaction

        /// Whether the rows of a kind of change have to be reported.
        mutating func observes(_ kind: DatabaseEventKind) -> Bool {
            // The statement that committed is over.
            isCommitting = false
            guard !isAnnouncing else { return false }
            let table = kind.tableName
            if case .delete = kind {
                writes[table, default: Writes()].mayDelete = true
                // The answer decides about later executions of the statement as well.
                guard listeners(of: table).contains(where: { subscriptions[$0]?.interest != .appendedEntries }) else {
                    return false
                }
            } else {
                let known = writes[table] ?? Writes()
                let mayAppend =
                    if case .insert = kind { table == ChangeTracker.uploadQueue && !hasAppended } else { false }
                if known.isNoted && !mayAppend { return false }
                let isNoted = !listeners(of: table).contains { mayAppend || needsRows(of: table, $0) }
                writes[table] = Writes(isChanged: known.isChanged, isNoted: isNoted, mayDelete: known.mayDelete)
                if isNoted { return false }
            }
            lastRow = nil
            return true
        }

        /// Whether a listener of a table that has not changed is to be told its rows.
        ///
        /// A query that reads a view reads the tables behind it, and SQLite names both: when one of them has changed, the rows of
        /// others are of no use.
        private func needsRows(of table: String, _ id: ObjectIdentifier) -> Bool {
            switch subscriptions[id]?.interest {
            case nil, .region?: !told.contains(id)
            case .tables?: true
            case .appendedEntries?: false
            }
        }

        private mutating func markChanged(_ table: String) {
            guard writes[table]?.isChanged != true else { return }
            writes[table] = Writes(isChanged: true, isNoted: true, mayDelete: writes[table]?.mayDelete == true)
            told.formUnion(listeners(of: table))
        }

        mutating func didChange(_ kind: DatabaseEvent.Kind, _ table: String) {
            if let lastRow, lastRow.kind == kind, lastRow.table == table { return }
            lastRow = (kind, table)
            if kind == .insert, table == ChangeTracker.uploadQueue { hasAppended = true }
            if writes[table] == nil {
                guard !ChangeTracker.announcedTables.contains(table) else { return }
                // A virtual table writes to tables of its own, which no statement names, for example a full-text index.
                for other in writes.keys { markChanged(other) }
            }
            markChanged(table)
        }

        /// The engine has written to tables where GRDB cannot see it; `nil` when they may be any.
        mutating func announce(_ tables: [String]?) {
            guard let tables else {
                mayBeAnything = true
                hasAppended = true
                return
            }
            for table in tables {
                if table == ChangeTracker.uploadQueue { hasAppended = true }
                markChanged(table)
            }
        }

        mutating func commit() -> Told {
            commits += 1
            var news: [ObjectIdentifier: ChangeListener.News] = [:]
            let anything = ChangeListener.News(mayBeAny: true, lastPossible: commits)
            if mayBeAnything { for id in subscriptions.keys { news[id] = anything } }
            for (table, writes) in writes {
                for id in listeners(of: table) {
                    guard let subscription = subscriptions[id] else { continue }
                    let wasMissed = missed[id]?.contains(table) == true
                    let mayBeUnreported = wasMissed || writes.mayDelete && !subscription.isConfirmed
                    switch subscription.interest {
                    case nil where writes.isChanged || wasMissed:
                        news[id, default: ChangeListener.News()].formUnion(anything)
                    case .appendedEntries? where !hasAppended && !wasMissed:
                        break
                    case let interest? where writes.isChanged || mayBeUnreported || interest.isVirtual(table):
                        news[id, default: ChangeListener.News()].formUnion(
                            ChangeListener.News(
                                tables: [table.lowercased()],
                                lastCertain: writes.isChanged ? commits : 0,
                                lastPossible: writes.isChanged ? 0 : commits
                            )
                        )
                    default:
                        break
                    }
                }
            }
            endTransaction()
            return news.compactMap { id, news in subscriptions[id].map { ($0.listener, news) } }
        }

        mutating func endTransaction() {
            isCommitting = false
            mayBeAnything = false
            hasAppended = false
            lastRow = nil
            if !writes.isEmpty { writes.removeAll(keepingCapacity: true) }
            if !missed.isEmpty { missed = [:] }
            if !told.isEmpty { told.removeAll(keepingCapacity: true) }
            if concerned.count > ChangeTracker.tableLimit { concerned = [:] }
        }

        // MARK: Outside of transactions

        /// What listeners have to be told when another connection has written to tables.
        func news(ofOthers tables: Set<String>) -> Told {
            subscriptions.values.compactMap { subscription in
                guard let interest = subscription.interest else { return (subscription.listener, .anything) }
                let changed = tables.filter(interest.contains)
                guard !changed.isEmpty else { return nil }
                let news = ChangeListener.News(
                    tables: Set(changed.map { $0.lowercased() }),
                    lastPossible: ChangeListener.News.unknownCommit
                )
                return (subscription.listener, news)
            }
        }
    }
}

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
    fileprivate func hear(_ news: News) {
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
