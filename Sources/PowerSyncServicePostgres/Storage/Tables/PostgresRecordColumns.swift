import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// The op ids of what a transaction has appended.
struct OpIDs {
    private var ids: [Int64] = []

    /// Takes op ids from the storage, above all that it has given out before, until there are this many.
    mutating func take(upTo count: Int64, _ db: PostgresStatements) throws {
        let missing = count - Int64(ids.count)
        guard missing > 0 else { return }
        // Another stream's writer may take some at the same time: there may be gaps.
        ids += try db.rows("SELECT nextval(\(db.relation("op_ids"))) FROM generate_series(1, $1)", [.integer(missing)])
        {
            try $0.integer(0)
        }
    }

    /// The op id of what is known by a number: -1 for what was appended first.
    ///
    /// Op ids that are stored are themselves.
    subscript(number: Int64) -> Int64 { number < 0 ? ids[Int(-number - 1)] : number }

    /// The highest op id; `nil` when nothing was appended.
    var last: Int64? { ids.last }
}

/// Operations to be stored, column by column.
struct OperationColumns {
    /// How much is collected for one statement.
    ///
    /// A row may be in many buckets, all of it is in memory twice when it is sent, and a parameter has at most 1 GiB.
    static let maximumBytes = 16 << 20
    /// What an operation or an entry takes besides texts: a value of each column, with its length.
    static let bytesOfOne = 100

    /// Whether to store this before more is added.
    var isFull: Bool { bytes >= Self.maximumBytes }

    private var bytes = 0
    private var numbers: [Int64] = []
    private var buckets = PostgresArray(.integer)
    private var kinds = PostgresArray(.letter)
    private var checksums = PostgresArray(.integer)
    private var sourceTables = PostgresArray(.integer)
    private var sourceKeys = PostgresArray(.uuid)
    private var tables = PostgresArray(.integer)
    private var rowIDs = PostgresArray(.bytes)
    private var data = PostgresArray(.text)

    /// Adds an operation that is known by a number until it has an op id.
    mutating func append(
        _ number: Int64,
        _ change: OperationChange,
        _ checksum: Checksum,
        _ membership: Membership,
        of row: SourceRowKey
    ) {
        numbers.append(number)
        buckets.append(membership.bucket)
        checksums.append(Int64(checksum.rawValue))
        sourceTables.append(row.table)
        sourceKeys.append(row.key)
        tables.append(membership.table)
        rowIDs.append(membership.id)
        // Also of what has no content: removals may be many.
        bytes += Self.bytesOfOne + membership.id.count
        switch change {
        case .put(let content, _):
            kinds.append(CollectionOfOne(UInt8(ascii: "P")))
            bytes += content.utf8.count
            data.append(content.utf8)
        case .remove:
            kinds.append(CollectionOfOne(UInt8(ascii: "R")))
            data.appendNull()
        }
    }

    /// Stores the operations in a schema.
    func statement(_ ids: OpIDs, _ stream: PostgresArgument, in schema: String) -> PostgresStatements.Statement? {
        guard !numbers.isEmpty else { return nil }
        return PostgresStatements.Statement(
            sql: """
                INSERT INTO \(schema).operations
                    (stream, op_id, bucket, op, checksum, source_table, source_key, table_name, row_id, data)
                SELECT $1, o.*
                FROM unnest(
                    $2::bigint[], $3::bigint[], $4::"char"[], $5::bigint[], $6::bigint[], $7::uuid[], $8::bigint[], $9::bytea[],
                    $10::text[]
                ) AS o
                """,
            arguments: [
                stream, .integers(numbers.map { ids[$0] }), .array(buckets), .array(kinds), .array(checksums),
                .array(sourceTables), .array(sourceKeys), .array(tables), .array(rowIDs), .array(data),
            ]
        )
    }
}

/// Parameter entries to be stored, column by column.
struct EntryColumns {
    /// Whether to store this before more is added.
    var isFull: Bool { bytes >= OperationColumns.maximumBytes }

    private var bytes = 0
    private var numbers: [Int64] = []
    private var lookups = PostgresArray(.integer)
    private var sourceTables = PostgresArray(.integer)
    private var sourceKeys = PostgresArray(.uuid)
    private var outputs = PostgresArray(.bytes)

    /// Adds an entry that is known by a number until it has an op id.
    mutating func append(_ number: Int64, _ outputs: [ParameterRow], lookup: Int64, of row: SourceRowKey) {
        numbers.append(number)
        lookups.append(lookup)
        sourceTables.append(row.table)
        sourceKeys.append(row.key)
        let encoded = StoredValues.encode(outputs)
        bytes += OperationColumns.bytesOfOne + encoded.count
        self.outputs.append(encoded)
    }

    /// Stores the entries in a schema.
    func statement(_ ids: OpIDs, _ stream: PostgresArgument, in schema: String) -> PostgresStatements.Statement? {
        guard !numbers.isEmpty else { return nil }
        return PostgresStatements.Statement(
            sql: """
                INSERT INTO \(schema).parameter_entries (stream, op_id, lookup, source_table, source_key, outputs)
                SELECT $1, e.* FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::uuid[], $6::bytea[]) AS e
                """,
            arguments: [
                stream, .integers(numbers.map { ids[$0] }), .array(lookups), .array(sourceTables), .array(sourceKeys),
                .array(outputs),
            ]
        )
    }
}

/// States of source rows to be stored, column by column.
struct RowStateColumns {
    private var tables = PostgresArray(.integer)
    private var keys = PostgresArray(.uuid)
    private var states = PostgresArray(.bytes)

    /// Adds the state of a row.
    mutating func append(_ state: StoredRow, table: Int64, key: ReplicaID) {
        tables.append(table)
        keys.append(key)
        states.append(state.encoded)
    }

    /// Stores the states.
    ///
    /// - Parameters:
    ///   - stream: Their stream.
    ///   - areNew: Whether nothing is stored of any of the rows; otherwise it is replaced.
    ///   - schema: That of the storage.
    /// - Returns: The statement; `nil` when there are no states.
    func statement(_ stream: PostgresArgument, areNew: Bool, in schema: String) -> PostgresStatements.Statement? {
        guard tables.count > 0 else { return nil }
        let replacing =
            areNew ? "" : "ON CONFLICT (stream, source_table, source_key) DO UPDATE SET state = excluded.state"
        return PostgresStatements.Statement(
            sql: """
                INSERT INTO \(schema).row_states (stream, source_table, source_key, state)
                SELECT $1, source_table, source_key, state
                FROM unnest($2::bigint[], $3::uuid[], $4::bytea[]) AS k (source_table, source_key, state)
                \(replacing)
                """,
            arguments: [stream, .array(tables), .array(keys), .array(states)]
        )
    }
}
