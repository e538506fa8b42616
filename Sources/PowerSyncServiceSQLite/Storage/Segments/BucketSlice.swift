import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncServiceCore

/// The buckets of a stream with a text in their names, out of a slice of all buckets.
///
/// A slice is what one access to the database looks at; ``SlicedSum`` says why.
struct BucketSlice: Sendable {
    /// A bucket.
    struct Bucket: Sendable {
        var id: Int64
        var name: BucketName
        var operations: Int64
        /// Up to here, its operations are in segments.
        var sealedOp: Int64

        /// Whether a bucket is listed before another one: that with more operations, then that with the lesser name.
        static func precedes(_ first: Bucket, _ second: Bucket) -> Bool {
            first.operations == second.operations
                ? first.name < second.name
                : first.operations > second.operations
        }
    }

    /// The most buckets of a slice, whether they are those that are looked for or not.
    static let size = 2_000

    /// The last bucket of the slice; `nil` when no other one follows.
    private(set) var lastID: Int64?
    /// Those that were looked for.
    private(set) var found: [Bucket] = []

    /// Looks at the slice after a bucket (0 for the first one).
    init(after id: Int64, of stream: ReplicationStreamID, search: String, _ db: Database) throws {
        let statement = try PreparedStatement(
            db,
            sql: """
                SELECT id, stream = ?2 AND instr(name, ?3) > 0, count, sealed_op, name FROM buckets
                WHERE id > ?1 ORDER BY id LIMIT \(Self.size)
                """
        )
        defer { statement.reset() }
        statement.bind(id, at: 1)
        statement.bind(stream.rawValue, at: 2)
        statement.bind(search, at: 3)
        var rows = 0
        while try statement.step() {
            rows += 1
            lastID = statement.integer(at: 0)
            guard statement.integer(at: 1) != 0 else { continue }
            found.append(
                Bucket(
                    id: statement.integer(at: 0),
                    name: BucketName(statement.string(at: 4) ?? ""),
                    operations: statement.integer(at: 2),
                    sealedOp: statement.integer(at: 3)
                )
            )
        }
        if rows < Self.size { lastID = nil }
    }
}
