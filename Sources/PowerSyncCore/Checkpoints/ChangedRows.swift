import GRDB
import PowerSyncProtocol
import PowerSyncSQLite

/// The rows that an apply has to evaluate again, with their newest data (docs/client-sync.md "Publishing rows").
///
/// A row is identified by (type, id). Its value is the data of its operation with the highest op id; without one, or
/// with NULL data, it is to be deleted. Operations without type or id cannot be shown.
///
/// All but ``partialAmong(_:covered:)`` need the indexes of `ps_oplog`.
enum ChangedRows {
    /// Complete checkpoint when nothing was applied before: every row is due, and so are those of `ps_updated_rows`.
    case everything
    /// Complete checkpoint: operations beyond `last_applied_op`, and the rows of `ps_updated_rows`.
    ///
    /// - unapplied: The ids of the buckets that can have such operations; `nil` looks into all.
    case complete(unapplied: [Int64]?)
    /// Partial checkpoint: only what the covered buckets say, and no deletions of earlier rows.
    ///
    /// What other buckets have published counts, too: nothing older takes its place, since the next complete checkpoint has no
    /// reason to look at the row again. What was published may be gone from `ps_oplog`, because a newer operation has taken its
    /// place that is not published yet, or none; then the data may be older than what is shown, see ``Element/mayBeOutdated``.
    ///
    /// - unapplied: The ids of those among `covered` that can have such operations.
    /// - published: The highest op id that was published, if a published operation may be gone; otherwise zero.
    /// - beforeReset: The op id up to which operations of any bucket may have been published, although it does not say so.
    case partial(covered: [Int64], unapplied: [Int64], published: OpID, beforeReset: OpID)
    /// Partial checkpoint without indexes: the changed ones among the rows of some operations.
    ///
    /// The operations are given as ranges of row ids, which contain all those about a changed row that are covered, that are
    /// published, or that have taken the place of published ones.
    case partialAmong([ClosedRange<Int64>], covered: [Int64], published: OpID, beforeReset: OpID)
    /// No checkpoint: the rows of a type that wait in `ps_untyped`, see ``WaitingRows``.
    case waiting(type: String, table: RowTable)

    /// A row to evaluate, whose texts are valid while the closure of ``ChangedRows/forEach(_:_:)`` runs.
    ///
    /// `@safe`: it reads no bytes; who does says `unsafe`.
    @safe struct Element {
        /// The name of the table.
        let type: UnsafeRawBufferPointer
        let id: UnsafeRawBufferPointer
        /// The newest data; `nil` when the row is to be deleted.
        let data: UnsafeRawBufferPointer?
        /// Whether the row may be shown with newer data than this, which no operation has any more.
        ///
        /// The next complete checkpoint evaluates it again.
        let mayBeOutdated: Bool
    }

    /// Calls a closure with every changed row, ordered by type in each of the statements.
    func forEach(_ db: Database, _ body: (Element) throws -> Void) throws {
        for (sql, arguments) in statements {
            let rows = try PreparedStatement(db, sql: sql)
            defer { rows.reset() }
            for (index, argument) in arguments.enumerated() {
                try rows.bind(checkedText: argument, at: CInt(index + 1))
            }
            while try rows.step() {
                guard let type = unsafe rows.text(at: 0), let id = unsafe rows.text(at: 1) else { continue }
                let mayBeOutdated = isPartial && rows.integer(at: 3) != 0
                try unsafe body(Element(type: type, id: id, data: rows.text(at: 2), mayBeOutdated: mayBeOutdated))
            }
        }
    }

    private var isPartial: Bool {
        switch self {
        case .everything, .complete, .waiting: false
        case .partial, .partialAmong: true
        }
    }

