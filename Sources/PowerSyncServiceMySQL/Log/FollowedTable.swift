import MySQLBinlog
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// A table whose changes are delivered.
struct FollowedTable: Sendable {
    /// The table as the replicator knows it.
    var descriptor: SourceTableDescriptor
    /// The table as the catalogue describes it.
    var table: MySQLTable {
        didSet { rows = LoggedRows(table, rows) }
    }
    /// Makes its rows.
    private(set) var rows: LoggedRows
    /// Everything before was visible when its copy began.
    var copied: LogPosition?
    /// Whether the incarnation of the table tells when its rows were written anew, or others put in their place.
    var isToldByIncarnation: Bool
    /// Where the statement begins after which the columns are in their places, if it is yet to come.
    var movedAt: LogPosition?
    /// Whether ``table`` is what the catalogue had after a statement that this reader has come to.
    var isOfStatement = false
    /// Whether rows of it were read since then that the log has without the names of their columns.
    var hasNamelessRows = false

    /// Creates a table.
    ///
    /// - Parameters:
    ///   - descriptor: The table as the replicator knows it.
    ///   - table: The table as the catalogue describes it.
    ///   - form: How values are written.
    ///   - readColumns: The columns that a stream reads; `nil` for all.
    ///   - referencedColumns: Those that other tables refer to with rules.
    ///   - copied: What its copy has seen.
    ///   - isToldByIncarnation: Whether its incarnation tells of all rows that were written anew.
    ///   - movedAt: Where the statement begins after which the columns are in their places, if it is yet to come.
    init(
        descriptor: SourceTableDescriptor,
        table: MySQLTable,
        form: MySQLValueForm,
        readColumns: Set<String>?,
        referencedColumns: Set<String> = [],
        copied: LogPosition?,
        isToldByIncarnation: Bool,
        movedAt: LogPosition? = nil
    ) {
        self.descriptor = descriptor
        self.table = table
        self.copied = copied
        self.isToldByIncarnation = isToldByIncarnation
        self.movedAt = movedAt
        rows = LoggedRows(table, form: form, readColumns: readColumns, referencedColumns: referencedColumns)
    }
}

/// Makes rows of a table from what the log has of them.
struct LoggedRows: Sendable {
    private let form: MySQLValueForm
    /// The columns that a stream reads; `nil` for all.
    let readColumns: Set<String>?
    private let referencedColumns: Set<String>
    /// What the columns are, for the log.
    let descriptions: [ColumnDescription]
    /// The names of the columns that rows have.
    private let layout: PowerSyncSyncConfig.RowLayout
    /// Where they are in the table.
    private let columns: [Int]
    /// Where the identity is in the table.
    private let identity: [Int]
    /// Whether keys are other values than those of the identity's columns.
    private let hasOtherKeys: Bool
    /// Whether the log may have keys in forms that only the server reads (``KeyConversions``).
    let hasKeysOfServer: Bool

    init(_ table: MySQLTable, form: MySQLValueForm, readColumns: Set<String>?, referencedColumns: Set<String>) {
        self.form = form
        self.readColumns = readColumns
        self.referencedColumns = referencedColumns
        let identity = table.identityIndexes
        self.identity = identity
        let isInRows = table.columns.indices.map { table.hasInRows($0, reading: readColumns) }
        columns = table.columns.indices.filter { isInRows[$0] }
        layout = RowLayout(columns.map { table.columns[$0].name })
        hasOtherKeys = identity.contains { MySQLValueForm.keyDiffers(table.columns[$0].type) }
        hasKeysOfServer = identity.contains { index in
            guard let name = table.columns[index].characterSet, case .other = MySQLCharset(name: name) else {
                return false
            }
            return true
        }
        descriptions = zip(table.columns, isInRows).map { column, isInRows in
            ColumnDescription(
                name: column.name,
                type: column.type,
                charset: column.characterSet.map { MySQLCharset(name: $0) },
                isRead: isInRows || referencedColumns.contains(column.name)
            )
        }
    }

    /// The same of a table whose columns are others.
    init(_ table: MySQLTable, _ other: LoggedRows) {
        self.init(table, form: other.form, readColumns: other.readColumns, referencedColumns: other.referencedColumns)
    }

    /// The values of a key that only the server reads.
    func cellsOfServer(_ cells: [MySQLCell?]) -> [DeferredCell] {
        identity.compactMap { column in
            guard case .deferred(let cell)? = cells[column] else { return nil }
            return cell
        }
    }

    /// Cells with what the server has made of those of the key.
    func converted(_ cells: [MySQLCell?], by conversions: KeyConversions) -> [MySQLCell?] {
        var cells = cells
        for column in identity {
            if let cell = cells[column] { cells[column] = conversions.cell(cell) ?? cell }
        }
        return cells
    }

    /// A row with all columns; `nil` when the log does not have all of them.
    func row(_ cells: [MySQLCell?]) -> SourceRow? {
        var values: [SQLValue] = []
        values.reserveCapacity(columns.count)
        for column in columns {
            guard let value = cells[column].flatMap({ form.value(of: $0) }) else { return nil }
            values.append(value)
        }
        guard hasOtherKeys else { return SourceRow(layout: layout, values: values) }
        return key(cells).map { SourceRow(layout: layout, values: values, key: $0) }
    }

    /// A row with the columns that the log has; `nil` when the identity is not among them.
    func partialRow(_ cells: [MySQLCell?]) -> SourceRow? {
        guard let key = key(cells) else { return nil }
        let present = columns.enumerated().compactMap { place, column in
            cells[column].flatMap { form.value(of: $0) }.map { SourceRow.Column(name: layout.names[place], value: $0) }
        }
        var row = SourceRow(columns: present)
        if hasOtherKeys { row.key = key }
        return row
    }

    /// A row with nothing but a key.
    func row(key: [SQLValue], of table: SourceTableDescriptor) -> SourceRow {
        // What the key has of a time is not the value of its column.
        guard !hasOtherKeys else { return SourceRow(layout: RowLayout([]), values: [], key: key) }
        return SourceRow(columns: zip(table.identity, key).map { SourceRow.Column(name: $0.name, value: $1) })
    }

    /// What tells a row from others; `nil` when the log does not have all of it.
    func key(_ cells: [MySQLCell?]) -> [SQLValue]? {
        var key: [SQLValue] = []
        key.reserveCapacity(identity.count)
        for column in identity {
            guard let value = cells[column].flatMap({ form.keyValue(of: $0) }) else { return nil }
            key.append(value)
        }
        return key
    }
}
