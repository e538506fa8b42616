import GRDB

/// Which listeners have to hear of the open transaction: the state behind ``ChangeHub``, as a value.
///
/// Every statement of the writer comes by here, so what a statement costs must not grow with the number of listeners:
/// the listeners that a kind of change is of interest to are looked up once and remembered. A statement of a kind that
/// has been noted for all of them is let pass without being looked at row by row.
///
/// ```
///  a statement:        willExecute(kind)…  mustReport(kind)…  ── didChange(row)… ──► commit() or rollBack()
///  an announcement:    willExecute(kind)…  mustReport(kind)   ── didAnnounce()   ──► commit() or rollBack()
/// ```
///
/// GRDB does not say of which kinds an announcement (`notifyChanges(in:)`) was, and asks for kinds only until one must
/// be reported. That is why the kinds come twice: see ``CommitObserver``.
struct ChangeLedger {
    /// Local writes reach this table through a virtual table.
    static let uploadQueue = "ps_crud"
    /// The tables that are written behind the back of statements, and announced before the commit.
    private static let announcedTables: Set<String> = [uploadQueue, "ps_kv", "ps_tx"]

    /// What a commit means for others.
    struct Commit {
        /// The listeners with something of interest in it.
        var news: [(ChangeListener, InterestingChanges)] = []
        /// Whether it may have appended to the upload queue.
        var appendedToUploadQueue = false
    }

    private struct Entry {
        let listener: ChangeListener
        /// `nil` when they are not known yet; then everything is of interest.
        var interests: [ChangeInterest]?
        /// The number of commits when the listener was added, until ``confirmListeners()``.
        var commitsBefore: Int?
    }

    /// A listener, and the position of what is of interest to it; `nil` if that is unknown.
    private struct Target: Equatable {
        let id: ObjectIdentifier
        let position: Int?
    }

    private var entries: [ObjectIdentifier: Entry] = [:]
    private var targets: [ChangeKind: [Target]] = [:]
    private var commits = 0

    // The open transaction.
    private var isTransactionOpen = false
    /// What it has changed, by listener.
    private var changes: [ObjectIdentifier: InterestingChanges] = [:]
    private var hasAppended = false
    /// What is looked at row by row.
    private var reported: Set<ChangeKind> = []
    private var lastRow: (operation: ChangeKind.Operation, table: String)?

    // The statement that is about to be executed, or what is announced.
    private var kinds: [DatabaseEventKind] = []
    private var hasAllKinds = false

    /// Every listener.
    var listeners: [ChangeListener] { entries.values.map(\.listener) }

    // MARK: - Listeners

    /// Adds a listener.
    ///
    /// A transaction that is open right now may have made interesting changes unnoticed. Its commit counts in any case.
    mutating func add(_ listener: ChangeListener, _ interests: [ChangeInterest]?) {
        let id = ObjectIdentifier(listener)
        entries[id] = Entry(listener: listener, interests: interests, commitsBefore: commits)
        if isTransactionOpen { changes[id] = .all }
        targets = [:]
    }

    /// Removes a listener.
    mutating func remove(_ listener: ChangeListener) {
        entries[ObjectIdentifier(listener)] = nil
        changes[ObjectIdentifier(listener)] = nil
        targets = [:]
    }

    /// Removes all listeners.
    mutating func removeAll() {
        entries = [:]
        changes = [:]
        targets = [:]
    }

    /// Sets what is of interest to a listener.
    ///
    /// - Returns: Whether the listener may have missed something and has to look again: that is so when it had other
    ///   interests before.
    mutating func track(_ interests: [ChangeInterest], for listener: ChangeListener) -> Bool {
        let id = ObjectIdentifier(listener)
        guard let known = entries[id], known.interests != interests else { return false }
        entries[id]?.interests = interests
        targets = [:]
        guard known.interests != nil else { return false }
        if isTransactionOpen { changes[id] = .all }
        return true
    }

    /// From now on the writer executes no `DELETE` that was prepared before a listener was added.
    ///
    /// SQLite deletes all rows of a table without naming them, if nobody was interested when the statement was prepared.
    ///
    /// - Returns: The listeners that have to look again: something was committed since they were added.
    mutating func confirmListeners() -> [ChangeListener] {
        var late: [ChangeListener] = []
        for (id, entry) in entries {
            guard let commitsBefore = entry.commitsBefore else { continue }
            entries[id]?.commitsBefore = nil
            if commitsBefore != commits { late.append(entry.listener) }
        }
        return late
    }

