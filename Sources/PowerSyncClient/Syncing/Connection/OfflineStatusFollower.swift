import NIOConcurrencyHelpers
import PowerSyncCore

/// Shows a database that does not sync itself what others sync: another instance in this process, or another process.
///
/// Each instance has a status of its own, and a connection publishes to that of its instance only. What remains of it for later is
/// in two tables. When they may have changed, they are read, as long as no connection of this instance knows better.
///
/// ```
///  commits ──► listener ──► read the tables ──► status; once more if somebody has published meanwhile
///                 ▲                │
///                 └──── delay ◄────┘
/// ```
///
/// However many commits there are, there is one read at a time, and the newest state is read after the last of them.
final class OfflineStatusFollower: Sendable {
    /// The least time between two reads.
    static let delay = Duration.milliseconds(100)
    /// What `DownloadStatus.offline` reads.
    private static let tables: Set<String> = ["ps_sync_state", "ps_stream_subscriptions"]

    private let database: LocalDatabase
    private let group: SyncGroup
    private let member: SyncGroup.MemberID
    private let status: LiveSyncStatus
    private let listener = ChangeListener()
    private let task = NIOLockedValueBox<Task<Void, Never>?>(nil)
    /// Whether others have committed while a connection of this instance ran.
    private let isBehind = NIOLockedValueBox(false)

    /// Creates a follower, which listens from now on.
    ///
    /// - Parameters:
    ///   - database: The database on disk, not open yet.
    ///   - group: Tells whether a connection runs.
    ///   - member: The number of this instance in the group.
    ///   - status: The status of this instance.
    init(database: LocalDatabase, group: SyncGroup, member: SyncGroup.MemberID, status: LiveSyncStatus) {
        self.database = database
        self.group = group
        self.member = member
        self.status = status
        database.changes.add(listener, interest: .tables(OfflineStatusFollower.tables))
    }

    deinit {
        task.withLockedValue { $0 }?.cancel()
        database.changes.remove(listener)
    }

    /// Begins to read, if it has not begun.
    ///
    /// Call it when the database is opened: what was committed since the follower was created is read then.
    func start() {
        let (signals, clock) = (listener.signals, database.clock)
        // While it waits, the task does not keep the database open.
        let catchUp = { @Sendable [weak self] () async -> Void in await self?.catchUp() }
        task.withLockedValue { task in
            guard task == nil else { return }
            task = Task {
                for await _ in signals {
                    await catchUp()
                    try? await clock.sleep(for: OfflineStatusFollower.delay)
                }
            }
        }
    }

    /// Looks for what others have committed while a connection of this instance ran, which has ended.
    func connectionEnded() {
        if isBehind.withLockedValue({ $0 }) { listener.hear(.anything) }
    }

    /// Ends reading for good.
    func stop() async {
        let task = task.withLockedValue { $0 }
        task?.cancel()
        await task?.value
    }

    private func catchUp() async {
        let isForeign = listener.takeNews().lastPossible == ChangeListener.News.unknownCommit
        // First: a connection that ends after it was looked for finds this said.
        if isForeign { isBehind.withLockedValue { $0 = true } }
        while !Task.isCancelled, !group.isClosed(member) {
            // Before a connection is looked for: one that begins later publishes something else.
            let known = status.snapshot.download
            guard !group.hasConnection(member) else { return }
            isBehind.withLockedValue { $0 = false }
            do {
                let offline = try await database.read { try DownloadStatus.offline($0) }
                if status.offlineStateLoaded(offline.keepingDetails(of: known), replacing: known) { return }
            } catch {
                if !Task.isCancelled, !database.isClosed {
                    database.logger.warning(
                        "Cannot see what others have synced: \(error.lineOfText)",
                        tag: LogTag.database
                    )
                }
                return
            }
        }
    }
}
