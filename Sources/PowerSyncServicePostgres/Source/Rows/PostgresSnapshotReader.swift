import PowerSyncSyncConfig
import PowerSyncServiceCore

/// Copies a table: in the order of its key, 10,000 rows in a transaction, or otherwise with one query.
///
/// Each transaction locks the table against changes of its columns, and looks at these first. The first chunk has no rows:
/// it says what the copy has seen when it began (``TransactionSnapshot``).
struct PostgresSnapshotReader: SnapshotReader {
    /// The most rows of a transaction, if the table is copied in the order of its key.
    static let maximumRowsOfRange = SnapshotChunk.maximumRows
    /// How long the server may look for the next row.
    static let timeout = Duration.seconds(1800)

    private enum State {
        /// Nothing is open.
        case idle
        /// A query is running, and has returned this many rows.
        case reading(RowDecoder, rows: Int)
        case ended
    }

    private let source: PostgresSource
    private let descriptor: SourceTableDescriptor
    private let connection: PostgresConnection
    private var table: PostgresTable
    private var position: CopyPosition?
    private var state = State.idle

    private var activity: String { "copying table \(table.name)" }

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - table: The table as the catalogue describes it.
    ///   - descriptor: The table as the replicator knows it.
    ///   - connection: A connection for the reader alone.
    ///   - position: Where to go on.
    init(
        source: PostgresSource,
        table: PostgresTable,
        descriptor: SourceTableDescriptor,
        connection: PostgresConnection,
        position: CopyPosition?
    ) {
        self.source = source
        self.table = table
        self.descriptor = descriptor
        self.connection = connection
        self.position = position
    }

    mutating func next() async throws -> SnapshotChunk? {
        do {
            return try await nextChunk()
        } catch let error as PostgresError {
            throw source.explain(error, of: descriptor)
        }
    }

    private mutating func nextChunk() async throws -> SnapshotChunk? {
        guard let begun = position else {
            let snapshot = try await beginCopy()
            position = snapshot
            return SnapshotChunk(rows: [], lastKey: snapshot.key)
        }
        while true {
            switch state {
            case .ended: return nil
            case .idle: state = .reading(try await beginRange(after: begun.lastKey), rows: 0)
            case .reading(let decoder, let rows):
                if let chunk = try await chunk(decoder, rows, begun) { return chunk }
            }
        }
    }

    /// Rows of the query that is running; `nil` when there are no more.
    private mutating func chunk(
        _ decoder: RowDecoder,
        _ rows: Int,
        _ begun: CopyPosition
    ) async throws -> SnapshotChunk? {
        let key = table.copyKey.flatMap { key in table.columns.firstIndex { $0.name == key.name } }
        let (found, hasMore) = try await connection.nextRows(
            timeout: Self.timeout,
            activity: activity,
            RowCollector(
                decoder,
                maximumRows: SnapshotChunk.maximumRows,
                maximumBytes: SnapshotChunk.maximumBytes,
                keyColumn: key
            )
        )
        let count = rows + found.rows.count
        if hasMore {
            state = .reading(decoder, rows: count)
        } else {
            try await connection.query("COMMIT", activity: activity)
            state = key != nil && count == Self.maximumRowsOfRange ? .idle : .ended
        }
        guard !found.rows.isEmpty else { return nil }
        var reached = begun
        if let lastKey = found.lastKey { reached.lastKey = lastKey }
        position = reached
        return SnapshotChunk(rows: found.rows, lastKey: reached.key)
    }

    private mutating func beginCopy() async throws -> CopyPosition {
        try await begin()
        let rows = try await connection.query("SELECT pg_current_snapshot()::text", activity: activity)
        try await connection.query("COMMIT", activity: activity)
        guard let snapshot = rows.first?.first ?? nil, TransactionSnapshot(snapshot) != nil else {
            throw PostgresCatalogError(query: "snapshot", row: 0, column: "pg_current_snapshot")
        }
        return CopyPosition(snapshot: snapshot)
    }

    /// Begins a transaction in which the table is what was described, but for columns that no stream reads.
    private mutating func begin() async throws {
        // Values have the form that the settings of the session say.
        try await connection.begin("BEGIN READ ONLY;", activity)
        do {
            try await connection.query(
                "LOCK TABLE \(table.rowSource) IN ACCESS SHARE MODE",
                timeout: Self.timeout,
                activity: activity
            )
        } catch let error as PostgresError where error.sqlState == PostgresError.SQLState.undefinedTable {
            throw source.outdated(descriptor)
        }
        table = try await source.check(descriptor, connection)
    }

    /// Begins a transaction and the query for the rows after a key.
    private mutating func beginRange(after lastKey: String?) async throws -> RowDecoder {
        try await begin()
        let decoder = try await source.decoder(table, descriptor, connection)
        var conditions: [String] = []
        var order = ""
        if let key = table.copyKey {
            let column = PostgresText.identifier(key.name)
            if lastKey != nil { conditions.append("\(column) > $1") }
            order = " ORDER BY \(column) LIMIT \(Self.maximumRowsOfRange)"
        }
        try await connection.beginRows(
            of: """
                SELECT \(table.columnList) FROM \(table.rowSource) \(table.conditions(conditions))\(order)
                """,
            conditions.isEmpty ? [] : [lastKey],
            activity: activity
        )
        return decoder
    }
}
