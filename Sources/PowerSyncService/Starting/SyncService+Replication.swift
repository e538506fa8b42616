import PowerSyncServiceCore

/// What replicates a source into buckets, with the jobs of a process that does.
struct ReplicationParts {
    /// Copies the source, and follows it.
    let replicator: Replicator
    /// Counts rows, bytes and transactions.
    let statistics: ReplicationStatistics
    /// Compacts the storage once a day.
    let compaction: CompactionJob
    /// What compaction has done last.
    let compactionStatus: CompactionStatus
    /// Measures the log that the source keeps for streams; `nil` for a source that keeps none.
    let retainedLog: RetainedLogJob?
}

extension SyncService {
    /// Puts replication together; nothing runs yet.
    func makeReplication(
        _ databases: OpenDatabases,
        _ deployer: SyncConfigDeployer,
        _ statistics: ReplicationStatistics,
        _ signs: SignsOfLife
    ) -> ReplicationParts {
        let compactionStatus = CompactionStatus(now: { [timing] in timing.seconds })
        return ReplicationParts(
            replicator: Replicator(
                storage: databases.storage,
                source: databases.source,
                streamsChanged: deployer.streamsChanged,
                statistics: statistics,
                logger: logger,
                report: { report, stream in signs.report(report, of: stream) },
                touch: { signs.touch() }
            ),
            statistics: statistics,
            compaction: CompactionJob(storage: databases.storage, status: compactionStatus, logger: logger),
            compactionStatus: compactionStatus,
            retainedLog: databases.source.retainedLog.map { RetainedLogJob(source: $0) }
        )
    }
}
