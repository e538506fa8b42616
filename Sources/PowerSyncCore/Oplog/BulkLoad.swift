import GRDB
import NIOConcurrencyHelpers
import PowerSyncSQLite

/// What a first download knows of `ps_oplog` instead of its indexes; see ``OplogAccess``.
///
/// It finds rows by key, to supersede them, and the operations of changed rows, to publish them at a partial checkpoint.
/// Both answers may contain too much, so a caller looks at the rows, too.
struct BulkLoad: Sendable {
    /// The rows by bucket and key.
    let keys = KeyDirectory()
    /// The rows that were inserted or updated.
    private let stored = StoredRows()
    /// How much of ``stored`` is in ``covered``, by bucket.
    private var coveredCounts: [Int64: Int] = [:]
    /// The rows of buckets that partial completions have covered, ascending.
    ///
    /// Those that were covered in an earlier process and are not now are added when they are needed, without being counted.
    ///
    /// Sorted by the type and the id that they are about, so that the operations of one row of a table are side by side. A
    /// partial completion merges what has come since the one before, and never sorts all of it again.
    private var covered: [Entry] = []
    /// The buckets whose rows are in ``covered`` without being counted.
    private var uncounted: Set<Int64> = []
    /// The version of the schema with which rows have the ids that are known here.
    ///
    /// VACUUM counts the rows of `ps_oplog` anew, which has no primary key, and no indexes now. It changes this version, and for
    /// the connection that runs it nothing else: `PRAGMA data_version` is about other connections.
    private var schemaVersion: Int64?

    /// A row of `ps_oplog`, and the hash of the type and the id that it is about.
    private struct Entry: Sendable, Comparable {
        var hash: UInt32
        var rowID: UInt32

        static func < (lhs: Entry, rhs: Entry) -> Bool {
            lhs.hash == rhs.hash ? lhs.rowID < rhs.rowID : lhs.hash < rhs.hash
        }
    }

    /// Continues a first download that was interrupted, or begins one.
    init(continuing db: Database) throws {
        let rows = try PreparedStatement(db, sql: "SELECT rowid, bucket, key FROM ps_oplog")
        while try rows.step() {
            let (rowID, bucket) = (rows.integer(at: 0), rows.integer(at: 1))
            if let key = unsafe rows.text(at: 2) {
                unsafe keys.insert(OplogKey.hash(key, bucket: bucket), rowID: rowID)
            }
            stored.append(rowID, bucket: bucket)
        }
        try rememberSchema(db)
    }

    /// The schema was changed by what leaves row ids alone.
    mutating func rememberSchema(_ db: Database) throws {
        schemaVersion = try Self.schemaVersion(db)
    }

    /// Whether rows certainly have the ids that they had.
    func isCurrent(_ db: Database) throws -> Bool {
        try schemaVersion == Self.schemaVersion(db)
    }

    private static func schemaVersion(_ db: Database) throws -> Int64? {
        try Int64.fetchOne(db.cachedStatement(sql: "PRAGMA main.schema_version"))
    }

    /// Whether the rows of so many more operations can be found.
    func hasRoom(for operationCount: Int) -> Bool {
        keys.hasRoom(for: operationCount) && stored.hasRoom(for: operationCount)
    }

    /// A row was inserted.
    func didInsert(_ rowID: Int64, bucket: Int64, keyHash: UInt64) {
        keys.insert(keyHash, rowID: rowID)
        stored.append(rowID, bucket: bucket)
    }

    /// The operation in a row was replaced by a newer one with the same key.
    func didUpdate(_ rowID: Int64, bucket: Int64) {
        stored.append(rowID, bucket: bucket)
    }

    /// Finds all operations of the rows that buckets have changed since they were covered before.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - buckets: All buckets that a partial completion covers.
    ///   - published: All buckets that have published something.
    /// - Returns: Ascending ranges of row ids in `ps_oplog`. They contain the operations of these buckets about changed rows,
    ///   old ones included, and what was published about them.
    /// - Throws: A `DatabaseError`.
    /// - Complexity: O(*m* log *m*) in the number of operations since then, and a pass over the numbers of all rows of these
    ///   buckets.
    mutating func changedRows(
        _ db: Database,
        of buckets: [Int64],
        besides published: [Int64]
    ) throws -> [ClosedRange<Int64>] {
        var counts = coveredCounts
        var runs: [ClosedRange<Int64>] = []
        for bucket in buckets {
            let new = stored.runs(ofBucket: bucket, from: counts[bucket] ?? 0)
            counts[bucket, default: 0] += new.count
            runs += new
        }
        // What they have published since is counted.
        let others = published.filter { counts[$0] == nil && !uncounted.contains($0) }
        let old = others.flatMap { stored.runs(ofBucket: $0, from: 0) }
        guard let changed = try entries(db, in: Self.union(of: runs)),
            let known = try entries(db, in: Self.union(of: old))
        else { return [.min ... .max] }
        coveredCounts = counts
        if !known.isEmpty { _ = merge(known) }
        uncounted.formUnion(others)
        return Self.union(of: merge(changed).map { Int64($0.rowID)...Int64($0.rowID) })
    }

