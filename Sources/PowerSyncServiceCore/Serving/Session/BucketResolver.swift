import PowerSyncProtocol
import PowerSyncSyncConfig

/// Finds the buckets of one client at a checkpoint, with their checksums.
///
/// Remembers the last result: buckets are looked up again only if a parameter lookup changed, and checksums are read
/// only for buckets that are new, or changed and not read by the dispatcher (docs/sync-config.md "When buckets are
/// found again").
struct BucketResolver: Sendable {
    /// The buckets of a client at a checkpoint.
    private struct Result {
        var candidate: SyncSession.Candidate
        /// The lookups that led to the buckets.
        var lookups: Set<ParameterLookup>
    }

    private let storage: any BucketStorage
    private let querier: BucketQuerier
    private let limits: BucketLimits
    private let writeCheckpoints: WriteCheckpointOrigin
    private var last: Result?
    /// Rows that the parameter lookups of the last evaluation returned.
    ///
    /// For the log.
    private(set) var parameterResultCount = 0
    /// The position at which another write checkpoint becomes visible, if one was found waiting.
    private(set) var nextWriteCheckpoint: LSN?

    /// The lookups and buckets that may change the last result.
    var interest: Interest {
        guard let last else { return Interest() }
        var interest = Interest(buckets: Set(last.candidate.buckets.map(\.name)), lookups: last.lookups)
        if case .source(let lookups) = writeCheckpoints { interest.writeCheckpoints = Set(lookups) }
        return interest
    }

    /// Creates a resolver for one connection.
    ///
    /// - Parameters:
    ///   - storage: Where parameters and checksums are read.
    ///   - querier: What the client asks for.
    ///   - limits: Limits of the connection.
    ///   - writeCheckpoints: Where the write checkpoints come from that are announced.
    init(
        storage: any BucketStorage,
        querier: BucketQuerier,
        limits: BucketLimits,
        writeCheckpoints: WriteCheckpointOrigin
    ) {
        self.storage = storage
        self.querier = querier
        self.limits = limits
        self.writeCheckpoints = writeCheckpoints
    }

    /// The buckets at the checkpoint of some news.
    ///
    /// After an error, ask the dispatcher for a checkpoint with an unknown scope: the changes of this one have been
    /// taken.
    ///
    /// - Throws: `BucketLimitError` when the client has too many, or an error of the storage.
    mutating func candidate(for news: CheckpointNews) async throws -> SyncSession.Candidate {
        let (checkpoint, scope) = (news.checkpoint, news.scope)
        let (found, lookups) = try await buckets(at: checkpoint, scope)
        let checksums = try await checksums(of: found.buckets, at: checkpoint, scope)
        var writeCheckpoint = last?.candidate.writeCheckpoint
        nextWriteCheckpoint = nil
        if last == nil || scope.isUnknown || scope.hasWriteCheckpoint {
            switch writeCheckpoints {
            case .service(let key):
                writeCheckpoint = try await storage.visibleWriteCheckpoint(userKey: key, at: checkpoint)
                nextWriteCheckpoint = try await storage.nextWriteCheckpoint(userKey: key, after: checkpoint)
            case .source(let lookups):
                writeCheckpoint = try await storage.writeCheckpoint(lookups, at: checkpoint)
            }
        }
        let candidate = SyncSession.Candidate(
            checkpoint: checkpoint,
            writeCheckpoint: writeCheckpoint,
            buckets: found.buckets,
            checksums: checksums,
            streams: found.streams,
            refusals: found.refusals
        )
        last = Result(candidate: candidate, lookups: lookups)
        return candidate
    }

    private func checksums(
        of buckets: [ResolvedBucket],
        at checkpoint: StorageCheckpoint,
        _ scope: CheckpointNews.Scope
    ) async throws -> [BucketName: BucketChecksum] {
        var checksums: [BucketName: BucketChecksum]
        var unread: [BucketName] = []
        if scope.mayHaveOtherBuckets {
            checksums = [:]
            for bucket in buckets.lazy.map(\.name) {
                let isChanged = scope.isUnknown || scope.buckets.contains(bucket)
                checksums[bucket] = isChanged ? nil : last?.candidate.checksums[bucket]
                if checksums[bucket] == nil { unread.append(bucket) }
            }
        } else {
            checksums = last?.candidate.checksums ?? [:]
            for bucket in scope.buckets {
                if let checksum = scope.checksums[bucket] {
                    checksums[bucket] = checksum
                } else {
                    unread.append(bucket)
                }
            }
        }
        guard !unread.isEmpty else { return checksums }
        let read = try await storage.checksums(unread, at: checkpoint)
        for name in unread { checksums[name] = read[name] ?? .empty }
        return checksums
    }

    private mutating func buckets(
        at checkpoint: StorageCheckpoint,
        _ scope: CheckpointNews.Scope
    ) async throws -> (FoundBuckets, Set<ParameterLookup>) {
        if let last, !querier.hasDynamicBuckets || !scope.mayHaveOtherBuckets {
            let known = last.candidate
            return (
                FoundBuckets(buckets: known.buckets, streams: known.streams, refusals: known.refusals), last.lookups
            )
        }
        var used: Set<ParameterLookup> = []
        var rowCount = 0
        let found = try await querier.buckets(limits: limits) { lookups in
            used.formUnion(lookups)
            let rows = try await storage.parameterRows(
                lookups,
                at: checkpoint,
                limit: limits.maximumParameterResults
            )
            rowCount += rows.values.reduce(0) { $0 + $1.count }
            return rows
        }
        parameterResultCount = rowCount
        return (found, used)
    }
}
