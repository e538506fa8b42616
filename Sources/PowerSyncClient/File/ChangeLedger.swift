import GRDB

/// Which listeners have to hear of the open transaction: the state behind ``ChangeHub``, as a value.
///
/// Every statement of the writer comes by here, so what a statement costs must not grow with the number of listeners:
/// the listeners that a kind of change is of interest to are looked up once and remembered. A statement of a kind that
/// has been noted for all of them is let pass without being looked at row by row.
///
/// ```
///  a statement:        observes(kind)…   ── didChange(row)…  ──┐
///  the engine:         announce(tables)                        ├──► willCommit() ──► commit()
///  notifyChanges(in:): observes(kind)…   ── announceAnything()─┘                └──► rollBack()
/// ```
///
/// This needs of GRDB what its documentation promises: that it asks for the kinds of changes before it reports changes of
/// these kinds. It may ask for more kinds, more often, in any order: to be asked adds to what is possible, and changes
/// nothing else.
///
/// What is only possible is told as such, see ``ChangeNews``.
struct ChangeLedger {
    /// Local writes reach this table through a virtual table.
    static let uploadQueue = "ps_crud"
    /// The tables that are written behind the back of statements, and announced before the commit.
    private static let announcedTables: Set<String> = [uploadQueue, "ps_kv", "ps_tx"]
    /// So many kinds are remembered before they are forgotten between two transactions.
    private static let kindLimit = 10_000

    /// What a commit means for others.
    struct Commit {
        /// The listeners with something of interest in it.
        var news: [(ChangeListener, ChangeNews)] = []
        /// Whether it may have appended to the upload queue.
        var appendedToUploadQueue = false
    }

    private struct Entry {
        let listener: ChangeListener
        /// `nil` when they are not known yet; then everything is of interest.
        var interests: [ChangeInterest]?
        /// Whether all deletions that are of interest are reported row by row; see ``confirmListeners()``.
        var isConfirmed = false
    }

    /// A listener, and the position of what is of interest to it; `nil` if that is unknown.
    private struct Target: Equatable {
        let id: ObjectIdentifier
        let position: Int?
        /// Whether rows of such a change may not be reported: a full-text index writes them when the transaction ends.
        var isUnreported = false
    }

    private struct KnownKind {
        /// Whom it concerns; `nil` until somebody asks.
        var targets: [Target]?
        /// The last transaction in which it may have happened.
        var transaction: UInt64 = 0
    }

    private var entries: [ObjectIdentifier: Entry] = [:]
    private var unconfirmedCount = 0
    private var kinds: [ChangeKind: KnownKind] = [:]
    private var commits: UInt64 = 0
    /// Whether a commit has begun, and nothing has said how it ended.
    private(set) var isCommitting = false

    // The open transaction.
    private var transaction: UInt64 = 1
    /// What it has changed, by listener.
    private var changes: [ObjectIdentifier: InterestingChanges] = [:]
    /// What it may have changed besides.
    private var possible: [ObjectIdentifier: InterestingChanges] = [:]
    private var mayBeAnything = false
    private var hasAppended = false
    /// What is looked at row by row.
    private var reported: Set<ChangeKind> = []
    private var lastRow: (operation: ChangeKind.Operation, table: String)?

    /// Every listener.
    var listeners: [ChangeListener] { entries.values.map(\.listener) }

    /// The commits that a reader sees which begins now, or has just begun.
    var seenCommits: SeenCommits {
        SeenCommits(contained: commits, possible: isCommitting ? commits + 1 : commits)
    }

    // MARK: - Listeners

    /// Adds a listener.
    mutating func add(_ listener: ChangeListener, _ interests: [ChangeInterest]?) {
        let id = ObjectIdentifier(listener)
        entries[id] = Entry(listener: listener, interests: interests)
        unconfirmedCount += 1
        notePossible(id)
        forgetTargets()
    }

    /// Removes a listener.
    mutating func remove(_ listener: ChangeListener) {
        let id = ObjectIdentifier(listener)
        if entries.removeValue(forKey: id)?.isConfirmed == false { unconfirmedCount -= 1 }
        changes[id] = nil
        possible[id] = nil
        forgetTargets()
    }

    /// Removes all listeners.
    mutating func removeAll() {
        entries = [:]
        unconfirmedCount = 0
        changes = [:]
        possible = [:]
        forgetTargets()
    }

    /// Sets what is of interest to a listener.
    ///
    /// - Returns: Whether the listener may have missed something and has to look again: that is so when it had other
    ///   interests before.
    mutating func track(_ interests: [ChangeInterest], for listener: ChangeListener) -> Bool {
        let id = ObjectIdentifier(listener)
        guard let known = entries[id], known.interests != interests else { return false }
        entries[id]?.interests = interests
        changes[id] = nil
        possible[id] = nil
        notePossible(id)
        forgetTargets()
        return known.interests != nil
    }

    /// From now on the writer executes no `DELETE` that was prepared before a listener was added.
    ///
    /// SQLite deletes all rows of a table without naming them, if nobody was interested when the statement was prepared.
    /// So until now each `DELETE` counts as a possible change.
    mutating func confirmListeners() {
        guard unconfirmedCount > 0 else { return }
        unconfirmedCount = 0
        for id in entries.keys { entries[id]?.isConfirmed = true }
    }

    /// The open transaction may have changed what a listener is interested in from now on.
    private mutating func notePossible(_ id: ObjectIdentifier) {
        guard let entry = entries[id] else { return }
        let executed = kinds.filter { $0.value.transaction == transaction }.map(\.key.event)
        var missed = InterestingChanges()
        if let interests = entry.interests, !mayBeAnything {
            for kind in executed {
                for (position, interest) in interests.enumerated() where interest.isAffected(by: kind) {
                    missed.positions.insert(position)
                }
            }
        } else {
            missed.mayBeAll = mayBeAnything || !executed.isEmpty
        }
        if !missed.isEmpty { possible[id] = missed }
    }

