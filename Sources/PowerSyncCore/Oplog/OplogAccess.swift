import GRDB

/// How rows of `ps_oplog` are found during an iteration.
///
/// Until a checkpoint is applied, nothing reads `ps_oplog` but the ingestion itself, which only looks for keys. A large
/// first download drops the three indexes, finds keys through a ``KeyDirectory``, and creates the indexes before a
/// checkpoint is applied. When that was a partial one and most is still to come, the indexes are dropped once more. A
/// crash leaves a file without indexes, which the next iteration or the next opening repairs; no operation depends on
/// them for its result.
enum OplogAccess: Sendable {
    /// Not decided yet in this iteration; the indexes may be missing.
    case undecided
    /// The indexes exist.
    case indexed
    /// The indexes exist, and stay for this iteration: a directory could not do their work.
    case indexedForGood
    /// The indexes do not exist.
    case bulkLoad(KeyDirectory)

    /// The number of operations still to download from which a bulk load pays off.
    static let bulkLoadThreshold: Int64 = 20_000

    /// Decides how to find keys for the next data lines.
    ///
    /// `asBulkLoad` says that much is to come, and that no complete checkpoint was ever applied. A directory that could
    /// miss a key of the next `operationCount` operations is not used: a REMOVE would not find its row.
    mutating func prepareToStore(asBulkLoad: Bool, operationCount: Int, _ db: Database) throws {
        switch self {
        case .indexedForGood:
            break
        case .undecided where asBulkLoad, .indexed where asBulkLoad:
            try OplogIndexes.drop(db)
            try load(with: Self.directoryOfStoredKeys(db), operationCount: operationCount, db)
        case .undecided, .indexed:
            try useIndexes(db)
        case .bulkLoad(let directory):
            try load(with: directory, operationCount: operationCount, db)
        }
    }

    private mutating func load(with directory: KeyDirectory, operationCount: Int, _ db: Database) throws {
        self = .bulkLoad(directory)
        guard !directory.hasRoom(for: operationCount) else { return }
        try useIndexes(db)
        self = .indexedForGood
    }

    /// Creates the indexes unless they exist, before anything else than ingestion reads `ps_oplog`.
    mutating func useIndexes(_ db: Database) throws {
        switch self {
        case .indexed, .indexedForGood:
            break
        case .undecided, .bulkLoad:
            try OplogIndexes.ensureExist(db)
            self = .indexed
        }
    }

    /// The directory to find keys with, if there is no index.
    var directory: KeyDirectory? {
        switch self {
        case .undecided, .indexed, .indexedForGood: nil
        case .bulkLoad(let directory): directory
        }
    }

    /// Continues a first download that was interrupted.
    private static func directoryOfStoredKeys(_ db: Database) throws -> KeyDirectory {
        let directory = KeyDirectory()
        let rows = try RawStatement(db, sql: "SELECT rowid, bucket, key FROM ps_oplog WHERE key IS NOT NULL")
        while try rows.step() {
            guard let key = rows.text(at: 2) else { continue }
            directory.insert(OplogKey.hash(key, bucket: rows.integer(at: 1)), rowID: rows.integer(at: 0))
        }
        return directory
    }
}
