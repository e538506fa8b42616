import GRDB
import PowerSyncCore
import PowerSyncSQLite

extension SyncContext {
    /// Compares the user of a token with the one whose rows the database has begun with, when that was not done yet.
    ///
    /// - Parameter token: Gives the token that is used from now on. One without a `sub` is of no known user.
    /// - Returns: Whether the rows were another user's, and are removed.
    /// - Throws: ``PowerSyncError`` with the code `otherAccount` when that would lose local writes; what `token` throws.
    func claimSeed(with token: () async throws -> String) async throws -> Bool {
        guard case .unclaimed(let seed) = try await database.read({ try Seed.file($0) }) else { return false }
        let isOwn = WriterWatch.subject(of: try await token()).map(seed.isOf) ?? false
        let isRemoved = try await database.writeWithoutTransaction { db in
            try LocalData.despiteForeignKeys(db) {
                try db.transaction(.immediate) { db in
                    // Another process may have been faster.
                    guard try Seed.file(db) == .unclaimed(seed) else { return false }
                    if isOwn {
                        try Seed.claim(db)
                        return false
                    }
                    let waiting = try UploadQueue.count(db)
                    guard waiting == 0 else { throw PowerSyncError.seedOfAnother(unsent: waiting) }
                    try Seed.discard(db)
                    return true
                }
            }
        }
        if isRemoved { log(.info, "The database began with rows of another user, which are removed.") }
        return isRemoved
    }
}
