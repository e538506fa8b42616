/// Follows a query for an observed query, off the main thread.
///
/// A watch ends with an error. It is not known then which tables would heal it, so the next commit of anything does, a new
/// schema, or the opening of the database by another caller:
///
/// ```
///            result                     error                        error
///  watching ───────► watching    watching ─────► listening, watching ─────► waits for anything ──► watching
/// ```
///
/// The second attempt is made at once, since something may have been committed before the listener was there.
struct QueryFollower<Row: Sendable & Equatable>: Sendable {
    let database: any PowerSyncDatabaseProtocol
    let options: WatchOptions<Row>
    let merge: RowMerge<Row>

    /// A result, `nil` if it equals the one that is shown, or why there is none.
    typealias News = Result<[Row]?, any Error>

    /// Follows the query until the task is cancelled or the database is closed.
    ///
    /// - Parameters:
    ///   - rows: What is shown.
    ///   - tell: Called with all that happens, one after the other.
    func run(from rows: [Row], _ tell: @Sendable (News) async -> Void) async {
        var shown = rows
        var recovery: Recovery?
        while !Task.isCancelled {
            do {
                for try await rows in try database.watch(options: options) {
                    recovery = nil
                    let merged = merge(shown, rows)
                    if let merged { shown = merged }
                    await tell(.success(merged))
                }
                return await tellEnd(tell)
            } catch {
                guard !Task.isCancelled else { return }
                await tell(.failure(error))
                // What is committed to a database that is not ours is not told.
                guard let own = SyncedDatabase.behind(database) else { return }
                if let recovery {
                    guard await recovery.wait(throttle: options.throttle) else { return await tellEnd(tell) }
                } else {
                    recovery = Recovery(own.local)
                }
            }
        }
    }

    private func tellEnd(_ tell: @Sendable (News) async -> Void) async {
        guard !Task.isCancelled, let own = SyncedDatabase.behind(database), own.local.isClosed else { return }
        await tell(.failure(PowerSyncError.databaseIsClosed))
    }
}

/// Hears of all commits and schemas, and of the opening of the database, as long as it lives.
private final class Recovery: Sendable {
    private let database: LocalDatabase
    private let listener = ChangeListener(hearsOfOpening: true)

    init(_ database: LocalDatabase) {
        self.database = database
        database.addListener(listener)
    }

    deinit {
        database.changes.remove(listener)
    }

    /// Waits for a commit, and for what else follows it soon.
    ///
    /// - Returns: `false` when the database is closed or the task cancelled.
    func wait(throttle: Double) async -> Bool {
        var signals = listener.signals.makeAsyncIterator()
        guard await signals.next() != nil else { return false }
        _ = listener.takeNews()
        do { try await database.clock.sleep(for: Duration(clampingSeconds: throttle)) } catch { return false }
        return true
    }
}
