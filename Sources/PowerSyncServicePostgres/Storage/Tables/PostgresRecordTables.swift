import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// Writes what ``RecordStore`` decides about many records with a few statements.
///
/// What the records need is read before, in one statement for each table; what becomes of them is collected, and written by
/// ``finish()``, operations and entries before if there are many bytes of them. Until then op ids are not known: the first one
/// is -1, the second one -2, and so on.
struct PostgresRecordTables: RecordTables {
    /// A row of the source.
    private struct RowID: Hashable, Comparable {
        var table: Int64
        var key: ReplicaID

        /// In the order of the index, in which neighbours share its pages.
        static func < (one: RowID, other: RowID) -> Bool {
            (one.table, one.key) < (other.table, other.key)
        }
    }

    /// What happens to the state of a bucket.
    private struct BucketChange {
        var lastOp: Int64 = 0
        var checksum = Checksum.zero
        var count: Int64 = 0
    }

    /// How many superseded operations or entries one statement notes.
    private static let maximumSuperseded = 100_000

    private let db: PostgresStatements
    private let streamID: ReplicationStreamID
    /// The op id of the published checkpoint; 0 before the first one.
    private let published: Int64
    private var stream: PostgresArgument { .integer(streamID.rawValue) }

    /// By bytes: to Swift, some texts are equal that are not the same.
    private var numbers: [[UInt8]: Int64] = [:]
    private var buckets: [BucketName: Int64] = [:]
    private var lookups: [ParameterLookup: Int64] = [:]
    /// The rows that are stored.
    private var rows: [RowID: StoredRow] = [:]
    private var changedRows: Set<RowID> = []
    /// Rows that were looked for and of which nothing is stored.
    ///
    /// To insert them without looking again takes half the time.
    private var missingRows: Set<RowID> = []
    /// The lookups of entries that rows have.
    private var entryLookups: [Int64: Int64] = [:]

    private var appended: Int64 = 0
    /// The op ids of what has been stored already.
    private var ids = OpIDs()
    private var operations = OperationColumns()
    private var entries = EntryColumns()
    private var bucketChanges: [Int64: BucketChange] = [:]
    private var supersededOperations: [(bucket: Int64, opID: Int64, later: Int64)] = []
    private var supersededEntries: [(opID: Int64, later: Int64)] = []

    /// Reads what records need, in a transaction of the stream's writer.
    init(_ db: PostgresStatements, _ stream: StreamRecord, for records: [PendingRecord] = []) throws {
        self.db = db
        streamID = stream.id
        published = stream.lastCheckpoint?.rawValue ?? 0
        guard !records.isEmpty else { return }
        var names = Set(
            records.flatMap { [$0.tableID, $0.earlier?.tableID].compactMap(\.self) }.map { Array($0.utf8) }
        )
        var (bucketNames, lookupNames) = (Set<BucketName>(), Set<ParameterLookup>())
        for content in records.lazy.compactMap(\.content) {
            for row in content.rows.map(\.row) + content.withheld {
                names.insert(Array(row.table.utf8))
                bucketNames.insert(row.bucket)
            }
            for (entry, _) in content.entries { lookupNames.insert(entry.lookup) }
        }
        let interned = (
            PostgresInterning(names, in: "\(db.schema).names") { $0 },
            PostgresInterning(bucketNames, in: "\(db.schema).buckets") { Array($0.rawValue.utf8) },
            PostgresInterning(lookupNames, in: "\(db.schema).lookups") { Array($0.rawValue.utf8) }
        )
        try db.run(
            together: [interned.0.find(self.stream), interned.1.find(self.stream), interned.2.find(self.stream)]
                .compactMap(\.self)
        )
        try db.run(
            together: [interned.0.insert(self.stream), interned.1.insert(self.stream), interned.2.insert(self.stream)]
                .compactMap(\.self)
        )
        (numbers, buckets, lookups) = (interned.0.numbers, interned.1.numbers, interned.2.numbers)
        try readRows(records.filter { $0.readsStoredRow || $0.earlier != nil })
    }

