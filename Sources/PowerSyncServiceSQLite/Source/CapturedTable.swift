import GRDB
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncSQLite
import PowerSyncServiceCore

/// A table of the embedded source whose changes are captured.
struct CapturedTable: Sendable, Equatable {
    /// The number in `_ps_tables`.
    ///
    /// A table that is recreated or gets other columns gets another number.
    var id: Int64
    /// The name.
    var name: String
    /// All columns in declared order, generated ones included.
    var layout: RowLayout
    /// The columns of the primary key, in its order.
    var key: [SourceTableDescriptor.IdentityColumn]
    /// How the index of the key compares each of its columns; see ``TableDefinition/keyCollations``.
    var keyCollations: [String: String]

    /// The names of all columns.
    var columns: [String] { layout.names }

    /// Where the columns of the key are among all columns.
    var keyIndexes: [Int] { key.map { layout.position(of: $0.name) ?? 0 } }

    /// The table as the replicator knows it.
    var descriptor: SourceTableDescriptor {
        SourceTableDescriptor(
            name: SourceTableName(schema: "main", name: name),
            relationID: String(id),
            identity: key
        )
    }

    /// Reads a chunk of the log, each entry with the row that its key has now.
    ///
    /// Columns: `seq`, the key columns of the log, all columns of the table. Parameters: the position before the chunk,
    /// the last position of the chunk. The join compares as the index of the key does (collation, affinity), so that an
    /// entry finds at most one row; the reader compares keys exactly.
    var logQuery: String {
        let logKey = key.indices.map { "l.k\($0)" }
        let match = zip(key, logKey).map { "t.\(SQLText.identifier($0.name)) = \(collated($1, as: $0.name))" }
        return """
            SELECT l.seq, \(logKey.joined(separator: ", ")), \(columnList)
            FROM _ps_log AS l LEFT JOIN \(SQLText.identifier(name)) AS t ON \(match.joined(separator: " AND "))
            WHERE l.seq > ? AND l.seq <= ? AND l.table_id = \(id)
            ORDER BY l.seq
            """
    }

    /// Reads all columns of the rows after a key, in the order of the key's index.
    ///
    /// Rows without a complete key have no identity, and are left out.
    ///
    /// - Parameter isFirst: Whether to begin with the first row. Otherwise the parameters are the values of the key.
    /// - Returns: A query for ``PreparedStatement``.
    func snapshotQuery(isFirst: Bool) -> String {
        let keyList = key.map { "t.\(SQLText.identifier($0.name))" }
        var conditions = keyList.map { "\($0) IS NOT NULL" }
        if !isFirst {
            // The collation is that of the values: SQLite would not find the columns with it in the index.
            let placeholders = key.map { collated("?", as: $0.name) }.joined(separator: ", ")
            conditions.append("(\(keyList.joined(separator: ", "))) > (\(placeholders))")
        }
        let order = key.map { collated("t.\(SQLText.identifier($0.name))", as: $0.name) }
        return """
            SELECT \(columnList) FROM \(SQLText.identifier(name)) AS t
            WHERE \(conditions.joined(separator: " AND "))
            ORDER BY \(order.joined(separator: ", "))
            """
    }

    /// Reads all columns of the row with an id, the parameter; `nil` for a table without a column `id`.
    var rowQuery: String? {
        guard layout.position(of: "id") != nil else { return nil }
        return "SELECT \(columnList) FROM \(SQLText.identifier(name)) AS t WHERE t.id = ? LIMIT 1"
    }

    /// A value that is compared with a column of the key as the index of the key does it: the column itself may have
    /// another collation.
    private func collated(_ value: String, as column: String) -> String {
        keyCollations[column].map { "\(value) COLLATE \(SQLText.identifier($0))" } ?? value
    }

    private var columnList: String {
        layout.names.map { "t.\(SQLText.identifier($0))" }.joined(separator: ", ")
    }
}

extension PreparedStatement {
    /// The value of a column with its own type.
    func value(at column: CInt) -> SQLValue {
        switch storageClass(at: column) {
        case .integer: .integer(integer(at: column))
        case .real: .real(double(at: column))
        case .text: .text(string(at: column) ?? "")
        case .blob: unsafe .blob(Array(blob(at: column)))
        case .null: .null
        }
    }

    /// Whether a value is what Swift would make of it: a text need not be UTF-8.
    func isReadable(at column: CInt) -> Bool {
        guard storageClass(at: column) == .text, let bytes = unsafe text(at: column) else { return true }
        return unsafe String(decoding: bytes, as: UTF8.self).utf8.elementsEqual(bytes)
    }

    /// A row made of consecutive columns.
    func row(of layout: RowLayout, from first: CInt) -> SourceRow {
        SourceRow(layout: layout, values: layout.names.indices.map { value(at: first + CInt($0)) })
    }

    /// Binds a value with its own type.
    func bind(_ value: SQLValue, at index: CInt) {
        switch value {
        case .null: bindNull(at: index)
        case .integer(let integer): bind(integer, at: index)
        case .real(let number): bind(number, at: index)
        case .text(let text): bind(text, at: index)
        case .blob(let bytes): bind(blob: bytes, at: index)
        }
    }
}
