import Logging
import PowerSyncServiceCore

/// What ``SyncService/compact(_:)`` has done.
public struct CompactionSummary: Sendable, Equatable {
    /// Operations whose row was written again later: only their checksum is left.
    public let movedOperations: Int
    /// Operations at the beginning of buckets that were replaced by a single one.
    public let clearedOperations: Int
    /// Entries of parameter indexes that were deleted.
    public let deletedParameterEntries: Int
    /// Checkpoint requests of clients that were deleted.
    public let deletedCheckpointRequests: Int
}

extension SyncService {
    /// Compacts the storage of a configuration: clients that sync for the first time download less.
    ///
    /// A running service does this once a day by itself. It may run while this is called, in this process or another one,
    /// and clients may download.
    ///
    /// - Parameter configuration: Names the storage.
    /// - Returns: What was done.
    /// - Throws: `ServiceError` with code `storage` when there is no storage, or one of another version.
    public static func compact(_ configuration: ServiceConfiguration) async throws -> CompactionSummary {
        let logger = Logger(label: "powersync") { _ in SwiftLogNoOpLogHandler() }
        let storage = try await configuration.openStorageForMaintenance(logger: logger)
        let result: CompactionResult
        do {
            result = try await CompactionJob.compact(storage)
        } catch {
            try? storage.close()
            throw error
        }
        try storage.close()
        return CompactionSummary(
            movedOperations: result.movedOperations,
            clearedOperations: result.clearedOperations,
            deletedParameterEntries: result.deletedEntries,
            deletedCheckpointRequests: result.deletedRequests
        )
    }
}
