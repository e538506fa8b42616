public import Observation

/// The rows of a query, for views and the Observation framework.
///
/// ```swift
/// struct Todo: Codable, Identifiable, Equatable {
///     var id: String
///     var title: String
///     var done: Bool
/// }
///
/// let todos = ObservedQuery(database, sql: "SELECT * FROM todos WHERE list_id = ?", parameters: [list.id], as: Todo.self)
/// let open = ObservedQuery(database, sql: "SELECT count(*) FROM todos WHERE done = 0", as: Int.self)
/// // In a view: ForEach(todos.rows) { … }, and Text("\(open.row ?? 0)")
/// ```
///
/// The query runs from the first look at one of its properties on, until the object is released. It is read, and results are
/// compared, off the main thread; observers hear of a property when it is another one than before, and of nothing else. A row
/// that equals the one with its `id` before stays that very row: of rows that are classes, the object.
///
/// An error does not end it: the rows stay, ``error`` says what is wrong, and the query is tried again when anything is
/// committed or the schema is replaced.
@available(macOS 14.0, iOS 17.0, watchOS 10.0, tvOS 17.0, *)
@MainActor
@Observable
public final class ObservedQuery<Row: Sendable & Equatable> {
    private var shownRows: [Row] = []
    private var shownError: (any Error)?
    private var isCurrent = false
    private var isSynced = false

    @ObservationIgnored private var database: (any PowerSyncDatabaseProtocol)?
    @ObservationIgnored private var options: WatchOptions<Row>
    @ObservationIgnored private let requirement: SyncRequirement
    @ObservationIgnored private let merge: RowMerge<Row>
    /// Counts the queries, so that nothing of an earlier one is shown.
    @ObservationIgnored private var generation = 0
    @ObservationIgnored private var clearsRows = true
    @ObservationIgnored private var wasLookedAt = false
    @ObservationIgnored private var following: Task<Void, Never>?
    @ObservationIgnored private var followingSync: Task<Void, Never>?

    init(
        _ database: (any PowerSyncDatabaseProtocol)?,
        _ options: WatchOptions<Row>,
        _ requirement: SyncRequirement,
        _ merge: RowMerge<Row>
    ) {
        self.database = database
        self.options = options
        self.requirement = requirement
        self.merge = merge
        isSynced = database.map { requirement.isMet(by: $0.currentStatus) } ?? false
        if database == nil { shownError = PowerSyncError.noQueryDatabase }
    }

    deinit {
        following?.cancel()
        followingSync?.cancel()
    }

    // MARK: - What views look at

    /// The rows of the newest result; none until ``hasResult``.
    public var rows: [Row] {
        start()
        return shownRows
    }

    /// The first row: for a query that has one, such as a count.
    public var row: Row? { rows.first }

    /// Why there is no newer result; `nil` when there is one.
    ///
    /// A ``TypedRowError`` for a row that is not of the type. The rows are those of the last good result. After the database is
    /// closed, and before there is one, it says so.
    public var error: (any Error)? {
        start()
        return shownError
    }

    /// Whether ``rows`` are those of the query: with an empty result, too, and not before the first one.
    public var hasResult: Bool {
        start()
        return isCurrent
    }

    /// Whether what the query needs has been synced; see ``SyncRequirement``.
    ///
    /// Before that, an empty result may mean that there are no rows yet.
    public var hasSynced: Bool {
        startFollowingSync()
        return isSynced
    }

    // MARK: - What it follows

    /// Follows the query with other parameters, another query, or in another database.
    ///
    /// Does nothing if all of them are what they were, so that a view may call it each time. The result of the former query
    /// is never shown afterwards.
    ///
    /// - Parameters:
    ///   - sql: The query; `nil` for the same.
    ///   - parameters: Values for `?`; `nil` for the same.
    ///   - database: The database; `nil` for the same.
    ///   - rows: What is shown until the new result is there.
    public func follow(
        sql: String? = nil,
        parameters: [(any Sendable)?]? = nil,
        in database: (any PowerSyncDatabaseProtocol)? = nil,
        until rows: PreviousRows = .cleared
    ) {
        let isOtherDatabase = database.map(isOther) ?? false
        let isOtherQuery = sql != nil && sql != options.sql
        let areOtherParameters = parameters.map { QueryParameters($0) != QueryParameters(options.parameters) } ?? false
        guard isOtherDatabase || isOtherQuery || areOtherParameters else { return }
        if let sql { options.sql = sql }
        if let parameters { options.parameters = parameters }
        clearsRows = !rows.areKept
        if isOtherDatabase, let database { move(to: database) }
        restart()
    }

    /// Whether a database is not the one that is followed; of what is no object, the first one stays.
    private func isOther(_ database: any PowerSyncDatabaseProtocol) -> Bool {
        guard let former = self.database else { return true }
        return type(of: database) is AnyClass && former as AnyObject !== database as AnyObject
    }

    private func move(to database: any PowerSyncDatabaseProtocol) {
        self.database = database
        let wasFollowingSync = followingSync != nil
        followingSync?.cancel()
        followingSync = nil
        setSynced(requirement.isMet(by: database.currentStatus))
        if wasFollowingSync { startFollowingSync() }
    }

    /// What is shown after the parameters have changed, until there is a result.
    public struct PreviousRows: Sendable, Equatable {
        fileprivate let areKept: Bool

        /// No rows: those of another list would be wrong.
        public static var cleared: PreviousRows { PreviousRows(areKept: false) }
        /// The rows as they were, for a search while it is typed; ``ObservedQuery/hasResult`` is false meanwhile.
        public static var kept: PreviousRows { PreviousRows(areKept: true) }
    }

    // MARK: - Following

    private func start() {
        wasLookedAt = true
        guard following == nil, let database else { return }
        let follower = QueryFollower(database: database, options: options, merge: merge)
        let (generation, shown) = (generation, shownRows)
        // A property that returns at once has to leave a task behind; `deinit` and `restart()` cancel the task.
        following = Task { [weak self] in
            // Of queries that are replaced in a row, only the last one is run.
            guard !Task.isCancelled else { return }
            await follower.run(from: shown) { [weak self] news in
                await self?.show(news, of: generation)
            }
        }
    }

    private func restart() {
        generation += 1
        following?.cancel()
        following = nil
        reset()
        if wasLookedAt { start() }
    }

    /// What is shown before the first result.
    private func reset() {
        if isCurrent { isCurrent = false }
        if clearsRows, !shownRows.isEmpty { shownRows = [] }
        if shownError != nil { shownError = nil }
    }

    private func show(_ news: QueryFollower<Row>.News, of generation: Int) {
        guard generation == self.generation else { return }
        switch news {
        case .success(let rows):
            if let rows { shownRows = rows }
            if shownError != nil { shownError = nil }
            if !isCurrent { isCurrent = true }
        case .failure(let error):
            if shownError.map({ "\($0)" }) != "\(error)" { shownError = error }
        }
        // Observers are called before a property has its new value. One that has changed what is followed was overtaken by it.
        if generation != self.generation { reset() }
    }

    private func startFollowingSync() {
        guard followingSync == nil, let database else { return }
        let (flow, requirement) = (database.currentStatus.asFlow(), requirement)
        // As above.
        followingSync = Task { [weak self] in
            for await status in flow {
                guard let self, !Task.isCancelled else { return }
                self.setSynced(requirement.isMet(by: status))
            }
        }
    }

    private func setSynced(_ isSynced: Bool) {
        if self.isSynced != isSynced { self.isSynced = isSynced }
    }
}
