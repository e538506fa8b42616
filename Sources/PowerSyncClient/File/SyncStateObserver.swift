import GRDB
import NIOConcurrencyHelpers
import PowerSyncCore

/// Tells when a transaction has removed what the database knows of earlier syncs.
///
/// That is what clearing does, and `powersync_clear` and `powersync_trigger_resync` when an app calls them in SQL.
final class SyncStateObserver: TransactionObserver, Sendable {
    private let logger: any LoggerProtocol
    private let action = NIOLockedValueBox<(@Sendable (DownloadStatus) -> Void)?>(nil)

    /// Creates an observer without a listener.
    init(logger: any LoggerProtocol) {
        self.logger = logger
    }

    /// Registers what is called, on the writer's thread, with what the database knows now.
    func onReset(_ action: @escaping @Sendable (DownloadStatus) -> Void) {
        self.action.withLockedValue { $0 = action }
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }

    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseDidCommit(_ db: Database) {
        guard SyncStateReset.take(db), let action = action.withLockedValue({ $0 }) else { return }
        do {
            action(try DownloadStatus.offline(db))
        } catch {
            // The transaction is committed: there is no caller left to throw to.
            logger.error("The sync state cannot be read: \(error.lineOfText)", tag: LogTag.database)
        }
    }

    func databaseDidRollback(_ db: Database) {
        _ = SyncStateReset.take(db)
    }
}