    // MARK: - Statements

    /// A statement is about to be executed, or something is announced, with all of these kinds, one per call.
    mutating func willExecute(_ kind: DatabaseEventKind) {
        if hasAllKinds {
            kinds.removeAll(keepingCapacity: true)
            hasAllKinds = false
        }
        kinds.append(kind)
    }

    /// Whether changes of a kind are of interest to anybody who would not hear of this transaction yet.
    mutating func mustReport(_ kind: DatabaseEventKind) -> Bool {
        isTransactionOpen = true
        hasAllKinds = true
        let kind = ChangeKind(kind)
        let targets = entries.isEmpty ? [] : targets(of: kind)
        // The answer for a deletion decides about later executions of the statement as well.
        let mustReport = kind.operation == .delete ? !targets.isEmpty : targets.contains { !isNoted($0) }
        guard mustReport || (kind.appendsToUploadQueue && !hasAppended) else { return false }
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
            note(kinds)
        } else if !ChangeLedger.announcedTables.contains(table) {
            // A virtual table writes to tables of its own, for example a full-text index.
            note(reported)
        }
    }

    /// The kinds of ``willExecute(_:)`` are changes that have happened.
    mutating func didAnnounce() {
        let kinds = Set(kinds.map(ChangeKind.init))
        if kinds.contains(where: \.appendsToUploadQueue) { hasAppended = true }
        note(kinds)
    }

    /// The transaction was committed.
    mutating func commit() -> Commit {
        var commit = Commit(appendedToUploadQueue: hasAppended)
        for (id, changes) in changes {
            if let listener = entries[id]?.listener { commit.news.append((listener, changes)) }
        }
        commits += 1
        endTransaction()
        return commit
    }

    /// The transaction was rolled back.
    mutating func rollBack() {
        endTransaction()
    }

    private mutating func endTransaction() {
        isTransactionOpen = false
        hasAppended = false
        if !changes.isEmpty { changes = [:] }
        if !reported.isEmpty { reported = [] }
        lastRow = nil
    }

    // MARK: - Targets

    private mutating func targets(of kind: ChangeKind) -> [Target] {
        if let known = targets[kind] { return known }
        let event = kind.event
        var found: [Target] = []
        for (id, entry) in entries {
            guard let interests = entry.interests else {
                found.append(Target(id: id, position: nil))
                continue
            }
            for (position, interest) in interests.enumerated() where interest.isAffected(by: event) {
                found.append(Target(id: id, position: position))
            }
        }
        targets[kind] = found
        return found
    }

    private func isNoted(_ target: Target) -> Bool {
        guard let changes = changes[target.id] else { return false }
        return changes.mayBeAll || target.position.map(changes.positions.contains) == true
    }

    private mutating func note(_ kinds: Set<ChangeKind>) {
        for kind in kinds {
            for target in targets(of: kind) {
                if let position = target.position {
                    changes[target.id, default: InterestingChanges()].positions.insert(position)
                } else {
                    changes[target.id] = .all
                }
            }
        }
    }
}

/// A kind of change: GRDB's `DatabaseEventKind` as the key of a dictionary.
struct ChangeKind: Hashable {
    enum Operation: Hashable {
        case insert, update, delete
    }

    let operation: Operation
    let table: String
    /// The columns of an update.
    let columns: Set<String>

    init(_ kind: DatabaseEventKind) {
        table = kind.tableName
        switch kind {
        case .insert: (operation, columns) = (.insert, [])
        case .delete: (operation, columns) = (.delete, [])
        case .update(_, let names): (operation, columns) = (.update, names)
        }
    }

    var event: DatabaseEventKind {
        switch operation {
        case .insert: .insert(tableName: table)
        case .delete: .delete(tableName: table)
        case .update: .update(tableName: table, columnNames: columns)
        }
    }

    var appendsToUploadQueue: Bool { operation == .insert && table == ChangeLedger.uploadQueue }
}
