import PowerSyncProtocol

extension TrackedCheckpoint {
    /// Whether a bucket holds fewer operations than were counted: it was compacted or redeployed, and all counters
    /// start again.
    func hasShrunkBucket(_ table: BucketTable) -> Bool {
        buckets.contains { bucket in
            let row = table[bucket.slot]
            return (bucket.count ?? 0) < row.countAtLast.addingSaturating(row.countSinceLast)
        }
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
            let row = table[bucket.slot]
            let counts = OperationCounts(
                total: (bucket.count ?? 0).addingSaturating(-max(0, row.countAtLast)),
                downloaded: row.countSinceLast
            )
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
    /// Counts downloaded operations of a tracked bucket.
    mutating func addDownloaded(_ count: Int, of bucket: TrackedCheckpoint.Bucket, _ association: StreamAssociation) {
        guard progress != nil else { return }
        let counts = OperationCounts(downloaded: Int64(count))
        progress?.add(counts, to: bucket.priority)
        association.forEachSubscription(bucket.reasons) { index in
            streams?[index].progress? += counts
        }
    }
}
