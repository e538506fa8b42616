import PowerSyncProtocol

/// What the connection of a database waits for, at one moment.
///
/// ```swift
/// switch database.currentStatus.activity.upload?.reason {
/// case .upload(let entries): show("\(entries) changes to upload")
/// case .retry(let date, _): show("Upload failed; next attempt at \(date)")
/// default: break
/// }
/// ```
///
/// Waits are `nil` while the database is disconnected.
public struct ConnectionActivity: Sendable {
    /// Which halves of syncing the connection does; `nil` while the database is disconnected.
    public let mode: ConnectionMode?
    /// What keeps the connection from being open, its lines from arriving, or the newest checkpoint from being shown.
    ///
    /// `nil` while the stream is open, lines arrive in time and everything that was downloaded completely is shown.
    public let download: SyncWait?
    /// What keeps local writes from being acknowledged.
    ///
    /// `nil` when there are none, and for at most ``ConnectOptions/crudThrottle`` after a new one.
    public let upload: SyncWait?
    /// Whether local writes of another user wait for their upload, which is done with the present user's rights.
    ///
    /// Users are told apart by the `sub` of their tokens. The writes belong to the user who was connected when the upload queue was
    /// empty last. So a user has signed out without ``PowerSyncDatabaseProtocol/disconnectAndClear()``. `false` again when the
    /// queue has been empty.
    public let hasWritesOfAnotherUser: Bool

    /// Creates an activity; by default one that waits for nothing.
    init(
        mode: ConnectionMode? = nil,
        download: SyncWait? = nil,
        upload: SyncWait? = nil,
        hasWritesOfAnotherUser: Bool = false
    ) {
        self.mode = mode
        self.download = download
        self.upload = upload
        self.hasWritesOfAnotherUser = hasWritesOfAnotherUser
    }
}

extension SyncStatusData {
    /// What the connection waits for.
    ///
    /// Changes of the activity alone make no element of ``SyncStatus/asFlow()``; an element has the activity of the moment
    /// when it was made. Use ``SyncStatus/activities()`` to follow it. A status that is not of this SDK waits for nothing.
    public var activity: ConnectionActivity {
        ownSnapshot?.connectionActivity ?? ConnectionActivity()
    }

    /// The number of the newest checkpoint request that a complete checkpoint has answered in this process; `nil` before one has.
    ///
    /// With ``CheckpointMode/legacy`` it is the service's number of a write checkpoint. A status that is not of this SDK has none.
    public var lastAppliedCheckpointRequestId: Int64? {
        ownSnapshot?.applied?.rawValue
    }
}

extension SyncStatus {
    /// What the connection waits for, from now on.
    ///
    /// The present activity comes first. A consumer that is slow gets the newest one and not those in between. The stream
    /// finishes when the database is closed; that of a status that is not of this SDK after its only element.
    ///
    /// - Returns: The activities, for one consumer.
    public func activities() -> AsyncStream<ConnectionActivity> {
        guard let status = self as? LiveSyncStatus else {
            return AsyncStream { continuation in
                continuation.yield(activity)
                continuation.finish()
            }
        }
        return status.newestActivities()
    }
}

extension ConnectionActivity: CustomStringConvertible {
    /// What the connection waits for, in a line.
    public var description: String { waits ?? "waiting for nothing" }

    /// What the connection waits for; `nil` for nothing.
    var waits: String? {
        let foreign = hasWritesOfAnotherUser ? "uploading writes of another user" : nil
        let parts = [download.map { "download \($0)" }, upload.map { "upload \($0)" }, foreign].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}
