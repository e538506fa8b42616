import MySQLBinlog
import NIOCore
import PowerSyncMySQLConnection
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// Asks for rows of a table, and makes them of the answers; rows of the log are made by ``LoggedRows``.
///
/// Rows have the columns that are read, and those of the identity and of foreign keys (``MySQLTable/references``), in the order of the
/// table.
struct MySQLRowForm: Sendable {
    /// The table.
    let table: MySQLTable
    /// The columns that rows have, by their index in the table.
    let columns: [Int]
    /// The names of these columns.
    let layout: PowerSyncSyncConfig.RowLayout
    /// How values are written.
    let values: MySQLValueForm
    /// Where the columns of the identity are in rows, in the order of the key.
    private let identity: [Int]
    /// Whether keys have something else than the values of these columns.
    private let keyDiffers: Bool

    /// Creates a form.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - readColumns: The names of the columns that are read; `nil` for all.
    ///   - options: How values are written.
    init(_ table: MySQLTable, reading readColumns: Set<String>?, _ options: SourceValueOptions) {
        self.table = table
        let columns = table.columns.indices.filter { table.hasInRows($0, reading: readColumns) }
        self.columns = columns
        layout = PowerSyncSyncConfig.RowLayout(columns.map { table.columns[$0].name })
        values = MySQLValueForm(options)
        identity = table.identityIndexes.compactMap { columns.firstIndex(of: $0) }
        keyDiffers = table.identity.contains { MySQLValueForm.keyDiffers($0.type) }
    }

    /// What a query asks for.
    var selectList: String {
        columns.map { index in
            let column = table.columns[index]
            return MySQLTextCell.selected(column.quotedName, column.type)
        }.joined(separator: ", ")
    }

    /// The row of an answer to a query for ``selectList``.
    ///
    /// - Throws: ``ReplicationSourceError`` when the server prints a value as none of the column's type.
    func row(_ answer: [ByteBuffer?]) throws -> SourceRow {
        guard answer.count == columns.count else {
            throw ReplicationSourceError(
                .unavailable,
                "A query of table \(table.name) was answered with other columns."
            )
        }
        var cells: [MySQLCell] = []
        cells.reserveCapacity(columns.count)
        for (value, index) in zip(answer, columns) {
            let column = table.columns[index]
            guard let cell = MySQLTextCell.cell(value, column.type) else {
                throw ReplicationSourceError(
                    .unavailable,
                    "Column \(column.name) of table \(table.name) has a value that is none of type \(column.declaration)."
                )
            }
            cells.append(cell)
        }
        return SourceRow(
            layout: layout,
            values: cells.map { values.value(of: $0) ?? .null },
            key: keyDiffers ? identity.map { values.keyValue(of: cells[$0]) ?? .null } : nil
        )
    }

    /// What tells a row from others.
    func key(of row: SourceRow) -> [SQLValue] {
        row.key ?? identity.map { row.values[$0] }
    }
}
