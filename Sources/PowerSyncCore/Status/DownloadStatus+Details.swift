import PowerSyncProtocol

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
