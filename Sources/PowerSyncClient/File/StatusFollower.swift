import GRDB
import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncSQLite

/// Shows what another process syncs, while no connection of this one knows better.
///
/// What remains of a sync for later is in two tables. When they may have changed, they are read.
///
/// ```
///  commits ──► listener ──► read the tables ──► status of the file; once more if a connection has published meanwhile
///                 ▲                │
///                 └──── delay ◄────┘
/// ```
///
/// However many commits there are, there is one read at a time, and the newest state is read after the last of them. What is committed
/// elsewhere while a connection leads the status is read after its end.
final class StatusFollower: Sendable {
    /// The least time between two reads.
    static let delay = Duration.milliseconds(100)
    /// What `DownloadStatus.offline` reads.
    private static let tables: Set<String> = ["ps_sync_state", "ps_stream_subscriptions"]

    private let writer: any DatabaseWriter
    private let changes: ChangeTracker
    private let status: FileStatus
    private let logger: any LoggerProtocol
    private let listener = ChangeListener()
    private let task = NIOLockedValueBox<Task<Void, Never>?>(nil)

    /// Creates a follower, which listens from now on.
    ///
    /// - Parameters:
    ///   - writer: Connections to the file.
    ///   - changes: Tells of commits to the file.
    ///   - status: Shows what is read.
    ///   - logger: Receives messages.
    init(writer: any DatabaseWriter, changes: ChangeTracker, status: FileStatus, logger: any LoggerProtocol) {
        self.writer = writer
        self.changes = changes
        self.status = status
        self.logger = logger
        changes.add(listener, interest: .tables(StatusFollower.tables))
    }

    deinit {
        task.withLockedValue { $0 }?.cancel()
        changes.remove(listener)
    }

    /// Begins to read.
    ///
    /// Call it once.
    ///
    /// - Parameter clock: Measures the delay.
    func start(_ clock: any Clock<Duration>) {
        let signals = listener.signals
        // While it waits for signals, the task does not keep the database open.
        let catchUp = { @Sendable [weak self] () async -> Void in await self?.catchUp() }
        task.withLockedValue { task in
            task = Task {
                for await _ in signals {
                    await catchUp()
                    try? await clock.sleep(for: StatusFollower.delay)
                }
            }
        }
    }

    /// Ends reading.
    func cancel() {
        task.withLockedValue { $0 }?.cancel()
    }

    /// Waits until nothing is read any more, after ``cancel()``.
    func waitForEnd() async {
        await task.withLockedValue { $0 }?.value
    }

    private func catchUp() async {
        let isForeign = listener.takeNews().lastPossible == ChangeListener.News.unknownCommit
        while !Task.isCancelled {
            // First: a connection that begins later publishes something else.
            let earlier = status.snapshot.download
            guard !status.isLed else {
                // What the connection itself has committed, it has shown.
                guard isForeign else { return }
                await status.waitForEndOfLead()
                continue
            }
            do {
                let offline = try await writer.uncancelledReadWithoutTransaction { db in
                    Transfer(try DownloadStatus.offline(db))
                }.value
                if status.offlineStateLoaded(offline.keepingDetails(of: earlier), replacing: earlier) { return }
            } catch {
                if !Task.isCancelled {
                    logger.warning(
                        "Cannot see what others have synced: \(PowerSyncError.wrapping(error).lineOfText)",
                        tag: LogTag.database
                    )
                }
                return
            }
        }
    }
}

/// Has the status start over when a transaction has removed what the database knows of earlier syncs.
///
/// That is what clearing does, and `powersync_clear` and `powersync_trigger_resync` when an app calls them in SQL.
extension StatusFollower: TransactionObserver {
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
