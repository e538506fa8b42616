import GRDB

/// How rows of `ps_oplog` are found during an iteration (`design.md` 4, "First sync is a bulk load").
///
/// While a database has never synced, nothing reads `ps_oplog` but the ingestion itself, which only looks for keys. A
/// large first download drops the three indexes, finds keys through a ``KeyDirectory``, and creates the indexes before
/// the first checkpoint is applied. A crash leaves a file without indexes, which the next iteration or the next opening
/// repairs; no operation depends on them for its result.
enum OplogAccess: Sendable {
    /// Not decided yet in this iteration; the indexes may be missing.
    case undecided
    /// The indexes exist.
    case indexed
    /// The indexes do not exist.
    case bulkLoad(KeyDirectory)

    /// The number of operations still to download from which a bulk load pays off.
    static let bulkLoadThreshold: Int64 = 20_000

    /// Decides how to find keys for the next data lines.
    ///
    /// `asBulkLoad` says that much is to come, and that no checkpoint, complete or partial, was ever applied. A directory
    /// that could miss a key of the next `operationCount` operations is not used: a REMOVE would not find its row.
    mutating func prepareToStore(asBulkLoad: Bool, operationCount: Int, _ db: Database) throws {
        switch self {
        case .indexed:
            break
        case .undecided where asBulkLoad:
            try OplogIndexes.drop(db)
            let directory = try Self.directoryOfStoredKeys(db)
            self = .bulkLoad(directory)
            if !directory.hasRoom(for: operationCount) { try useIndexes(db) }
        case .undecided:
            try useIndexes(db)
        case .bulkLoad(let directory):
            if !directory.hasRoom(for: operationCount) { try useIndexes(db) }
        }
    }

    /// Creates the indexes unless they exist, before anything else than ingestion reads `ps_oplog`.
    mutating func useIndexes(_ db: Database) throws {
        switch self {
        case .indexed:
            break
        case .undecided, .bulkLoad:
            try OplogIndexes.ensureExist(db)
            self = .indexed
        }
    }

    /// The directory to find keys with, if there is no index.
    var directory: KeyDirectory? {
        switch self {
        case .undecided, .indexed: nil
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
