import Foundation
import PowerSyncProtocol
import PowerSyncServiceCore

/// Looks at a running service.
struct SnapshotSource: Sendable {
    /// What is looked at.
    var storage: any BucketStorage
    /// How the source is shown.
    var source: String
    /// What sessions share.
    var sessions: SyncSession.Environment
    /// Counts what is replicated.
    var replication: ReplicationStatistics
    /// Measures what is stored.
    var sizes: StorageSizeJob
    /// When the storage was compacted; `nil` in a process that does not compact.
    var compaction: CompactionStatus?
    /// What keeps the service from working.
    var probes: Probes
    /// What the service did in the last hours.
    var history: ServiceHistory
    /// What was logged of late.
    var errors: RecentErrors
    /// The last error of replication, if it is not solved.
    var failure: @Sendable () -> AdminRoutes.Failure?

    /// What the service does now.
    ///
    /// - Throws: An error of the storage.
    func snapshot() async throws -> ServiceSnapshot {
        let (reports, totals) = sessions.userStreams.report()
        let list = ClientList(reports, search: "", offset: 0, limit: ServiceSnapshot.listLimit)
        return ServiceSnapshot(
            time: sessions.timing.seconds,
            replication: try await replicationSnapshot(),
            clients: ServiceSnapshot.Clients(
                streams: reports.count,
                users: sessions.userStreams.userCount,
                operations: totals.operations,
                bytes: totals.bytes,
                heldBytes: sessions.memory.byteCount,
                activities: Dictionary(reports.map { ($0.activity.rawValue, 1) }, uniquingKeysWith: +),
                list: list.clients
            ),
            storage: try await storageSnapshot(),
            errors: errors.newestFirst
        )
    }

    /// Looks for clients.
    func clients(search: String, offset: Int, limit: Int) -> ClientList {
        ClientList(sessions.userStreams.report().streams, search: search, offset: offset, limit: limit)
    }

    /// Looks for clients that were connected in the last hours, those that have left last first.
    func recent(search: String, offset: Int, limit: Int) -> RecentClientList {
        RecentClientList(sessions.userStreams.recentClients(), search: search, offset: offset, limit: limit)
    }

    private func replicationSnapshot() async throws -> ServiceSnapshot.Replication {
        let counts = replication.counts
        let failure = failure()
        var streams: [ServiceSnapshot.Stream] = []
        for stream in try await storage.streams() {
            let progress = try await storage.progress(of: stream.id)
            streams.append(
                ServiceSnapshot.Stream(
                    id: stream.id.rawValue,
                    state: stream.state.rawValue,
                    versionLabel: stream.versionLabel,
                    slot: stream.sourceHandle,
                    isCopied: stream.isSnapshotDone,
                    tables: progress.tables.count,
                    copiedTables: progress.tables.count(where: \.isSnapshotDone),
                    checkpoint: progress.checkpoint?.opID.description,
                    checkpointedAt: progress.checkpointedAt?.timeIntervalSince1970,
                    position: progress.resumePosition?.lsn.rawValue,
                    copy: counts.copies[stream.id].map { ServiceSnapshot.Copy($0) }
                )
            )
        }
        return ServiceSnapshot.Replication(
            source: source,
            error: failure?.finding.sentence,
            errorAt: failure?.date.timeIntervalSince1970,
            lagSeconds: counts.lag,
            rows: counts.rows,
            bytes: counts.bytes,
            transactions: counts.transactions,
            rowsWithoutID: counts.rowsWithoutID.isEmpty ? nil : counts.rowsWithoutID,
            openTransaction: counts.openTransaction.map {
                ServiceSnapshot.OpenTransaction(changes: $0.changes, committedAt: $0.committedAt)
            },
            streams: streams
        )
    }

    private func storageSnapshot() async throws -> ServiceSnapshot.Storage {
        ServiceSnapshot.Storage(
            bytes: try await storage.size(),
            sizes: sizes.sizes.map { sizes in
                ServiceSnapshot.Sizes(
                    operations: sizes.operations,
                    parameters: sizes.parameters,
                    rows: sizes.rows,
                    buckets: sizes.bucketCount
                )
            },
            problems: probes.problems.map(\.rawValue).sorted(),
            compaction: compaction.map { ServiceSnapshot.Compaction($0) }
        )
    }
}

extension ServiceSnapshot.Copy {
    /// What is known of it.
    init(_ copy: ReplicationStatistics.TableCopy) {
        self.init(
            table: "\(copy.table)",
            rows: copy.rows,
            estimatedRows: copy.estimatedRows,
            tables: copy.tables,
            copiedTables: copy.copiedTables
        )
    }
}

extension ServiceSnapshot.Compaction {
    /// What is known of it.
    fileprivate init(_ status: CompactionStatus) {
        let last = status.last
        self.init(
            isRunning: status.isRunning,
            endedAt: last?.endedAt,
            moved: last?.result?.movedOperations,
            cleared: last?.result?.clearedOperations,
            error: last?.error
        )
    }
}
