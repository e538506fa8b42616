import GRDB
import RunningServiceTestSupport
import TestSupport

/// A lock on the embedded source of a scenario: writes wait for it, and so does the preparation of a copy.
struct SourceLock {
    private let queue: DatabaseQueue

    /// Takes the lock.
    init(_ folder: TemporaryFolder) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.allowsUnsafeTransactions = true
        queue = try DatabaseQueue(path: folder.path("source.db"), configuration: configuration)
        try queue.inDatabase { db in try db.beginTransaction(.immediate) }
    }

    /// Gives the lock back.
    func release() throws {
        try queue.inDatabase { db in try db.rollback() }
        try queue.close()
    }
}
