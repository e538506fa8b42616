package import PowerSyncProtocol

/// The download part of a sync status: a value that can be compared (docs/client-sync.md "Status").
package struct DownloadStatus: Sendable, Equatable {
    /// Whether the stream is open.
    package var isConnected: Bool
    /// Whether an iteration was started and its stream is not open yet.
    package var isConnecting: Bool
    /// How far the download has come; `nil` when no checkpoint is being downloaded.
    package var progress: DownloadProgress?
    /// What was synced when, ascending by number of the priority.
    ///
    /// The sentinel ``Priority/complete`` stands for complete checkpoints.
    package var priorities: [PriorityStatus]
    /// The subscriptions by row id; `nil` until they have been read from the database.
    package var streams: [StreamStatus]?
    /// The rows that constraints of the app have kept from being published.
    package var setAside = SetAsideRows()
    /// The write checkpoint of the last complete checkpoint that this iteration published.
    package var lastApplied: WriteCheckpoint?

    /// Creates a status; by default that of a database of which nothing is known yet.
    package init(
        isConnected: Bool = false,
        isConnecting: Bool = false,
        progress: DownloadProgress? = nil,
        priorities: [PriorityStatus] = [],
        streams: [StreamStatus]? = nil,
        lastApplied: WriteCheckpoint? = nil
    ) {
        self.isConnected = isConnected
        self.isConnecting = isConnecting
        self.progress = progress
        self.priorities = priorities
        self.streams = streams
        self.lastApplied = lastApplied
    }

    /// When the last complete checkpoint was published.
    package var lastSyncedAt: SyncInstant? {
        priorities.last { $0.priority == .complete }?.lastSyncedAt
    }

    /// Whether a complete checkpoint was ever published; `nil` until the database was asked.
    package var hasSynced: Bool? {
        streams == nil ? nil : lastSyncedAt != nil
    }

    /// The entry that answers for a priority: the first one whose number is not smaller.
    ///
    /// A sync of priority 2 includes priorities 0 and 1; a complete sync includes all.
    ///
    /// - Returns: The entry with its own priority; `nil` when the priority was never synced.
    package func entry(covering priority: Priority) -> PriorityStatus? {
        priorities.first { $0.priority.includes(priority) }
    }
}

// MARK: - Transitions

extension DownloadStatus {
    /// The stream is open.
    mutating func showConnected() {
        isConnected = true
        isConnecting = false
    }

    /// The iteration is over, and the next one does not start at once.
    package mutating func showDisconnected() {
        isConnected = false
        isConnecting = false
        lastApplied = nil
        showNoDownload()
    }

    /// Nothing is being downloaded.
    mutating func showNoDownload() {
        progress = nil
        guard let count = streams?.count else { return }
        for index in 0..<count { streams?[index].progress = nil }
    }
}

/// When a priority was last published.
package struct PriorityStatus: Sendable, Hashable {
    /// The priority of the completion, or ``Priority/complete``.
    package var priority: Priority
    /// When it was published.
    package var lastSyncedAt: SyncInstant

    /// Creates an entry.
    package init(priority: Priority, lastSyncedAt: SyncInstant) {
        self.priority = priority
        self.lastSyncedAt = lastSyncedAt
    }
}

/// The state of one stream subscription.
package struct StreamStatus: Sendable, Equatable {
    /// Name and parameters.
    package var key: StreamKey
    /// Whether the service listed a stream of this name in the last checkpoint.
    package var isActive: Bool
    /// Whether clients get the stream without subscribing.
    package var isDefault: Bool
    /// Whether the application subscribed.
    package var hasExplicitSubscription: Bool
    /// When the subscription ends unless it is renewed.
    package var expiresAt: SyncInstant?
    /// When all buckets of the stream were last published.
    package var lastSyncedAt: SyncInstant?
    /// The lowest priority (largest number) of its buckets; `nil` until a checkpoint told.
    package var priority: Priority?
    /// How far the download of its buckets has come; `nil` unless a checkpoint is being downloaded.
    package var progress: OperationCounts?
    /// That the service does not have the stream; `nil` until a checkpoint told.
    package var unknown: UnknownStream?
    /// Whether the subscription is not synced because the request or the service has no room for it.
    package var isLeftOut = false

    /// Creates the status of a subscription.
    package init(
        key: StreamKey,
        isActive: Bool = false,
        isDefault: Bool = false,
        hasExplicitSubscription: Bool = false,
        expiresAt: SyncInstant? = nil,
        lastSyncedAt: SyncInstant? = nil,
        priority: Priority? = nil,
        progress: OperationCounts? = nil
    ) {
        self.key = key
        self.isActive = isActive
        self.isDefault = isDefault
        self.hasExplicitSubscription = hasExplicitSubscription
        self.expiresAt = expiresAt
        self.lastSyncedAt = lastSyncedAt
        self.priority = priority
        self.progress = progress
    }
}

extension DownloadStatus {
    /// This status as the database says it, with what an earlier one knows of its streams from a checkpoint, and of the rows that
    /// were set aside.
    package func keepingDetails(of earlier: DownloadStatus) -> DownloadStatus {
        var status = self
        status.setAside = earlier.setAside
        let known = (earlier.streams ?? []).filter { $0.priority != nil || $0.unknown != nil || $0.isLeftOut }
        guard !known.isEmpty, let streams else { return status }
        let details = Dictionary(known.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        status.streams = streams.map { $0.keepingDetails(of: details[$0.key]) }
        return status
    }

    /// Shows a subscription as the database has it, with what is known of it from a checkpoint.
    ///
    /// - Parameter stream: The subscription. A new one becomes the last one, as its row is.
    /// - Returns: Whether that changes anything.
    package mutating func show(_ stream: StreamStatus) -> Bool {
        guard let index = streams?.lastIndex(where: { $0.key == stream.key }) else {
            streams?.append(stream)
            return streams != nil
        }
        var shown = stream.keepingDetails(of: streams?[index])
        shown.progress = streams?[index].progress
        defer { streams?[index] = shown }
        return streams?[index] != shown
    }
}

extension StreamStatus {
    /// This status as the database says it, with what an earlier one knows from a checkpoint.
    fileprivate func keepingDetails(of known: StreamStatus?) -> StreamStatus {
        guard let known else { return self }
        var stream = self
        stream.priority = known.priority
        // A stream that was listed since is one that the service has.
        stream.unknown = stream.isActive ? nil : known.unknown
        stream.isLeftOut = stream.hasExplicitSubscription && known.isLeftOut
        return stream
    }
}

extension [PriorityStatus] {
    /// Does in memory what `SyncState` does on disk.
    mutating func record(_ priority: Priority, at now: SyncInstant) {
        removeAll { priority.includes($0.priority) }
        insert(PriorityStatus(priority: priority, lastSyncedAt: now), at: 0)
    }
}
