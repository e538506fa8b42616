import PowerSyncProtocol
import PowerSyncRules

/// Finds the buckets of one client at a checkpoint, with their checksums.
///
/// Remembers the last result: buckets are looked up again only if a parameter lookup changed, and checksums are read only
/// for buckets that are new or changed (docs/sync-config.md "When buckets are found again").
struct BucketResolver: Sendable {
    /// What was found at a checkpoint.
    private struct Result {
        var candidate: SyncSession.Candidate
        /// The lookups that led to the buckets.
        var lookups: Set<ParameterLookup>
    }

    private let storage: any BucketStorage
    private let querier: BucketQuerier
    private let limits: BucketLimits
    private let writeCheckpointKey: String
    private var last: Result?
    /// Rows that the parameter lookups of the last evaluation returned.
    ///
    /// For the log.
    private(set) var parameterResultCount = 0

    /// Creates a resolver for one connection.
    ///
    /// - Parameters:
    ///   - storage: Where parameters and checksums are read.
    ///   - querier: What the client asks for.
    ///   - limits: Limits of the connection.
    ///   - writeCheckpointKey: Whose write checkpoints are announced.
    init(storage: any BucketStorage, querier: BucketQuerier, limits: BucketLimits, writeCheckpointKey: String) {
        self.storage = storage
        self.querier = querier
        self.limits = limits
        self.writeCheckpointKey = writeCheckpointKey
    }

    /// The buckets at a checkpoint that is not older than the last one.
    ///
    /// - Throws: `BucketLimitError` when the client has too many, or an error of the storage.
    mutating func candidate(at checkpoint: StorageCheckpoint) async throws -> SyncSession.Candidate {
        let changes: CheckpointChanges =
            if let last { try await storage.changes(from: last.candidate.checkpoint, to: checkpoint) } else { .unknown }
        let (buckets, lookups) = try await buckets(at: checkpoint, changes: changes)

        var checksums: [BucketName: BucketChecksum] = [:]
        checksums.reserveCapacity(buckets.count)
        var unknown: [BucketName] = []
        for bucket in buckets {
            if let known = last?.candidate.checksums[bucket.name], !changes.mayAffect(bucket: bucket.name) {
                checksums[bucket.name] = known
            } else {
                unknown.append(bucket.name)
            }
        }
        if !unknown.isEmpty {
            let read = try await storage.checksums(unknown, at: checkpoint)
            for name in unknown { checksums[name] = read[name] ?? .empty }
        }

        let candidate = SyncSession.Candidate(
            checkpoint: checkpoint,
            writeCheckpoint: try await storage.visibleWriteCheckpoint(userKey: writeCheckpointKey, at: checkpoint),
            buckets: buckets,
            checksums: checksums
        )
        last = Result(candidate: candidate, lookups: lookups)
        return candidate
    }

    private mutating func buckets(
        at checkpoint: StorageCheckpoint,
        changes: CheckpointChanges
    ) async throws -> ([ResolvedBucket], Set<ParameterLookup>) {
        if let last, !querier.hasDynamicBuckets || !changes.mayAffect(lookups: last.lookups) {
            return (last.candidate.buckets, last.lookups)
        }
        var used: Set<ParameterLookup> = []
        var rowCount = 0
        let buckets = try await querier.buckets(limits: limits) { lookups in
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
        return (buckets, used)
    }
}

extension CheckpointChanges {
    /// Whether a bucket may have other operations.
    fileprivate func mayAffect(bucket: BucketName) -> Bool {
        switch self {
        case .unknown: true
        case .known(let buckets, _): buckets.contains(bucket)
        }
    }

    /// Whether one of these lookups may give other rows.
    fileprivate func mayAffect(lookups: Set<ParameterLookup>) -> Bool {
        switch self {
        case .unknown: true
        case .known(_, let changed): !changed.isDisjoint(with: lookups)
        }
    }
}
