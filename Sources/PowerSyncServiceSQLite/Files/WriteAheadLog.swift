import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncSQLite

/// The WAL of a file: what is in it is copied into the file beside the writer, and its length has a bound.
///
/// SQLite by itself lets the commit that makes the WAL long copy it, and wait for the disk. Writes are spread over the whole
/// file, so that takes longer than everything else; here another connection does it.
///
/// The WAL can begin anew only at a moment when all of it is copied and no connection reads from it. While clients download there
/// may be none, and the WAL would grow for ever. Above a limit, the writer therefore waits for the readers that are there;
/// those that begin meanwhile find everything in the file, and do not use the WAL. No read takes long.
package final class WriteAheadLog: Sendable {
    /// The pages after which a commit copies the WAL after all: 256 MiB.
    static let automaticPages = 65_536
    /// The bytes above which the WAL is copied into the file.
    static let copiedBytes = 16 * 1024 * 1024
    /// The bytes above which the writer makes the WAL begin anew: more than a table of 100,000 rows writes that is read for a new config,
    /// as the writer waits up to 100 ms for what is being copied.
    package static let limit = 128 * 1024 * 1024
    /// How long it waits for readers, in milliseconds; then the next attempt is made when the WAL is longer by the limit.
    private static let patience = 500

    private let path: String
    private let limit: Int
    /// Copies the WAL.
    private let queue: DatabaseQueue
    private let state: NIOLockedValueBox<State>

    private struct State {
        /// The length above which the writer acts.
        var threshold: Int
        var isCopying = false
    }

    /// Opens a connection to a file in WAL mode.
    ///
    /// - Parameters:
    ///   - file: The database.
    ///   - limit: See ``limit``.
    /// - Throws: An error of the database.
    init(of file: String, limit: Int) throws {
        path = file + "-wal"
        self.limit = limit
        state = NIOLockedValueBox(State(threshold: limit))
        var configuration = Configuration()
        configuration.label = "powersync.buckets.wal"
        queue = try DatabaseQueue(path: file, configuration: configuration)
    }

    /// Waits for a copy that is being made.
    func finish() throws {
        try queue.close()
    }

    /// The bytes of the WAL.
    var bytes: Int {
        // Two system calls; Foundation looks up the name of the owner, too. SQLite has no locks on this file to lose.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        return Int(lseek(descriptor, 0, SEEK_END))
    }

    /// Begins to copy the WAL into the file, if it is long and no copy is being made.
    ///
    /// An error is left for the writer, which meets it when the WAL becomes too long.
    func copyIfLong() {
        guard bytes > min(Self.copiedBytes, limit / 2) else { return }
        let begins = state.withLockedValue { state in
            defer { state.isCopying = true }
            return !state.isCopying
        }
        guard begins else { return }
        queue.asyncWriteWithoutTransaction { [self] db in
            _ = try? db.checkpoint(.passive)
            state.withLockedValue { $0.isCopying = false }
        }
    }

    /// Waits for the copy that is being made: the WAL cannot begin anew meanwhile.
    func waitForCopy() async throws {
        try await queue.uncancelledWriteWithoutTransaction { _ in }
    }

    /// Whether the WAL must begin anew.
    var isTooLong: Bool { bytes > state.withLockedValue { $0.threshold } }

    /// Copies the rest of the WAL into the file, and empties it.
    ///
    /// Leaves it as it is when a reader does not end.
    func restart(_ db: Database) throws {
        guard isTooLong else { return }
        let timeout = try Int.fetchOne(db, sql: "PRAGMA busy_timeout") ?? 0
        _ = try Int.fetchOne(db, sql: "PRAGMA busy_timeout = \(Self.patience)")
        defer { _ = try? Int.fetchOne(db, sql: "PRAGMA busy_timeout = \(timeout)") }
        do {
            try db.checkpoint(.truncate)
            state.withLockedValue { $0.threshold = limit }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            let bytes = bytes
            state.withLockedValue { $0.threshold = bytes + limit }
        }
    }
}
