import GRDB

/// How rows of `ps_oplog` are found during an iteration.
///
/// A large first download drops the three indexes and finds rows through a ``BulkLoad``, for storing operations and for
/// partial checkpoints. The indexes are created when everything is there, before the complete checkpoint is published:
///
/// ```
///   undecided ─────────────▶ indexed
///     │    │ much to come     │ much to come
///     │    ▼                  ▼
///     │  bulkLoad ◀───────────┘
///     │    │ all is there, or the directories are full
///     ▼    ▼
///   indexing ──────────────▶ indexedForGood
///     │    ▲
///     └────┘ one index in each transaction
/// ```
///
/// A crash leaves a file without some of the indexes, which the next iteration goes on with; no operation depends on them
/// for its result.
enum OplogAccess: Sendable {
    /// Not decided yet in this iteration; indexes may be missing.
    case undecided
    /// The indexes do not exist.
    case bulkLoad(BulkLoad)
    /// The indexes are being created.
    case indexing
    /// The indexes exist.
    case indexed
    /// The indexes exist, and stay for this iteration: creating them once more would cost more than it saves.
    case indexedForGood

    /// The number of operations still to download from which a bulk load pays off.
    static let bulkLoadThreshold: Int64 = 20_000

    /// Looks up anew what a bulk load knows of rows, if they may have got other ids since the last transaction.
    ///
    /// Once for each transaction is enough: VACUUM runs in none. Every other change of the schema counts as well, of which an
    /// app makes few while it downloads for the first time.
    mutating func revalidate(_ db: Database) throws {
        switch self {
        case .undecided, .indexing, .indexed, .indexedForGood:
            break
        case .bulkLoad(let load):
            if try !load.isCurrent(db) { self = .bulkLoad(try BulkLoad(continuing: db)) }
        }
    }

    /// Decides how to find keys for the next data line.
    ///
    /// A directory that could miss a key of the line is not used: a REMOVE would not find its row.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - asBulkLoad: Whether much is to come, and no complete checkpoint was ever applied.
    ///   - operationCount: The number of operations in the line.
    /// - Returns: Whether the line can be stored. If not, see ``useIndexes(_:)``.
    /// - Throws: A `DatabaseError`.
    mutating func prepareToStore(_ db: Database, asBulkLoad: Bool, operationCount: Int) throws -> Bool {
        switch self {
        case .indexedForGood:
            return true
        case .undecided where asBulkLoad, .indexed where asBulkLoad:
            var load = try BulkLoad(continuing: db)
            if load.hasRoom(for: operationCount) {
                try OplogIndexes.drop(db)
                try load.rememberSchema(db)
                self = .bulkLoad(load)
                return true
            }
            self = .indexing
            return try useIndexes(db)
        case .bulkLoad(let load) where load.hasRoom(for: operationCount):
            return true
        case .undecided, .bulkLoad, .indexing, .indexed:
            return try useIndexes(db)
        }
    }

    /// Creates an index if one is missing.
    ///
    /// - Returns: Whether all of them exist. If not, the transaction has to end, so that others can write, and what they are
    ///   needed for has to be tried again in another one.
    mutating func useIndexes(_ db: Database) throws -> Bool {
        switch self {
        case .indexed, .indexedForGood:
            return true
        case .undecided:
            let wasMissing = try OplogIndexes.createNext(db)
            self = wasMissing ? .indexing : .indexed
            return !wasMissing
        case .bulkLoad, .indexing:
            let wasMissing = try OplogIndexes.createNext(db)
            self = wasMissing ? .indexing : .indexedForGood
            return !wasMissing
        }
    }

    /// Where to look for the rows that buckets have changed, when there are no indexes to find them by.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - buckets: The ids of all buckets that a partial completion covers.
    ///   - published: The ids of all buckets that have published something.
    /// - Returns: Ranges of row ids, which contain all covered and all published operations about changed rows; `nil` when the indexes exist.
    /// - Throws: A `DatabaseError`.
    mutating func changedRows(
        _ db: Database,
        of buckets: [Int64],
        besides published: [Int64]
    ) throws -> [ClosedRange<Int64>]? {
        switch self {
        case .indexed, .indexedForGood:
            return nil
        case .undecided, .indexing:
            return try OplogIndexes.exist(db) ? nil : [.min ... .max]
        case .bulkLoad(var load):
            let rows = try load.changedRows(db, of: buckets, besides: published)
            self = .bulkLoad(load)
            return rows
        }
    }

    /// What is known instead of the indexes.
    var bulkLoad: BulkLoad? {
        switch self {
        case .undecided, .indexing, .indexed, .indexedForGood: nil
        case .bulkLoad(let load): load
        }
    }
}
