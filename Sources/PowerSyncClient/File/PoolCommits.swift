import GRDB
import NIOConcurrencyHelpers

/// Tells commits of others to the file of an app's pool from those of the pool and from our own.
///
/// The pool names the tables that it has written. Of others nothing is known, so every observer has to look again; that must not
/// happen after each write of the app. When the pool has committed and named nothing until the look after next, as after a
/// change of the schema, it counts as another one.
///
/// Two connections write, and never at the same time: the pool's writer, and ours while we hold the pool's writer.
/// `PRAGMA data_version` changes on a connection when another one has committed. So the one that is not writing is asked:
///
/// ```
///  the app's turn             our turn                          the app's turn
///  ────────────────────┬──────────────────────────────────┬──────────────────────
///      the pool's writer  our connection         our connection
///      is asked        │  is asked               is asked │  the pool's writer is asked …
/// ```
///
/// At the ends of a turn each connection is asked for the turn that begins before it is asked for the one that has ended:
/// what is committed in between counts twice, and is never missed.
final class PoolCommits: Sendable {
    private struct State {
        /// What the pool's writer told at the end of our last turn.
        var poolVersion: Int64?
        /// Whether there was one.
        var hasHadTurn = false
        /// Whether others have committed since this was asked last.
        var hasNews = false
        var names = Names.unknown
    }

    /// Whether the pool has named the tables of its last commit.
    private enum Names {
        /// No commit is known that they could belong to.
        case unknown
        /// They came before the commit was seen.
        case told
        /// The commit was seen before they came.
        case awaited
    }

    private let pool: any SQLiteConnectionPoolProtocol
    private let state = NIOLockedValueBox(State())

    /// Creates an observer of a pool.
    init(_ pool: any SQLiteConnectionPoolProtocol) {
        self.pool = pool
    }

    /// Runs `body` alone on our writing connection, while the pool's writer is not in use.
    ///
    /// - Throws: What `body` throws, and `CancellationError` when the task is cancelled while it waits.
    func write<T>(
        to writer: any DatabaseWriter,
        _ body: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        try await pool.writeUnlessCancelled { lease in
            Transfer(
                try writer.writeWithoutTransaction { db in
                    let version = PoolCommits.version(db)
                    self.beginTurn(poolVersion: PoolCommits.version(lease))
                    defer {
                        let poolVersion = PoolCommits.version(lease)
                        self.endTurn(
                            poolVersion: poolVersion,
                            isUndisturbed: version != nil && version == PoolCommits.version(db)
                        )
                    }
                    return try body(db)
                }
            )
        }.value
    }

    /// The pool has named tables that it has written.
    func poolDidNameTables() {
        state.withLockedValue { $0.names = $0.names == .awaited ? .unknown : .told }
    }

    /// Whether a commit was seen, and the next look decides whether the pool has named its tables.
    var awaitsNames: Bool { state.withLockedValue { $0.names == .awaited } }

    /// Whether there may be commits whose tables are not known.
    ///
    /// - Parameters:
    ///   - writer: Our connections.
    ///   - hasCommit: Whether their version has changed since the last call.
    /// - Returns: Also `true` when that cannot be found out.
    func hasNews(_ writer: any DatabaseWriter, hasCommit: Bool) async -> Bool {
        guard hasCommit else {
            return state.withLockedValue { state in
                // Names without a commit were those of one that was seen before: they must not stand for a later one.
                defer { state.names = .unknown }
                return state.names == .awaited
            }
        }
        let isKnown: Void? = try? await write(to: writer) { _ in }
        return state.withLockedValue { state in
            if isKnown == nil || state.hasNews {
                // Every observer looks again, whatever the pool names.
                state.hasNews = false
                state.names = .unknown
                return true
            }
            let wasAwaited = state.names == .awaited
            state.names = state.names == .told ? .unknown : .awaited
            return wasAwaited
        }
    }

    private func beginTurn(poolVersion: Int64?) {
        state.withLockedValue { state in
            if state.hasHadTurn, poolVersion == nil || poolVersion != state.poolVersion { state.hasNews = true }
        }
    }

    private func endTurn(poolVersion: Int64?, isUndisturbed: Bool) {
        state.withLockedValue { state in
            state.poolVersion = poolVersion
            state.hasHadTurn = true
            if !isUndisturbed { state.hasNews = true }
        }
    }

    /// The version that a connection tells; `nil` when it cannot.
    private static func version(_ db: Database) -> Int64? {
        (try? Int64.fetchOne(db.cachedStatement(sql: "PRAGMA data_version"))) ?? nil
    }

    private static func version(_ lease: any SQLiteConnectionLease) -> Int64? {
        try? lease.withIterator(sql: "PRAGMA data_version", parameters: []) { rows in
            try rows.next { try $0.getInt64(index: 0) }
        } ?? nil
    }
}
