package import PowerSyncProtocol
package import PowerSyncSyncConfig

/// The buckets and lookups of a session, for buckets and for write checkpoints: a change of one concerns it.
package struct Interest: Sendable, Equatable {
    /// The buckets of the client.
    package var buckets: Set<BucketName>
    /// The parameter lookups that led to them.
    package var lookups: Set<ParameterLookup>
    /// The lookups that give the client's write checkpoints, where rows of the source tell them.
    package var writeCheckpoints: Set<ParameterLookup>

    /// Creates an interest, empty by default.
    package init(
        buckets: Set<BucketName> = [],
        lookups: Set<ParameterLookup> = [],
        writeCheckpoints: Set<ParameterLookup> = []
    ) {
        self.buckets = buckets
        self.lookups = lookups
        self.writeCheckpoints = writeCheckpoints
    }
}

/// A session of this process, while it is registered.
struct SessionID: Hashable, Sendable {
    /// Never given out twice.
    let rawValue: UInt64
}

/// Finds the sessions that want a bucket or depend on a lookup.
struct InterestIndex: Sendable {
    private var interests: [SessionID: Interest] = [:]
    private var byBucket: [BucketName: Set<SessionID>] = [:]
    private var byLookup: [ParameterLookup: Set<SessionID>] = [:]
    private var byWriteCheckpoint: [ParameterLookup: Set<SessionID>] = [:]

    /// Whether no session has an interest.
    var isEmpty: Bool {
        interests.isEmpty && byBucket.isEmpty && byLookup.isEmpty && byWriteCheckpoint.isEmpty
    }

    /// The interest of a session.
    subscript(session: SessionID) -> Interest { interests[session] ?? Interest() }

    /// The sessions that have a bucket.
    subscript(bucket: BucketName) -> Set<SessionID> { byBucket[bucket] ?? [] }

    /// The sessions whose buckets depend on a lookup.
    subscript(lookup: ParameterLookup) -> Set<SessionID> { byLookup[lookup] ?? [] }

    /// The sessions whose write checkpoints a lookup gives.
    subscript(writeCheckpoint lookup: ParameterLookup) -> Set<SessionID> { byWriteCheckpoint[lookup] ?? [] }

    /// Replaces the interest of a session.
    mutating func update(_ interest: Interest, of session: SessionID) {
        let old = self[session]
        for bucket in old.buckets where !interest.buckets.contains(bucket) { byBucket.remove(session, from: bucket) }
        for lookup in old.lookups where !interest.lookups.contains(lookup) { byLookup.remove(session, from: lookup) }
        for lookup in old.writeCheckpoints where !interest.writeCheckpoints.contains(lookup) {
            byWriteCheckpoint.remove(session, from: lookup)
        }
        for bucket in interest.buckets { byBucket[bucket, default: []].insert(session) }
        for lookup in interest.lookups { byLookup[lookup, default: []].insert(session) }
        for lookup in interest.writeCheckpoints { byWriteCheckpoint[lookup, default: []].insert(session) }
        interests[session] = interest
    }

    /// Forgets a session.
    mutating func remove(_ session: SessionID) {
        update(Interest(), of: session)
        interests[session] = nil
    }
}

extension Dictionary where Value == Set<SessionID> {
    fileprivate mutating func remove(_ session: SessionID, from key: Key) {
        self[key]?.remove(session)
        if self[key]?.isEmpty == true { self[key] = nil }
    }
}
