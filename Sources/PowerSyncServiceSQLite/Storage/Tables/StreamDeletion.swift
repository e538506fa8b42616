/// Statements that delete the data of a stream, some rows at a time.
///
/// Each has the parameter `:stream`, and is repeated until it deletes nothing.
struct StreamDeletion {
    /// Deletes what depends on the rows that ``statement`` would delete next.
    var contents: [String] = []
    /// Deletes rows.
    var statement: String

    /// Creates a step.
    init(_ statement: String, after contents: [String] = []) {
        self.statement = statement
        self.contents = contents
    }

    /// How the data of a stream is deleted.
    static let steps = [
        StreamDeletion(
            "DELETE FROM buckets WHERE id IN (\(someBuckets))",
            after: [
                """
                DELETE FROM operations WHERE op_id IN (
                    SELECT op_id FROM operations WHERE bucket IN (\(someBuckets)) LIMIT 5000)
                """,
                // After the operations, so that none is left that could be sealed.
                """
                DELETE FROM segments WHERE id IN (
                    SELECT id FROM segments WHERE bucket IN (\(someBuckets)) LIMIT 200)
                """,
                """
                DELETE FROM superseded_operations WHERE (bucket, op_id) IN (
                    SELECT bucket, op_id FROM superseded_operations WHERE bucket IN (\(someBuckets)) LIMIT 5000)
                """,
            ]
        ),
        StreamDeletion(
            "DELETE FROM lookups WHERE id IN (\(someLookups))",
            after: [
                """
                DELETE FROM parameter_entries WHERE op_id IN (
                    SELECT op_id FROM parameter_entries WHERE lookup IN (\(someLookups)) LIMIT 5000)
                """
            ]
        ),
        StreamDeletion(
            """
            DELETE FROM row_states WHERE (source_table, source_key) IN (
                SELECT r.source_table, r.source_key
                FROM source_tables AS s JOIN names AS n ON n.name = s.id JOIN row_states AS r ON r.source_table = n.id
                WHERE s.stream = :stream LIMIT 5000)
            """
        ),
        StreamDeletion(
            """
            DELETE FROM superseded_entries WHERE op_id IN (
                SELECT op_id FROM superseded_entries WHERE stream = :stream LIMIT 5000)
            """
        ),
        StreamDeletion("DELETE FROM source_tables WHERE stream = :stream"),
    ]

    private static let someBuckets = "SELECT id FROM buckets WHERE stream = :stream ORDER BY name LIMIT 1000"
    private static let someLookups = "SELECT id FROM lookups WHERE stream = :stream ORDER BY name LIMIT 1000"
}
