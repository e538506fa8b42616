package import PowerSyncSyncConfig

/// What parts of sync configs have left that a stream does not have any more: buckets and lookups that no client can ask for.
///
/// Names of parts are never given again (`PlanContinuation`), so what is left stays so. It goes in steps, each a transaction of its own:
///
/// 1. The states of rows forget what they gave to it, table by table.
/// 2. Operations, parameter entries and notes about them are deleted, and then buckets and lookups, of which nothing was written
///    meanwhile: a writer that has not heard of a deployment may do so for a moment. They go with the next run.
package struct StreamLeftovers: Sendable {
    /// The numbers of the buckets.
    package let buckets: Set<Int64>
    /// The numbers of the lookups.
    package let lookups: Set<Int64>

    /// The most row states of one transaction.
    package static let rows = 1000
    /// The most operations and entries that one transaction deletes.
    package static let deleted = 5000

    /// Finds what is left among what was there when the plan was read, or before.
    ///
    /// - Parameters:
    ///   - buckets: The numbers and names of buckets of the stream.
    ///   - lookups: Those of its lookups.
    ///   - plan: What its rows are evaluated with, also for the next config.
    ///   - bucketPrefix: What all names of its buckets start with.
    package init(
        buckets: [(id: Int64, name: String)],
        lookups: [(id: Int64, name: String)],
        plan: SyncPlan,
        bucketPrefix: String
    ) {
        // A name ends where the values of parameters begin. One that has a bracket of its own is kept too long rather than too short.
        let names = plan.buckets.map { Array((bucketPrefix + $0.name + "[").utf8) }
        let scopes = plan.lookupScopes.map { Array(($0 + "[").utf8) }
        self.buckets = Set(buckets.filter { bucket in !names.contains { bucket.name.utf8.starts(with: $0) } }.map(\.id))
        self.lookups = Set(
            lookups.filter { lookup in !scopes.contains { lookup.name.utf8.starts(with: $0) } }.map(\.id)
        )
    }

    /// Whether nothing is left.
    package var isEmpty: Bool { buckets.isEmpty && lookups.isEmpty }

    /// Takes what a row gave to it out of its state.
    ///
    /// - Parameters:
    ///   - state: The state.
    ///   - entries: The parameter entries of ``lookups``, as far as the row may have them.
    /// - Returns: Whether there was something.
    package func remove(from state: inout StoredRow, entries: Set<Int64>) -> Bool {
        let (puts, known) = (state.puts.count, state.entries.count)
        state.puts.removeAll { buckets.contains($0.membership.bucket) }
        state.entries.removeAll { entries.contains($0.opID) }
        return state.puts.count < puts || state.entries.count < known
    }
}