    /// The statements to run one after the other, with their arguments.
    var statements: [(sql: String, arguments: [String])] {
        switch self {
        case .everything: [(Self.storedRows, []), (Self.vanishedRows, [])]
        case .complete(unapplied: nil): [(Self.changedRowsOfAllBuckets, [])]
        case .complete(unapplied: let ids?) where ids.count == 1: [(Self.changedRowsOfBucket, [String(ids[0])])]
        case .complete(unapplied: let ids?): [(Self.changedRowsOfBuckets, [Self.list(ids)])]
        case .partial(let covered, let unapplied, let published, let beforeReset):
            [
                (
                    Self.changedRowsOfCoveredBuckets,
                    [Self.list(unapplied), Self.list(covered), "\(published.rawValue)", "\(beforeReset.rawValue)"]
                )
            ]
        case .partialAmong(let operations, let covered, let published, let beforeReset):
            [
                (
                    Self.changedRowsAmongOperations,
                    [Self.list(operations), Self.list(covered), "\(published.rawValue)", "\(beforeReset.rawValue)"]
                )
            ]
        case .waiting(let type, let table): [(WaitingRows.sql(table), [type])]
        }
    }

    private static func list(_ ids: [Int64]) -> String {
        "[" + ids.map(String.init).joined(separator: ",") + "]"
    }

    private static func list(_ ranges: [ClosedRange<Int64>]) -> String {
        "[" + ranges.map { "[\($0.lowerBound),\($0.upperBound)]" }.joined(separator: ",") + "]"
    }
}

// MARK: - SQL

// Notes on the shapes: CROSS JOIN keeps SQLite from reordering, so that operations are found through `ps_oplog_opid`.
// There is no DISTINCT and no UNION, since the GROUP BY removes duplicates with one temporary b-tree. A bare column
// beside a single max() comes from the row with the maximum.
//
// INDEXED BY, because the planner may believe statistics that ANALYZE has left when there were few operations: it would then read
// all of `ps_oplog` for every bucket and for every changed row. Without the index it is an error, so these run only when
// ``OplogAccess`` has found that it exists.
extension ChangedRows {
    /// In the order of the index `ps_oplog_row`, hence without sorting, and in the order of the tables written to.
    private static let storedRows = """
        SELECT row_type, row_id, data, max(op_id) FROM ps_oplog INDEXED BY ps_oplog_row
        WHERE row_type IS NOT NULL AND row_id IS NOT NULL AND op_id > 0
        GROUP BY row_type, row_id
        """

    private static let vanishedRows = """
        SELECT row_type, row_id, NULL FROM ps_updated_rows AS updated
        WHERE NOT EXISTS (
            SELECT 1 FROM ps_oplog AS r INDEXED BY ps_oplog_row
            WHERE r.row_type = updated.row_type AND r.row_id = updated.row_id AND r.op_id > 0
        )
        """

    private static let newestData = """
        SELECT iif(max(r.op_id), r.data, NULL) FROM ps_oplog AS r INDEXED BY ps_oplog_row
        WHERE r.row_type = changed.row_type AND r.row_id = changed.row_id
        """

    private static let changedRowsOfAllBuckets = changedRows(ofBucketsWhere: "TRUE")

    /// The usual case after the first sync.
    ///
    /// A list of one would be read from JSON into a table in memory first.
    private static let changedRowsOfBucket = changedRows(ofBucketsWhere: "b.id = ?1")

    private static func changedRows(ofBucketsWhere condition: String) -> String {
        """
        WITH changed AS (
            SELECT o.row_type, o.row_id
            FROM ps_buckets AS b
            CROSS JOIN ps_oplog AS o INDEXED BY ps_oplog_opid ON o.bucket = b.id AND o.op_id > b.last_applied_op
            WHERE \(condition)
            UNION ALL
            SELECT row_type, row_id FROM ps_updated_rows
        )
        SELECT row_type, row_id, (\(newestData)) FROM changed
        GROUP BY row_type, row_id
        """
    }

    private static let changedRowsOfBuckets = """
        WITH unapplied (id) AS MATERIALIZED (SELECT value FROM json_each(?1)),
        changed AS (
            SELECT o.row_type, o.row_id
            FROM unapplied
            CROSS JOIN ps_buckets AS b ON b.id = unapplied.id
            CROSS JOIN ps_oplog AS o INDEXED BY ps_oplog_opid ON o.bucket = b.id AND o.op_id > b.last_applied_op
            UNION ALL
            SELECT row_type, row_id FROM ps_updated_rows
        )
        SELECT row_type, row_id, (\(newestData)) FROM changed
        GROUP BY row_type, row_id
        """