    // MARK: Names

    mutating func number(of name: String) throws -> Int64 {
        let name = Array(name.utf8)
        if let number = numbers[name] { return number }
        let interning = PostgresInterning([name], in: "\(db.schema).names") { $0 }
        try db.run(together: [interning.find(stream)].compactMap(\.self))
        try db.run(together: [interning.insert(stream)].compactMap(\.self))
        numbers.merge(interning.numbers) { $1 }
        guard let number = numbers[name] else { throw notRead("name of a table") }
        return number
    }

    mutating func bucket(_ name: BucketName) throws -> Int64 {
        guard let bucket = buckets[name] else { throw notRead("bucket") }
        return bucket
    }

    mutating func lookup(_ lookup: ParameterLookup) throws -> Int64 {
        guard let lookup = lookups[lookup] else { throw notRead("lookup") }
        return lookup
    }

    private func notRead(_ what: String) -> BucketStorageError {
        BucketStorageError(.corrupted, "A \(what) of stream \(streamID) is missing in the bucket storage.")
    }

    // MARK: Rows

    private mutating func readRows(_ records: [PendingRecord]) throws {
        guard !records.isEmpty else { return }
        var (tables, keys) = (PostgresArray(.integer), PostgresArray(.uuid))
        for record in records {
            let table = try number(of: record.tableID)
            missingRows.insert(RowID(table: table, key: record.beforeKey))
            if let earlier = record.earlier, let key = earlier.key {
                missingRows.insert(RowID(table: try number(of: earlier.tableID), key: key))
            }
            if let content = record.content, content.primaryKey != nil {
                missingRows.insert(RowID(table: table, key: content.key))
            }
        }
        for id in missingRows.sorted() {
            tables.append(id.table)
            keys.append(id.key)
        }
        try db.run(
            """
            SELECT r.source_table, r.source_key, r.state
            FROM unnest($2::bigint[], $3::uuid[]) AS k (source_table, source_key)
                JOIN \(db.schema).row_states AS r
                    ON r.stream = $1 AND r.source_table = k.source_table AND r.source_key = k.source_key
            """,
            [stream, .array(tables), .array(keys)]
        ) { row in
            let id = unsafe try RowID(table: row.integer(0), key: ReplicaID(bytes: row.memory(1)))
            rows[id] = unsafe try Self.decode(row.memory(2))
            missingRows.remove(id)
        }
        try readLookups()
    }

    /// Reads the lookups of the entries that the rows have.
    private mutating func readLookups() throws {
        let opIDs = rows.values.flatMap { $0.entries.map(\.opID) }.filter { $0 > 0 && entryLookups[$0] == nil }
        guard !opIDs.isEmpty else { return }
        try db.run(
            "SELECT op_id, lookup FROM \(db.schema).parameter_entries WHERE stream = $1 AND op_id = ANY ($2)",
            [stream, .integers(opIDs)]
        ) { entryLookups[try $0.integer(0)] = try $0.integer(1) }
    }

    /// Reads the state of a row.
    ///
    /// - Throws: ``BucketStorageError`` with code `corrupted`.
    static func decode(_ state: UnsafeRawBufferPointer) throws -> StoredRow {
        do {
            return unsafe try StoredRow(state)
        } catch {
            throw BucketStorageError(
                .corrupted,
                "The state of a source row in the bucket storage cannot be read.",
                underlyingError: error
            )
        }
    }

    func row(_ key: SourceRowKey) throws -> StoredRow? { rows[RowID(table: key.table, key: key.key)] }

