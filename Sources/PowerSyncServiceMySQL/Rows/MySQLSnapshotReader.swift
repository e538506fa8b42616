import PowerSyncMySQLConnection
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// Copies a table: in the order of its key, 10,000 rows in a transaction, or otherwise with one query.
///
/// Each transaction locks the table against changes of its columns, and looks at these first. The first chunk has no rows: it says which
/// position of the log the copy has seen when it began. Nothing else is locked, and between two transactions rows may move: the log,
/// which is followed from an earlier position on, has every change.
struct MySQLSnapshotReader: SnapshotReader {
    /// The most rows of a transaction, if the table is copied in the order of its key.
    static let maximumRowsOfRange = SnapshotChunk.maximumRows

    private enum State: Sendable {
        /// Nothing is open.
        case idle
        /// A query is running, and has returned this many rows.
        case reading(MySQLRows, MySQLRowForm, count: Int)
        case ended
    }

    private let source: MySQLSource
    private let descriptor: SourceTableDescriptor
    private let connection: MySQLConnection
    /// The most rows of a transaction.
    private let rangeLimit: Int
    private var position: MySQLCopyPosition?
    private var state = State.idle

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - descriptor: The table as the replicator knows it.
    ///   - connection: A connection for the reader alone: it is closed when the reader is gone.
    ///   - position: Where to go on.
    ///   - rangeLimit: The most rows of a transaction.
    init(
        of source: MySQLSource,
        descriptor: SourceTableDescriptor,
        connection: MySQLConnection,
        position: MySQLCopyPosition?,
        rangeLimit: Int = Self.maximumRowsOfRange
    ) {
        self.source = source
        self.descriptor = descriptor
        self.connection = connection
        self.position = position
        self.rangeLimit = rangeLimit
    }

    mutating func next() async throws -> SnapshotChunk? {
        do {
            return try await nextChunk()
        } catch let error as MySQLConnectionError {
            throw source.explain(error, of: descriptor)
        }
    }

    private mutating func nextChunk() async throws -> SnapshotChunk? {
        guard let begun = position else {
            let head = try await source.log.visibleHead()
            guard let seen = LogPosition(head.lsn) else { return nil }
            let begun = MySQLCopyPosition(seen: seen)
            position = begun
            return SnapshotChunk(rows: [], lastKey: begun.key)
        }
        while true {
            switch state {
            case .ended: return nil
            case .idle: state = try await beginRange(after: begun.lastKey)
            case .reading(var rows, let form, let count):
                // The rows are those of the connection: what was taken of them is gone.
                state = .ended
                if let chunk = try await chunk(&rows, form, count, begun) { return chunk }
            }
        }
    }

    /// Rows of the query that is running; `nil` when there are no more.
    private mutating func chunk(
        _ rows: inout MySQLRows,
        _ form: MySQLRowForm,
        _ count: Int,
        _ begun: MySQLCopyPosition
    ) async throws -> SnapshotChunk? {
        var found: [SourceRow] = []
        var bytes = 0
        var hasMore = true
        while found.count < SnapshotChunk.maximumRows, bytes < SnapshotChunk.maximumBytes {
            guard let answer = try await rows.next() else {
                hasMore = false
                break
            }
            let row = try form.row(answer)
            bytes += row.estimatedBytes
            found.append(row)
        }
        let isByKey = form.table.copyKey != nil
        let all = count + found.count
        if hasMore {
            state = .reading(rows, form, count: all)
        } else {
            connection.endRows(rows)
            try await connection.execute("COMMIT")
            state = isByKey && all == rangeLimit ? .idle : .ended
        }
        guard let last = found.last else { return nil }
        var reached = begun
        if isByKey { reached.lastKey = form.key(of: last) }
        position = reached
        return SnapshotChunk(rows: found, lastKey: reached.key)
    }

    /// Begins a transaction in which the table is what was described, and the query for the rows after a key.
    private func beginRange(after lastKey: [SQLValue]?) async throws -> State {
        let name = descriptor.name.mysqlQuoted
        // The catalogue is read under the lock that the empty query takes: until the end of the transaction, an ALTER waits.
        try await connection.execute("START TRANSACTION READ ONLY")
        try await connection.execute("SELECT 1 FROM \(name) LIMIT 0")
        let form = try await source.form(of: descriptor, connection)
        guard let key = form.table.copyKey, let index = form.table.keyIndexName else {
            return .reading(try await connection.beginRows("SELECT \(form.selectList) FROM \(name)"), form, count: 0)
        }
        let condition = lastKey.map { Self.condition(after: $0, key) }
        guard condition != .some(nil) else { throw source.outdated(descriptor) }
        let rows = try await connection.beginRows(
            """
            SELECT \(form.selectList) FROM \(name) FORCE INDEX (\(MySQLText.identifier(index)))\
            \((condition ?? nil).map { " WHERE \($0)" } ?? "") \
            ORDER BY \(key.map(\.quotedName).joined(separator: ", ")) LIMIT \(rangeLimit)
            """
        )
        return .reading(rows, form, count: 0)
    }

    /// What the rows after a key fulfil, in the order of its columns: `a >= 1 AND ((a > 1) OR (a = 1 AND b > 2))`.
    ///
    /// The server compares under the collations of the columns, by which no two keys are equal. For `(a, b) > (1, 2)` it would use no
    /// index.
    ///
    /// - Returns: The condition; `nil` for a key that no row has.
    static func condition(after lastKey: [SQLValue], _ key: [MySQLTable.Column]) -> String? {
        guard lastKey.count == key.count, !key.isEmpty else { return nil }
        var literals: [String] = []
        for (value, column) in zip(lastKey, key) {
            guard let literal = MySQLKeyLiteral.literal(value, column) else { return nil }
            literals.append(literal)
        }
        let parts = key.indices.map { last in
            let equal = (0..<last).map { "\(key[$0].quotedName) = \(literals[$0])" }
            return "(" + (equal + ["\(key[last].quotedName) > \(literals[last])"]).joined(separator: " AND ") + ")"
        }
        guard parts.count > 1 else { return parts[0] }
        return "\(key[0].quotedName) >= \(literals[0]) AND (\(parts.joined(separator: " OR ")))"
    }
}
