import GRDB
import PowerSyncCore

extension PowerSyncDatabaseProtocol {
    /// Opens the database, if it is not open yet.
    ///
    /// - Throws: Why it cannot be opened.
    public func waitForReady() async throws {
        try await readLock { _ in }
    }

    /// The id that names this database towards the service.
    ///
    /// It lives as long as the file.
    public func getClientId() async throws -> String {
        try await readFromEngine { db in try KeyValueStore.clientID(db) }
    }
}