    mutating func rows(
        of table: Int64,
        limit: Int,
        byteLimit: Int
    ) throws -> (found: [(key: ReplicaID, state: StoredRow)], isAll: Bool) {
        var total = 0
        let found: [(key: ReplicaID, state: StoredRow)] = try db.rows(
            """
            SELECT source_key, state, total
            FROM (
                SELECT source_key, state, count(*) OVER () AS total,
                    sum(octet_length(state)) OVER (
                        ORDER BY source_key ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                    ) AS bytes_before
                FROM (
                    SELECT source_key, state FROM \(db.schema).row_states WHERE stream = $1 AND source_table = $2
                    ORDER BY source_key LIMIT $3
                ) AS first_rows
            ) AS measured
            WHERE coalesce(bytes_before, 0) < $4
            ORDER BY source_key
            """,
            [stream, .integer(table), .integer(Int64(limit)), .integer(Int64(byteLimit))]
        ) { row in
            total = try Int(row.integer(2))
            return unsafe (key: ReplicaID(bytes: row.memory(0)), state: try Self.decode(row.memory(1)))
        }
        for (key, state) in found { rows[RowID(table: table, key: key)] = state }
        try readLookups()
        return (found, found.count == total && total < limit)
    }

    mutating func store(_ state: StoredRow, of key: SourceRowKey) throws {
        let id = RowID(table: key.table, key: key.key)
        rows[id] = state
        changedRows.insert(id)
    }

    mutating func delete(_ key: SourceRowKey) throws {
        let id = RowID(table: key.table, key: key.key)
        rows[id] = nil
        changedRows.insert(id)
    }

    // MARK: Operations

    mutating func append(_ change: OperationChange, _ membership: Membership, of row: SourceRowKey) throws -> Int64 {
        appended += 1
        let checksum =
            switch change {
            case .put(_, let checksum): checksum
            case .remove: Checksum.remove(subkey: row.subkey)
            }
        operations.append(-appended, change, checksum, membership, of: row)
        bucketChanges[membership.bucket, default: BucketChange()].lastOp = -appended
        bucketChanges[membership.bucket]?.checksum += checksum
        bucketChanges[membership.bucket]?.count += 1
        if operations.isFull { try storeCollected() }
        return -appended
    }

    mutating func append(_ outputs: [ParameterRow], lookup: Int64, of row: SourceRowKey) throws -> Int64 {
        appended += 1
        entries.append(-appended, outputs, lookup: lookup, of: row)
        entryLookups[-appended] = lookup
        if entries.isFull { try storeCollected() }
        return -appended
    }

    func lookup(ofEntry opID: Int64) throws -> Int64 {
        guard let lookup = entryLookups[opID] else { throw notRead("parameter entry") }
        return lookup
    }

    mutating func supersede(_ put: StoredRow.Put, by later: Int64) throws {
        supersededOperations.append((put.membership.bucket, put.opID, later))
    }

    mutating func supersedeEntry(_ opID: Int64, by later: Int64) throws {
        supersededEntries.append((opID, later))
    }

    // MARK: Writing

    consuming func finish() throws -> OpID? {
        let collected = try takeCollected()
        try db.run(together: collected + rowStatements(ids) + bucketStatements(ids) + supersededStatements(ids))
        return ids.last.map { OpID($0) }
    }

    /// Stores the operations and entries that have been collected.
    private mutating func storeCollected() throws {
        try db.run(together: try takeCollected())
    }

    /// What stores the operations and entries that have been collected; then there are none any more.
    private mutating func takeCollected() throws -> [PostgresStatements.Statement] {
        try ids.take(upTo: appended, db)
        defer { (operations, entries) = (OperationColumns(), EntryColumns()) }
        return [
            operations.statement(ids, stream, in: db.schema), entries.statement(ids, stream, in: db.schema),
        ].compactMap(\.self)
    }

