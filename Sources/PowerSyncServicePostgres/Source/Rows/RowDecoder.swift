import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// Makes rows of the texts of their values: those of a query, and those of the change stream.
struct RowDecoder: Sendable {
    /// The names of the columns.
    let layout: RowLayout
    private let table: SourceTableName
    private let decoders: [PostgresValueDecoder]
    private let report: @Sendable (_ table: SourceTableName, _ column: String, PostgresValueProblem) -> Void

    /// Creates a decoder.
    ///
    /// - Parameters:
    ///   - table: The table; the values come in the order of its columns.
    ///   - types: Knows the types of the columns.
    ///   - options: How values are written.
    ///   - report: Hears of values that are not what a reader would expect.
    init(
        _ table: PostgresTable,
        _ types: PostgresTypeRegistry,
        _ options: SourceValueOptions,
        report: @escaping @Sendable (SourceTableName, String, PostgresValueProblem) -> Void
    ) {
        layout = RowLayout(table.columns.map(\.name))
        decoders = table.columns.map { PostgresValueDecoder($0.type, in: types, options: options) }
        self.table = table.name
        self.report = report
    }

    /// The value of a column.
    ///
    /// - Parameters:
    ///   - text: Its text; `nil` for NULL.
    ///   - column: The position of the column.
    /// - Returns: The value.
    func value(_ text: ByteView?, of column: Int) -> SQLValue {
        guard let text else { return .null }
        var problem: PostgresValueProblem?
        let value = decoders[column].value(of: text, problem: &problem)
        if let problem { report(table, layout.names[column], problem) }
        return value
    }

    /// A row of a query that names the columns of the table in their order.
    func row(_ row: LibPQ.Row) -> SourceRow {
        SourceRow(
            layout: layout,
            values: layout.names.indices.map { column in row.withValue(column) { value($0, of: column) } }
        )
    }
}

/// Collects rows of a query.
struct RowCollector: RowReader {
    private let decoder: RowDecoder
    /// The most rows.
    private let maximumRows: Int
    /// The size in bytes from which on no more are read.
    private let maximumBytes: Int
    /// The position of the column whose text is kept.
    private let keyColumn: Int?

    /// The rows.
    private(set) var rows: [SourceRow] = []
    /// The text of the key of the last row.
    private(set) var lastKey: String?
    private var bytes = 0

    init(_ decoder: RowDecoder, maximumRows: Int, maximumBytes: Int, keyColumn: Int? = nil) {
        self.decoder = decoder
        self.maximumRows = maximumRows
        self.maximumBytes = maximumBytes
        self.keyColumn = keyColumn
    }

    var wantsMore: Bool { rows.count < maximumRows && bytes < maximumBytes }

    mutating func read(_ row: LibPQ.Row) {
        let decoded = decoder.row(row)
        bytes += decoded.estimatedBytes
        rows.append(decoded)
        if let keyColumn { lastKey = row.withValue(keyColumn) { $0?.string } }
    }
}
