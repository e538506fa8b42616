import GRDB
import PowerSyncCore

/// Has the status start over when a transaction has removed what the database knows of earlier syncs.
///
/// That is what clearing does, and `powersync_clear` and `powersync_trigger_resync` when an app calls them in SQL.
final class SyncStateObserver: TransactionObserver, Sendable {
    private let status: FileStatus
    private let logger: any LoggerProtocol

    /// Creates an observer of a writer.
    ///
    /// - Parameters:
    ///   - status: The status of the file, which hears of it on the writer's thread.
    ///   - logger: Receives messages.
    init(_ status: FileStatus, logger: any LoggerProtocol) {
        self.status = status
        self.logger = logger
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }

    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseDidCommit(_ db: Database) {
        guard SyncStateReset.take(db) else { return }
        do {
            status.syncStateWasReset(to: try DownloadStatus.offline(db))
        } catch {
            // The transaction is committed: nothing is left to throw to.
            logger.error("The sync state cannot be read: \(error.lineOfText)", tag: LogTag.database)
        }
    }

    func databaseDidRollback(_ db: Database) {
        _ = SyncStateReset.take(db)
    }
}