    private mutating func forgetTargets() {
        for index in kinds.values.indices { kinds.values[index].targets = nil }
    }

    // MARK: - Statements

    /// Whether changes of a kind are of interest to anybody who would not hear of this transaction yet.
    mutating func observes(_ event: DatabaseEventKind) -> Bool {
        // The statement that committed is over.
        isCommitting = false
        let kind = ChangeKind(event)
        let targets = targets(of: kind)
        if kind.operation == .delete, unconfirmedCount > 0 {
            for target in targets where entries[target.id]?.isConfirmed == false {
                possible[target.id, default: InterestingChanges()].insert(target.position)
            }
        }
        for target in targets where target.isUnreported {
            possible[target.id, default: InterestingChanges()].insert(target.position)
        }
        // The answer for a deletion decides about later executions of the statement as well.
        let isObserved = kind.operation == .delete ? !targets.isEmpty : targets.contains { !isNoted($0) }
        guard isObserved || (kind.appendsToUploadQueue && !hasAppended) else { return false }
        reported.insert(kind)
        lastRow = nil
        return true
    }

    /// A row has changed.
    mutating func didChange(_ operation: ChangeKind.Operation, table: String) {
        if let lastRow, lastRow.operation == operation, lastRow.table == table { return }
        lastRow = (operation, table)
        if operation == .insert, table == ChangeLedger.uploadQueue { hasAppended = true }
        // The columns of an update are not told. They are those of the updates of this table in this transaction.
        let kinds = reported.filter { $0.operation == operation && $0.table == table }
        if !kinds.isEmpty {
            kinds.forEach { note($0) }
        } else if !ChangeLedger.announcedTables.contains(table) {
            // A virtual table writes to tables of its own, for example a full-text index.
            reported.forEach { note($0) }
        }
    }

    /// The engine has written to tables where GRDB cannot see it.
    mutating func announce(_ tables: some Sequence<String>) {
        for table in tables {
            if table == ChangeLedger.uploadQueue { hasAppended = true }
            note(ChangeKind(ofAll: table))
        }
    }

    /// Something was written to where GRDB cannot see it.
    mutating func announceAnything() {
        mayBeAnything = true
        hasAppended = true
        for id in entries.keys { possible[id] = .all }
    }

    /// The transaction is about to be committed: readers will see it any time now.
    mutating func willCommit() {
        isCommitting = true
    }

    /// The transaction was committed.
    mutating func commit() -> Commit {
        commits += 1
        var commit = Commit(appendedToUploadQueue: hasAppended)
        for id in Set(changes.keys).union(possible.keys) {
            guard let listener = entries[id]?.listener else { continue }
            var news = ChangeNews()
            if let changes = changes[id] {
                news.formUnion(ChangeNews(changes: changes, lastCertain: commits))
            }
            if let possible = possible[id] {
                news.formUnion(ChangeNews(changes: possible, lastPossible: commits))
            }
            commit.news.append((listener, news))
        }
        endTransaction()
        return commit
    }

    /// The transaction was rolled back.
    mutating func rollBack() {
        endTransaction()
    }

    private mutating func endTransaction() {
        transaction += 1
        isCommitting = false
        mayBeAnything = false
        hasAppended = false
        if !changes.isEmpty { changes = [:] }
        if !possible.isEmpty { possible = [:] }
        if !reported.isEmpty { reported = [] }
        if kinds.count > ChangeLedger.kindLimit { kinds = [:] }
        lastRow = nil
    }

    // MARK: - Outside of transactions

    /// What listeners have to hear when another connection has written to tables.
    func news(ofOthers tables: Set<String>) -> [(ChangeListener, ChangeNews)] {
        let kinds = tables.map { ChangeKind(ofAll: $0).event }
        return entries.values.compactMap { entry in
            guard let interests = entry.interests else { return (entry.listener, .anything) }
            var news = ChangeNews(lastPossible: ChangeNews.unknownCommit)
            for (position, interest) in interests.enumerated() where kinds.contains(where: interest.isAffected) {
                news.changes.positions.insert(position)
            }
            return news.changes.isEmpty ? nil : (entry.listener, news)
        }
    }

    // MARK: - Targets

    /// Whom a kind concerns, which may happen in the open transaction.
    private mutating func targets(of kind: ChangeKind) -> [Target] {
        if let index = kinds.index(forKey: kind) {
            kinds.values[index].transaction = transaction
            if let known = kinds.values[index].targets { return known }
        }
        let event = kind.event
        var found: [Target] = []
        for (id, entry) in entries {
            guard let interests = entry.interests else {
                found.append(Target(id: id, position: nil))
                continue
            }
            for (position, interest) in interests.enumerated() where interest.isAffected(by: event) {
                found.append(Target(id: id, position: position, isUnreported: interest.isOfVirtualTable(event)))
            }
        }
        kinds[kind] = KnownKind(targets: found, transaction: transaction)
        return found
    }

    private func isNoted(_ target: Target) -> Bool {
        guard let position = target.position else { return possible[target.id]?.mayBeAll == true }
        return changes[target.id]?.positions.contains(position) == true
    }

    private mutating func note(_ kind: ChangeKind) {
        for target in targets(of: kind) {
            if let position = target.position {
                changes[target.id, default: InterestingChanges()].positions.insert(position)
            } else {
                possible[target.id] = .all
            }
        }
    }
}
