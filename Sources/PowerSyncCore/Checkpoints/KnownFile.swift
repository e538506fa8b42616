import GRDB

/// What the engine knows of the file, in memory.
///
/// Part of the engine's value: what is learned in a transaction that is rolled back is forgotten with it.
struct KnownFile: Sendable {
    /// The rows of `ps_buckets`.
    var buckets = BucketTable()
    /// How operations are found by key.
    var access = OplogAccess.undecided
    /// What was learned about the tables that are published to.
    var schema = KnownSchema()

    /// Reads the buckets at the start of an iteration, before which anything may have happened to the tables.
    mutating func load(_ db: Database) throws {
        // Something may have been stored in this very transaction.
        try buckets.flush(db)
        try buckets.load(db)
        access = .undecided
    }

    /// Brings in line with the file what is known of buckets and operations.
    ///
    /// - Returns: Whether what an iteration builds on is gone.
    mutating func revalidate(_ db: Database) throws -> Bool {
        switch try buckets.revalidate(db) {
        case .unchanged:
            try access.revalidate(db)
            return false
        case .changed:
            access = .undecided
            return false
        case .cleared:
            access = .undecided
            return true
        }
    }
}
