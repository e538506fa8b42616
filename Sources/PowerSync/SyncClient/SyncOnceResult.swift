/// What a call of ``PowerSyncDatabaseProtocol/syncOnce(connector:options:deadline:)`` has achieved.
public struct SyncOnceResult: Sendable {
    /// Whether everything was uploaded and a complete checkpoint that contains it was applied.
    ///
    /// If not, the deadline was reached; ``activity`` says what was missing.
    public let isComplete: Bool
    /// How many local writes left the upload queue.
    public let uploadedEntries: Int
    /// What was being waited for in the end.
    public let activity: ConnectionActivity
    /// The error of the last upload attempt; `nil` after a successful one.
    public let uploadError: (any Error)?
    /// The error of the last connection; `nil` after a complete checkpoint.
    public let downloadError: (any Error)?
}

extension PowerSyncDatabaseProtocol {
    /// Connects, uploads everything, applies a checkpoint that contains it, and disconnects: for work in the background.
    ///
    /// ```swift
    /// let result = try await database.syncOnce(connector: connector, deadline: .seconds(25))
    /// if !result.isComplete { log("not synced: \(result.activity)") }
    /// ```
    ///
    /// Failures are retried until the deadline, as in any connection, and told in the result.
    ///
    /// If the database is connected already, that connection is used, `connector` and `options` have no effect, and the
    /// database stays connected. Otherwise it is disconnected when the call returns, also after an error and when the task
    /// is cancelled. `uploadData` is awaited then, after its task was cancelled.
    ///
    /// - Parameters:
    ///   - connector: The app's backend.
    ///   - options: How to connect.
    ///   - deadline: The longest time to try, from now on. Ending a call of the connector may take longer.
    /// - Returns: What was achieved.
    /// - Throws: `CancellationError`; ``PowerSyncError`` when the database cannot be opened or is closed, when another
    ///   database object syncs the same file, when somebody else ends the connection, and for a database that is not of
    ///   this SDK.
    public func syncOnce(
        connector: any PowerSyncBackendConnectorProtocol,
        options: ConnectOptions = ConnectOptions(),
        deadline: Duration
    ) async throws -> SyncOnceResult {
        guard let own = self as? SyncedDatabase else {
            throw PowerSyncError.operationFailed(message: "This database cannot sync once: it is not one of the SDK.")
        }
        return try await own.sync.syncOnce(connector: connector, options: options, deadline: deadline, database: own)
    }
}
