import GRDB
import PowerSyncSyncConfig
import PowerSyncSQLite

/// Counts rows, and adds up their bytes, a slice of them in each access to the database.
///
/// An access that has begun cannot be cancelled, and keeps the WAL from beginning anew, so none may take as long as a large
/// table does. What others write between two slices is counted or not, depending on where it is.
struct SlicedSum: Sendable {
    /// How much a slice has.
    struct Limits: Sendable {
        /// The most rows.
        var rows = 2_000
        /// A slice ends with the row that brings it to so many bytes.
        var bytes: Int64 = 4 * 1024 * 1024
    }

    private let sql: String
    /// That of the last row.
    private var key: [SQLValue]
    /// How many rows there were.
    private(set) var count = 0
    /// The sum of their bytes.
    private(set) var bytes: Int64 = 0
    /// Whether there are no more rows.
    private(set) var isComplete = false

    /// Begins to count.
    ///
    /// - Parameters:
    ///   - sql: Selects the values of each row's key, and then its bytes, in the order of the keys. The parameters are the values
    ///     of a key: rows up to it are left out.
    ///   - key: One before all others.
    init(_ sql: String, after key: [SQLValue]) {
        self.sql = sql
        self.key = key
    }

    /// Counts the next slice.
    ///
    /// - Returns: The sum with it.
    func next(_ db: Database, limits: Limits = Limits()) throws -> SlicedSum {
        let statement = try PreparedStatement(db, sql: sql)
        defer { statement.reset() }
        for (index, value) in key.enumerated() { statement.bind(value, at: CInt(index + 1)) }
        var next = self
        var slice = (rows: 0, bytes: Int64(0))
        while slice.rows < limits.rows, slice.bytes < limits.bytes {
            guard try statement.step() else {
                next.isComplete = true
                break
            }
            slice.rows += 1
            slice.bytes += statement.integer(at: CInt(key.count))
        }
        if !next.isComplete { next.key = key.indices.map { statement.value(at: CInt($0)) } }
        next.count += slice.rows
        next.bytes += slice.bytes
        return next
    }
}

extension SlicedSum {
    /// What an operation takes outside of segments.
    ///
    /// Its text has to be read: only of a blob the length in bytes is known without that.
    private static let operation = "coalesce(length(CAST(data AS BLOB)), 0) + coalesce(length(row_id), 0)"

    /// All operations outside of segments.
    static var operations: SlicedSum {
        SlicedSum("SELECT op_id, \(operation) FROM operations WHERE op_id > ? ORDER BY op_id", after: [.integer(0)])
    }

    /// The operations of a bucket behind those in its segments.
    static func tail(of bucket: Int64, after sealedOp: Int64) -> SlicedSum {
        SlicedSum(
            "SELECT bucket, op_id, \(operation) FROM operations WHERE bucket = ? AND op_id > ? ORDER BY op_id",
            after: [.integer(bucket), .integer(sealedOp)]
        )
    }

    /// All segments.
    static var segments: SlicedSum {
        SlicedSum("SELECT id, length(operations) FROM segments WHERE id > ? ORDER BY id", after: [.integer(0)])
    }

    /// The segments of a bucket.
    static func segments(of bucket: Int64) -> SlicedSum {
        SlicedSum(
            "SELECT bucket, last_op, length(operations) FROM segments WHERE bucket = ? AND last_op > ? ORDER BY last_op",
            after: [.integer(bucket), .integer(0)]
        )
    }

    /// The entries of parameter indexes.
    static var entries: SlicedSum {
        SlicedSum(
            "SELECT op_id, length(source_key) + length(outputs) FROM parameter_entries WHERE op_id > ? ORDER BY op_id",
            after: [.integer(0)]
        )
    }

    /// The lookups of parameter indexes.
    static var lookups: SlicedSum {
        SlicedSum("SELECT id, length(name) FROM lookups WHERE id > ? ORDER BY id", after: [.integer(0)])
    }

    /// What is known of the rows of the source.
    static var rowStates: SlicedSum {
        SlicedSum(
            """
            SELECT source_table, source_key, length(source_key) + length(state) FROM row_states
            WHERE (source_table, source_key) > (?, ?) ORDER BY source_table, source_key
            """,
            after: [.integer(0), .blob([])]
        )
    }

    /// The buckets, of which only the number is of interest.
    static var buckets: SlicedSum {
        SlicedSum("SELECT id, 0 FROM buckets WHERE id > ? ORDER BY id", after: [.integer(0)])
    }
}