    private static let changedRowsOfCoveredBuckets = """
        WITH unapplied (id) AS MATERIALIZED (SELECT value FROM json_each(?1)),
        covered (id) AS MATERIALIZED (SELECT value FROM json_each(?2)),
        changed AS (
            SELECT o.row_type, o.row_id, max(o.op_id) AS op_id
            FROM unapplied
            CROSS JOIN ps_buckets AS b ON b.id = unapplied.id
            CROSS JOIN ps_oplog AS o INDEXED BY ps_oplog_opid ON o.bucket = b.id AND o.op_id > b.last_applied_op
            GROUP BY o.row_type, o.row_id
        )
        SELECT row_type, row_id, (
            \(newestData) AND (
                r.bucket IN (SELECT id FROM covered)
                OR r.op_id <= (SELECT last_applied_op FROM ps_buckets WHERE id = r.bucket)
            )
        ), iif(op_id <= CAST(?3 AS INTEGER), \(isUpdated) OR EXISTS (
            SELECT 1 FROM ps_oplog AS r INDEXED BY ps_oplog_row
            CROSS JOIN ps_buckets AS b ON b.id = r.bucket
            WHERE r.row_type = changed.row_type AND r.row_id = changed.row_id
                AND r.bucket NOT IN (SELECT id FROM covered)
                AND r.op_id > b.last_applied_op
                AND iif(r.op_id <= CAST(?4 AS INTEGER), r.op_id, b.last_applied_op) >= changed.op_id
        ), 0)
        FROM changed
        """

    /// Whether a published operation of a row was removed; the row is then in `ps_updated_rows`.
    private static let isUpdated = """
        EXISTS (
            SELECT 1 FROM ps_updated_rows AS updated
            WHERE updated.row_type = changed.row_type AND updated.row_id = changed.row_id
        )
        """

    /// Reads each operation once and sorts all of them; only the changed rows come out.
    ///
    /// An operation that is neither covered nor published may have taken the place of one that its bucket has published.
    private static let changedRowsAmongOperations = """
        WITH covered (id) AS MATERIALIZED (SELECT value FROM json_each(?2)),
        changed AS (
            SELECT o.row_type, o.row_id, o.data, max(iif(\(isUsable), o.op_id, NULL)) AS op_id,
                json_group_array(iif(o.op_id <= CAST(?4 AS INTEGER), o.op_id, b.last_applied_op))
                    FILTER (WHERE NOT \(isUsable)) AS replaced
            FROM json_each(?1) AS range
            CROSS JOIN ps_oplog AS o ON o.rowid BETWEEN range.value ->> 0 AND range.value ->> 1
            CROSS JOIN ps_buckets AS b ON b.id = o.bucket
            WHERE o.row_type IS NOT NULL AND o.row_id IS NOT NULL
            GROUP BY o.row_type, o.row_id
            HAVING count(*) FILTER (WHERE o.op_id > b.last_applied_op AND \(isUsable)) > 0
        )
        SELECT row_type, row_id, iif(op_id, data, NULL), iif(op_id <= CAST(?3 AS INTEGER), \(isUpdated) OR EXISTS (
            SELECT 1 FROM json_each(changed.replaced) AS published WHERE published.value >= changed.op_id
        ), 0)
        FROM changed
        """

    private static let isUsable = "(o.bucket IN (SELECT id FROM covered) OR o.op_id <= b.last_applied_op)"

    /// The newest data of the row `?2` of the type `?1`: over the covered buckets, a JSON array of ids, and what is published; over
    /// all buckets without it.
    static let publishedData = """
        SELECT iif(max(r.op_id), r.data, NULL) FROM ps_oplog AS r CROSS JOIN ps_buckets AS b ON b.id = r.bucket
        WHERE r.row_type = ?1 AND r.row_id = ?2 AND (
            ?3 IS NULL OR r.op_id <= b.last_applied_op OR r.bucket IN (SELECT value FROM json_each(?3))
        )
        """

    /// The buckets whose operations count, besides published ones; `nil` for all.
    var covered: [Int64]? {
        switch self {
        case .everything, .complete: nil
        case .partial(let covered, _, _, _), .partialAmong(_, let covered, _, _): covered
        case .waiting: []
        }
    }
}
