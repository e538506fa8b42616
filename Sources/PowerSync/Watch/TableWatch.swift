import NIOConcurrencyHelpers

/// Tells which of some views have changed, whenever somebody asks.
///
/// Changes are kept until they are asked for, so a slow consumer costs no memory and misses nothing.
final class TableWatch: Sendable {
    private let database: LocalDatabase
    private let views: [String]
    private let throttle: Throttle
    private let listener: ChangeListener
    private let mustBeginEmpty: NIOLockedValueBox<Bool>

    /// Begins to listen.
    init(_ database: LocalDatabase, views: Set<String>, throttle: Duration, triggerImmediately: Bool) {
        self.database = database
        self.views = views.sorted()
        mustBeginEmpty = NIOLockedValueBox(triggerImmediately)
        let throttle = Throttle(throttle, clock: database.clock)
        self.throttle = throttle
        listener = ChangeListener(onFinish: { throttle.end() })
        database.addListener(listener, interests: interests)
    }

    deinit {
        database.changes.remove(listener)
    }

    private var interests: [ChangeInterest] {
        views.map { .tables(database.tableNames(of: $0)) }
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
        // An unopened database hears nothing of what other processes commit.
        _ = try await database.writer()
        var signals = listener.signals.makeAsyncIterator()
        while await signals.next() != nil {
            try await throttle.wait()
            guard !database.isClosed else { return nil }
            // Before the changes are taken: what the old names miss is announced as a change of everything.
            database.changes.track(interests, for: listener)
            let changes = listener.takeNews().changes
            let changed = changes.mayBeAll ? views : changes.positions.map { views[$0] }
            if !changed.isEmpty { return Set(changed) }
        }
        try Task.checkCancellation()
        return nil
    }
}
