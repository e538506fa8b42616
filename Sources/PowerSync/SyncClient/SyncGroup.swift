import PowerSyncCore
import Synchronization

/// What the databases of one file share: at most one of them syncs, and stream handles of all of them count
/// (docs/client-sync.md "Connections").
final class SyncGroup: Sendable {
    /// Serialises connecting, disconnecting, clearing and schema changes.
    ///
    /// Holders may change ``active``.
    let connectionLock = AsyncLock()
    /// The streams for which the app holds handles.
    let liveStreams = LiveStreams()

    private struct Active {
        let session: SyncSession
        /// The member that syncs.
        let owner: ObjectIdentifier
    }

    private let active = Mutex<Active?>(nil)
    /// The loops of sessions that may still be ending, because a method of their connector has stopped them.
    ///
    /// Not the sessions: they would keep the database alive, which owns this group.
    private let ending = Mutex<[Task<Void, Never>]>([])

    private struct WeakStatus {
        weak var status: LiveSyncStatus?
    }

    /// The statuses of the members.
    private let statuses = Mutex<[ObjectIdentifier: WeakStatus]>([:])

    /// Creates the group of a file that nobody syncs.
    init() {}

    /// Adds the status of a member.
    func add(_ status: LiveSyncStatus) {
        statuses.withLock { $0[ObjectIdentifier(status)] = WeakStatus(status: status) }
    }

    /// Removes the status of a member.
    func remove(_ status: LiveSyncStatus) {
        _ = statuses.withLock { $0.removeValue(forKey: ObjectIdentifier(status)) }
    }

    /// A transaction of a member has removed what the database knew of earlier syncs, so the statuses start over.
    ///
    /// Does nothing while a member syncs: its engine knows the status better.
    func syncStateWasReset(to offline: DownloadStatus) {
        let statuses = statuses.withLock { $0.values.compactMap(\.status) }
        // Under the lock, so that no session starts and publishes in between.
        active.withLock { active in
            guard active == nil else { return }
            for status in statuses { status.syncStateWasReset(to: offline) }
        }
    }

    /// Whether a member syncs.
    var isActive: Bool { active.withLock { $0 != nil } }

    /// Whether this member is the one that syncs.
    func isActive(_ client: SyncClient) -> Bool {
        active.withLock { $0?.owner == ObjectIdentifier(client) }
    }

    /// Whether this session is the one that syncs.
    func isActive(_ session: SyncSession) -> Bool {
        active.withLock { $0?.session === session }
    }

    /// Starts a member's session.
    ///
    /// Call it with the lock, after ``stop()``.
    func start(_ session: SyncSession, of client: SyncClient) {
        active.withLock { active in
            precondition(active == nil, "Two sync sessions on one database")
            active = Active(session: session, owner: ObjectIdentifier(client))
        }
        session.start(after: ending.withLock { $0 })
    }

    /// Ends the session, whoever owns it, and waits for its end and that of earlier ones.
    ///
    /// Call it with the lock. See ``SyncSession/end(of:)`` for methods of the connector.
    func stop() async {
        let session = active.withLock { $0 }?.session
        let tasks =
            if let session {
                await session.stop()
            } else {
                await SyncSession.end(of: ending.withLock { $0 })
            }
        ending.withLock { $0 = tasks }
        active.withLock { $0 = nil }
    }

    /// The session of a member, if it is the one that syncs.
    func session(of client: SyncClient) -> SyncSession? {
        active.withLock { active in
            active?.owner == ObjectIdentifier(client) ? active?.session : nil
        }
    }

    /// Drops the credentials of the session, whoever owns it.
    func invalidateCredentials() {
        active.withLock { $0?.session }?.invalidateCredentials()
    }

    /// Tells the session that handles or subscriptions changed.
    ///
    /// - Returns: Whether this member has an iteration that deals with it and will publish the result.
    func subscriptionsChanged(by client: SyncClient) -> Bool {
        // Under the lock, so that of two concurrent changes the one that is sent last has read the handles last.
        active.withLock { active in
            guard let active else { return false }
            let isHandled = active.session.subscriptionsChanged(live: liveStreams.keys)
            return isHandled && active.owner == ObjectIdentifier(client)
        }
    }
}
