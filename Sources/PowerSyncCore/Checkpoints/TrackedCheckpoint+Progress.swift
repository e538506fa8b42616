import PowerSyncProtocol

extension TrackedCheckpoint {
    /// The slots of the buckets that hold fewer operations than were counted: they were compacted or redeployed, and their
    /// counters start again.
    func shrunkBuckets(_ table: BucketTable) -> [BucketTable.Slot] {
        buckets.compactMap { bucket in
            let row = table[bucket.slot]
            let hasShrunk = (bucket.count ?? 0) < row.countAtLast.addingSaturating(row.countSinceLast)
            return hasShrunk ? bucket.slot : nil
        }
    }

    /// The operations to download of a bucket since the last complete checkpoint, and those that are there.
    ///
    /// There are never more of the latter: a service may send more than it has announced.
    static func counts(of bucket: Bucket, _ table: BucketTable) -> OperationCounts {
        let row = table[bucket.slot]
        let total = max(0, (bucket.count ?? 0).addingSaturating(-max(0, row.countAtLast)))
        return OperationCounts(total: total, downloaded: min(total, max(0, row.countSinceLast)))
    }

    /// The progress by priority, and the status of every subscription with its progress.
    func progress(_ table: BucketTable) -> (download: DownloadProgress, streams: [StreamStatus]) {
        var download = DownloadProgress()
        var streams = association.subscriptions.map(\.status)
        for index in streams.indices {
            streams[index].progress = OperationCounts()
            streams[index].unknown = association.unknownStreams[index]
            streams[index].isLeftOut = association.leftOut.contains(index)
        }
        for bucket in buckets {
            let counts = Self.counts(of: bucket, table)
            download.add(counts, to: bucket.priority)
            association.forEachSubscription(bucket.reasons) { index in
                streams[index].progress? += counts
                let lowest = streams[index].priority ?? bucket.priority
                streams[index].priority = lowest.isHigher(than: bucket.priority) ? bucket.priority : lowest
            }
        }
        return (download, streams)
    }
}

extension DownloadStatus {
    /// Adds what has changed in the counts of a tracked bucket.
    mutating func addProgress(
        from old: OperationCounts,
        to new: OperationCounts,
        of bucket: TrackedCheckpoint.Bucket,
        _ association: StreamAssociation
    ) {
        guard progress != nil, new != old else { return }
        let counts = OperationCounts(total: new.total - old.total, downloaded: new.downloaded - old.downloaded)
        progress?.add(counts, to: bucket.priority)
        association.forEachSubscription(bucket.reasons) { index in
            streams?[index].progress? += counts
        }
    }
}
