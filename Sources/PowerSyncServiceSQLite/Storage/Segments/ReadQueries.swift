import PowerSyncServiceCore

/// The queries by which a stream is read at a checkpoint.
enum ReadQueries {
    /// The outputs of the newest entry of each source row.
    ///
    /// Bare columns beside `max` are those of the row with the maximum. Parameters: stream, lookup, checkpoint.
    static let parameters = """
        SELECT e.outputs, max(e.op_id)
        FROM lookups AS l JOIN parameter_entries AS e ON e.lookup = l.id
        WHERE l.stream = ? AND l.name = ? AND e.op_id <= ?
        GROUP BY e.source_table, e.source_key
        """

    /// Sum and number of the operations, those left out that are above the checkpoint and not in segments; the number of
    /// the bucket, and the last op id in its segments.
    ///
    /// A bucket's state is that of its last operation. At a checkpoint before, the operations in between are subtracted:
    /// they are few, as they are not published yet or have just been. Parameters: stream, name of the bucket, checkpoint. No
    /// row for a bucket that was never written.
    static let checksum = """
        SELECT b.checksum - coalesce(sum(o.checksum), 0), b.count - count(o.op_id), b.id, b.sealed_op
        FROM buckets AS b LEFT JOIN operations AS o ON o.bucket = b.id AND o.op_id > max(?3, b.sealed_op)
        WHERE b.stream = ?1 AND b.name = ?2
        GROUP BY b.id
        """

    /// Operations in order, those left out that are in segments.
    ///
    /// Parameters: stream, name of the bucket, the op ids to read after and up to, the most rows.
    static let data = """
        SELECT \(StoredOperation.columns)
        FROM buckets AS b CROSS JOIN operations AS o ON o.bucket = b.id
        LEFT JOIN names AS s ON s.id = o.source_table
        LEFT JOIN names AS t ON t.id = o.table_name
        WHERE b.stream = ? AND b.name = ? AND o.op_id > max(?, b.sealed_op) AND o.op_id <= ?
        ORDER BY o.op_id
        LIMIT ?
        """

    /// The segments with operations after an op id, in order, with the number of the bucket.
    ///
    /// Parameters: stream, name of the bucket, the op id.
    static let segments = """
        SELECT s.operations, s.bucket
        FROM buckets AS b CROSS JOIN segments AS s ON s.bucket = b.id
        WHERE b.stream = ? AND b.name = ? AND s.last_op > ?
        ORDER BY s.last_op
        """
}
