import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// What records need of what is stored.
///
/// Its statements need nothing that others return, so that they run with the beginning of a transaction, after the one that locks the record
/// of the stream: no other writer changes what they have read.
final class PostgresRecordReading {
    /// A row of the source, as it is looked for.
    struct Row: Hashable {
        /// The id of the record of its table.
        var tableID: [UInt8]
        var key: ReplicaID
    }

    /// A row that is stored.
    typealias Found = (table: Int64, key: ReplicaID, state: StoredRow)

    /// The names, buckets and lookups of the records, and those of them that have numbers.
    let names: PostgresInterning<[UInt8]>
    let buckets: PostgresInterning<BucketName>
    let lookups: PostgresInterning<ParameterLookup>
    /// The rows that are looked for.
    private(set) var rows: Set<Row> = []
    /// Those of them that were found.
    private(set) var found: [Found] = []
    /// How many op ids the records take if nothing of them is stored.
    let expectedOperations: Int

    /// What to read for records, with the name of the schema.
    init(_ records: [PendingRecord], in schema: String) {
        // By bytes: to Swift, some texts are equal that are not the same.
        var names = Set(
            records.flatMap { [$0.tableID, $0.earlier?.tableID].compactMap(\.self) }.map { Array($0.utf8) }
        )
        var (bucketNames, lookupNames) = (Set<BucketName>(), Set<ParameterLookup>())
        var expected = 0
        for record in records {
            guard let content = record.content else {
                expected += 1
                continue
            }
            for row in content.rows.map(\.row) + content.withheld {
                names.insert(Array(row.table.utf8))
                bucketNames.insert(row.bucket)
            }
            for (entry, _) in content.entries { lookupNames.insert(entry.lookup) }
            expected += content.rows.count + content.entries.count
        }
        self.names = PostgresInterning(names, in: "\(schema).names") { $0 }
        buckets = PostgresInterning(bucketNames, in: "\(schema).buckets") { Array($0.rawValue.utf8) }
        lookups = PostgresInterning(lookupNames, in: "\(schema).lookups") { Array($0.rawValue.utf8) }
        expectedOperations = expected
        for record in records where record.readsStoredRow || record.earlier != nil {
            let tableID = Array(record.tableID.utf8)
            rows.insert(Row(tableID: tableID, key: record.beforeKey))
            if let earlier = record.earlier, let key = earlier.key {
                rows.insert(Row(tableID: Array(earlier.tableID.utf8), key: key))
            }
            if let content = record.content, content.primaryKey != nil {
                rows.insert(Row(tableID: tableID, key: content.key))
            }
        }
    }

    /// The statements that read.
    func statements(_ stream: PostgresArgument, in schema: String) -> [PostgresStatements.Statement] {
        [names.find(stream), buckets.find(stream), lookups.find(stream)].compactMap(\.self)
            + rowStatements(stream, in: schema)
    }

    /// A statement for each table: few transactions change many.
    private func rowStatements(_ stream: PostgresArgument, in schema: String) -> [PostgresStatements.Statement] {
        let tables = Dictionary(grouping: rows, by: \.tableID).sorted { $0.key.lexicographicallyPrecedes($1.key) }
        return tables.map { tableID, rows in
            // In the order of the index, in which neighbours share its pages.
            var keys = PostgresArray(.uuid)
            for key in rows.map(\.key).sorted() { keys.append(key) }
            return PostgresStatements.Statement(
                sql: """
                    SELECT t.id, r.source_key, r.state
                    FROM (SELECT id FROM \(schema).names WHERE stream = $1 AND digest = sha256($2) LIMIT 1) AS t
                        CROSS JOIN unnest($3::uuid[]) AS k (source_key)
                        JOIN LATERAL (
                            SELECT source_key, state FROM \(schema).row_states
                            WHERE stream = $1 AND source_table = t.id AND source_key = k.source_key LIMIT 1
                        ) AS r ON true
                    """,
                arguments: [stream, .bytes(tableID), .array(keys)]
            ) { row in
                unsafe self.found.append(
                    (
                        table: try row.integer(0), key: ReplicaID(bytes: row.memory(1)),
                        state: try PostgresRecordTables.decode(row.memory(2))
                    )
                )
            }
        }
    }

    /// Stores the names, buckets and lookups that have no numbers.
    func insertMissing(_ stream: PostgresArgument, _ db: PostgresStatements) throws {
        try db.run(
            together: [names.insert(stream), buckets.insert(stream), lookups.insert(stream)].compactMap(\.self)
        )
    }
}
