import NIOConcurrencyHelpers

/// Tells which of some views have changed since the caller last asked.
///
/// Changes are kept until they are asked for, so a slow consumer costs no memory and misses nothing.
final class TableWatch: Sendable {
    private let database: LocalDatabase
    private let views: [String]
    private let throttle: Throttle
    private let listener: ChangeListener
    private let mustBeginEmpty: NIOLockedValueBox<Bool>
    /// The virtual tables of the schema when it was read; `nil` before.
    private let virtualTables = NIOLockedValueBox<VirtualTables??>(nil)

    /// Begins to listen.
    init(_ database: LocalDatabase, views: Set<String>, throttle: Duration, triggerImmediately: Bool) {
        self.database = database
        self.views = views.sorted()
        mustBeginEmpty = NIOLockedValueBox(triggerImmediately)
        let throttle = Throttle(throttle, clock: database.clock)
        self.throttle = throttle
        listener = ChangeListener(onFinish: { throttle.end() })
        database.addListener(listener, interest: interest)
    }

    deinit {
        database.changes.remove(listener)
    }

    /// The tables of all views.
    private var interest: ChangeListener.Interest {
        let names = views.reduce(into: Set()) { $0.formUnion(database.tableNames(of: $1)) }
        return .tables(names, virtualTables: virtualNames(among: names))
    }

    private func virtualNames(among names: Set<String>) -> Set<String> {
        virtualTables.withLockedValue { $0 ?? nil }?.names(among: names) ?? []
    }

    /// The views that some tables belong to.
    private func views(of tables: Set<String>) -> [String] {
        views.filter { view in
            let names = database.tableNames(of: view)
            return !tables.isDisjoint(with: names.union(virtualNames(among: names)))
        }
    }

    /// Reads which tables are virtual, and listens to those; does nothing when the database has been closed.
    private func readVirtualTables() async throws {
        do {
            let found = try await database.read { try VirtualTables($0) }
            virtualTables.withLockedValue { $0 = .some(found) }
            database.changes.track(interest, for: listener)
        } catch {
            guard database.isClosed else { throw error }
        }
    }

    /// Waits for the next change, and for the throttle after it.
    ///
    /// - Returns: The views that have changed since the last call; `nil` when the database is closed.
    /// - Throws: `CancellationError`, or an error when the database cannot be opened.
    func next() async throws -> Set<String>? {
        let isBeginning = mustBeginEmpty.withLockedValue { mustBeginEmpty in
            defer { mustBeginEmpty = false }
            return mustBeginEmpty
        }
        if isBeginning { return database.isClosed ? nil : [] }
        guard !database.isClosed else { return nil }
        // This opens the database, too: unopened, it hears nothing of what other processes commit.
        if virtualTables.withLockedValue({ $0 == nil }) { try await readVirtualTables() }
        var signals = listener.signals.makeAsyncIterator()
        while await signals.next() != nil {
            try await throttle.wait()
            guard !database.isClosed else { return nil }
            // Before the changes are taken: what the old names miss is announced as a change of everything.
            database.changes.track(interest, for: listener)
            let news = listener.takeNews()
            // The schema may have another virtual table.
            if news.mayBeAny { try await readVirtualTables() }
            let changed = news.mayBeAny ? views : views(of: news.tables)
            if !changed.isEmpty { return Set(changed) }
        }
        try Task.checkCancellation()
        return nil
    }
}