    /// Reads which types and ids rows are about.
    ///
    /// - Returns: `nil` when a row id is too large.
    private func entries(_ db: Database, in runs: [ClosedRange<Int64>]) throws -> [Entry]? {
        let rows = try PreparedStatement(
            db,
            sql: "SELECT rowid, row_type, row_id FROM ps_oplog WHERE rowid BETWEEN ?1 AND ?2"
        )
        defer { rows.reset() }
        var entries: [Entry] = []
        var key = OplogKey()
        for run in runs {
            rows.bind(run.lowerBound, at: 1)
            rows.bind(run.upperBound, at: 2)
            while try rows.step() {
                guard let rowID = UInt32(exactly: rows.integer(at: 0)) else { return nil }
                guard let type = unsafe rows.text(at: 1), let id = unsafe rows.text(at: 2) else { continue }
                unsafe key.set(type: type, id: id, subkey: nil)
                entries.append(Entry(hash: KeyDirectory.fold(key.hash(bucket: 0)), rowID: rowID))
            }
        }
        entries.sort()
        return entries
    }

    /// Adds entries to ``covered``.
    ///
    /// - Returns: Those of all entries that have the hash of an added one.
    private mutating func merge(_ added: [Entry]) -> [Entry] {
        var merged: [Entry] = []
        merged.reserveCapacity(covered.count + added.count)
        // Both are sorted, which Swift's sort makes use of.
        for entry in (covered + added).sorted() where merged.last != entry { merged.append(entry) }
        covered = merged
        let hashes = Set(added.lazy.map(\.hash))
        return merged.filter { hashes.contains($0.hash) }
    }

    /// Ranges that contain what others contain, ascending and apart from each other.
    private static func union(of ranges: [ClosedRange<Int64>]) -> [ClosedRange<Int64>] {
        var union: [ClosedRange<Int64>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = union.last, range.lowerBound <= last.upperBound || range.lowerBound == last.upperBound + 1 {
                union[union.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                union.append(range)
            }
        }
        return union
    }
}

/// Which rows of `ps_oplog` were inserted or updated, by bucket, in the order in which that happened.
///
/// Rows of a line mostly get consecutive ids, so they are kept as runs. As in a ``KeyDirectory``, what a rolled-back
/// transaction has added stays, which is why copies of the engine value may share the object; row ids of later
/// transactions may be the same ones.
final class StoredRows: Sendable {
    private struct State {
        /// The finished runs.
        var runs: [Int64: [ClosedRange<Int64>]] = [:]
        /// Their number.
        var count = 0
        /// The run that grows, and its bucket.
        var current: (bucket: Int64, run: ClosedRange<Int64>)?

        /// Ends the run that grows.
        mutating func finishRun() {
            guard let (bucket, run) = current else { return }
            runs[bucket, default: []].append(run)
            count += 1
            current = nil
        }
    }

    /// The largest number of runs; they then take 64 MiB.
    private static let maximumCount = 4_000_000

    private let state = NIOLockedValueBox(State())

    /// Whether so many more rows can be added.
    func hasRoom(for count: Int) -> Bool {
        state.withLockedValue { $0.count <= Self.maximumCount - count }
    }

    /// Adds a row.
    func append(_ rowID: Int64, bucket: Int64) {
        state.withLockedValue { state in
            if let (lastBucket, run) = state.current, lastBucket == bucket, run.upperBound < rowID,
                run.upperBound + 1 == rowID
            {
                state.current = (bucket, run.lowerBound...rowID)
            } else {
                state.finishRun()
                state.current = (bucket, rowID...rowID)
            }
        }
    }

    /// The runs of a bucket except for the first ones.
    ///
    /// What is added later begins with a new run.
    func runs(ofBucket bucket: Int64, from start: Int) -> ArraySlice<ClosedRange<Int64>> {
        state.withLockedValue { state in
            state.finishRun()
            return state.runs[bucket]?[start...] ?? []
        }
    }
}
