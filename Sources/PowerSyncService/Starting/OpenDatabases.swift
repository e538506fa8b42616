import Logging
import PowerSyncServiceCore

/// The databases of a running service.
struct OpenDatabases: Sendable {
    /// Where rows come from.
    let source: any ReplicationSource
    /// Where buckets are.
    let storage: any BucketStorage

    /// The databases that are files, whose disappearance is noticed.
    var files: [any FileBacked] { [source.fileBacked, storage.fileBacked].compactMap(\.self) }

    /// Waits until clients are served everything that was committed to the source before the call.
    ///
    /// - Throws: An error of the source or the storage, or `CancellationError`.
    func waitUntilServed() async throws {
        // Another stream may follow another history: its positions are compared with one of that.
        while let stream = try await storage.activeStream() {
            let head = try await source.head(having: try await storage.publishedPosition())
            try await source.emitMarker()
            for try await checkpoint in storage.checkpoints(of: stream) where checkpoint.lsn >= head.lsn { return }
        }
    }

    /// Closes the source, then the storage; what cannot be closed is logged.
    func close(_ logger: Logger) {
        Self.close("source", logger) { try source.close() }
        Self.close(storage, logger)
    }

    /// Closes a storage alone.
    static func close(_ storage: any BucketStorage, _ logger: Logger) {
        close("storage", logger) { try storage.close() }
    }

    private static func close(_ name: String, _ logger: Logger, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            logger.error(
                "A database cannot be closed",
                metadata: [LogKey.database: "\(name)", LogKey.error: "\(error)"]
            )
        }
    }
}