    private func rowStatements(_ ids: OpIDs) -> [PostgresStatements.Statement] {
        var (new, others) = (RowStateColumns(), RowStateColumns())
        var (deletedTables, deletedKeys) = (PostgresArray(.integer), PostgresArray(.uuid))
        for id in changedRows.sorted() {
            guard var state = rows[id] else {
                deletedTables.append(id.table)
                deletedKeys.append(id.key)
                continue
            }
            for index in state.puts.indices { state.puts[index].opID = ids[state.puts[index].opID] }
            for index in state.entries.indices { state.entries[index].opID = ids[state.entries[index].opID] }
            if missingRows.contains(id) {
                new.append(state, table: id.table, key: id.key)
            } else {
                others.append(state, table: id.table, key: id.key)
            }
        }
        var statements = [
            new.statement(stream, areNew: true, in: db.schema), others.statement(stream, areNew: false, in: db.schema),
        ].compactMap(\.self)
        if deletedTables.count > 0 {
            statements.append(
                PostgresStatements.Statement(
                    sql: """
                        DELETE FROM \(db.schema).row_states AS r USING unnest($2::bigint[], $3::uuid[]) AS k (source_table, source_key)
                        WHERE r.stream = $1 AND r.source_table = k.source_table AND r.source_key = k.source_key
                        """,
                    arguments: [stream, .array(deletedTables), .array(deletedKeys)]
                )
            )
        }
        return statements
    }

    private func bucketStatements(_ ids: OpIDs) -> [PostgresStatements.Statement] {
        guard !bucketChanges.isEmpty else { return [] }
        // By number, as compaction does.
        let changes = bucketChanges.sorted { $0.key < $1.key }
        return [
            PostgresStatements.Statement(
                sql: """
                    UPDATE \(db.schema).buckets AS b
                    SET last_op = c.last_op, checksum = (b.checksum + c.checksum) & 4294967295, count = b.count + c.count,
                        published_op = CASE WHEN b.last_op <= $6 THEN b.last_op ELSE b.published_op END,
                        published_checksum = CASE WHEN b.last_op <= $6 THEN b.checksum ELSE b.published_checksum END,
                        published_count = CASE WHEN b.last_op <= $6 THEN b.count ELSE b.published_count END
                    FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS c (id, last_op, checksum, count)
                    WHERE b.stream = $1 AND b.id = c.id
                    """,
                arguments: [
                    stream, .integers(changes.map(\.key)), .integers(changes.map { ids[$0.value.lastOp] }),
                    .integers(changes.map { Int64($0.value.checksum.rawValue) }), .integers(changes.map(\.value.count)),
                    .integer(published),
                ]
            )
        ]
    }

    private func supersededStatements(_ ids: OpIDs) -> [PostgresStatements.Statement] {
        let operations = supersededOperations.sorted { ($0.bucket, $0.opID) < ($1.bucket, $1.opID) }
        let ofOperations = operations.parts(of: Self.maximumSuperseded).map { part in
            PostgresStatements.Statement(
                sql: """
                    INSERT INTO \(db.schema).superseded_operations (stream, bucket, op_id, by_op)
                    SELECT $1, bucket, op_id, by_op
                    FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS s (bucket, op_id, by_op)
                    """,
                arguments: [
                    stream, .integers(part.map(\.bucket)), .integers(part.map { ids[$0.opID] }),
                    .integers(part.map { ids[$0.later] }),
                ]
            )
        }
        let ofEntries = supersededEntries.parts(of: Self.maximumSuperseded).map { part in
            PostgresStatements.Statement(
                sql: """
                    INSERT INTO \(db.schema).superseded_entries (stream, op_id, by_op)
                    SELECT $1, op_id, by_op FROM unnest($2::bigint[], $3::bigint[]) AS s (op_id, by_op)
                    """,
                arguments: [stream, .integers(part.map { ids[$0.opID] }), .integers(part.map { ids[$0.later] })]
            )
        }
        return ofOperations + ofEntries
    }
}

extension Array {
    /// The elements in their order, in slices that are not longer than `count`.
    fileprivate func parts(of count: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
    }
}
