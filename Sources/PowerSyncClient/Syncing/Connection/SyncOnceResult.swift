import PowerSyncProtocol

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
    /// Connects with default options, uploads everything, applies a checkpoint that contains it, and disconnects.
    ///
    /// - Parameters:
    ///   - connector: The app's backend.
    ///   - deadline: The longest time to try, from now on.
    /// - Returns: What was achieved.
    /// - Throws: What ``syncOnce(connector:options:deadline:)`` throws.
    public func syncOnce(
        connector: any PowerSyncBackendConnectorProtocol,
        deadline: Duration
    ) async throws -> SyncOnceResult {
        try await syncOnce(connector: connector, options: ConnectOptions(), deadline: deadline)
    }

    /// Connects, uploads everything, applies a checkpoint that contains it, and disconnects.
    ///
    /// - Parameters:
    ///   - connector: The app's backend.
    ///   - options: How to connect.
    ///   - deadline: The longest time to try, from now on.
    /// - Returns: What was achieved.
    /// - Throws: `CancellationError`; ``PowerSyncError`` when the options or the deadline are invalid, the database is closed, another
    ///   database object syncs the same file, or the database is not one of this SDK.
    public func syncOnce(
        connector: any PowerSyncBackendConnectorProtocol,
        options: ConnectOptions,
        deadline: Duration
    ) async throws -> SyncOnceResult {
        let own = try requireOwn(for: "syncOnce")
        try options.validate()
        guard deadline >= .zero else {
            throw PowerSyncError.negativeDeadline(deadline)
        }
        return try await own.sync.syncOnce(
            connector: connector,
            options: options,
            deadline: min(deadline, Argument.longestTime),
            database: own
        )
    }
}

extension SyncOnceResult: CustomStringConvertible {
    /// What was achieved, in a line.
    public var description: String {
        var parts = [isComplete ? "complete" : "not complete", "\(uploadedEntries.counted("local write")) uploaded"]
        if let waits = activity.waits { parts.append(waits) }
        if let downloadError { parts.append("download error: \(downloadError.lineOfText)") }
        if let uploadError { parts.append("upload error: \(uploadError.lineOfText)") }
        return parts.joined(separator: ", ")
    }
}
