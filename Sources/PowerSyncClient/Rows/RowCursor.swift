import Foundation
import GRDBSQLite
import PowerSyncSQLite

/// The current row of a statement.
///
/// The statement is used only between ``init(_:)`` and ``end()``; afterwards the cursor has no columns, so a cursor that
/// leaks out of its mapper gives errors instead of undefined behaviour. Texts are copied once, into the `String`, with
/// embedded NULs.
final class RowCursor {
    private let statement: PreparedStatement
    private(set) var columnCount: Int
    private(set) lazy var columnNames: [String: Int] = makeColumnNames()
    /// The number of the row, from 1.
    private var row = 0
    /// Makes values of rows; it holds the cursor until ``end()``.
    private var decoder: RowDecoder?

    /// Creates a cursor over the rows of a statement that is about to be stepped.
    ///
    /// - Parameter statement: A statement that the caller keeps until ``end()``.
    init(_ statement: PreparedStatement) {
        self.statement = statement
        columnCount = Int(statement.columnCount)
    }

    /// The statement has stepped to the next row.
    func didStep() {
        row += 1
    }

    /// Forgets the statement.
    func end() {
        columnCount = 0
        decoder = nil
    }

    /// What makes values of the rows, with what it has learnt from earlier ones.
    func decoder(_ format: RowFormat) -> RowDecoder {
        if let decoder, decoder.format == format { return decoder }
        let decoder = RowDecoder(self, format)
        self.decoder = columnCount > 0 ? decoder : nil
        return decoder
    }

    /// The column, if it exists and its value is not NULL.
    private func column(_ index: Int) -> CInt? {
        guard index >= 0, index < columnCount else { return nil }
        let column = CInt(index)
        return statement.isNull(at: column) ? nil : column
    }

    private func required<Value>(_ index: Int, _ value: Value?) throws(SqlCursorError) -> Value {
        if let value { return value }
        let isInRange = index >= 0 && index < columnCount
        throw .nullValueFound(isInRange ? String(index) : "invalid index \(index)")
    }

    private func makeColumnNames() -> [String: Int] {
        var names: [String: Int] = [:]
        for index in 0..<columnCount {
            if let name = statement.name(of: CInt(index)) { names[name] = index }
        }
        return names
    }
}

extension RowCursor: SqlCursor {
    func getBooleanOptional(index: Int) -> Bool? {
        getInt64Optional(index: index).map { $0 != 0 }
    }

    func getDoubleOptional(index: Int) -> Double? {
        column(index).map { statement.double(at: $0) }
    }

    func getIntOptional(index: Int) -> Int? {
        getInt64Optional(index: index).map { Int(truncatingIfNeeded: $0) }
    }

    func getInt64Optional(index: Int) -> Int64? {
        column(index).map { statement.integer(at: $0) }
    }

    func getStringOptional(index: Int) -> String? {
        column(index).flatMap { statement.string(at: $0) }
    }

    func getBoolean(index: Int) throws(SqlCursorError) -> Bool {
        try required(index, getBooleanOptional(index: index))
    }

    func getDouble(index: Int) throws(SqlCursorError) -> Double {
        try required(index, getDoubleOptional(index: index))
    }

    func getInt(index: Int) throws(SqlCursorError) -> Int {
        try required(index, getIntOptional(index: index))
    }

    func getInt64(index: Int) throws(SqlCursorError) -> Int64 {
        try required(index, getInt64Optional(index: index))
    }

    func getString(index: Int) throws(SqlCursorError) -> String {
        try required(index, getStringOptional(index: index))
    }
}

extension RowCursor {
    /// The bytes in a column.
    func getDataOptional(index: Int) -> Data? {
        guard let column = column(index) else { return nil }
        let bytes = unsafe statement.blob(at: column)
        guard let start = bytes.baseAddress else { return Data() }
        return unsafe Data(bytes: start, count: bytes.count)
    }
}

extension RowCursor: RowColumns {
    var names: [String] {
        (0..<columnCount).map { statement.name(of: CInt($0)) ?? "" }
    }

    var rowNumber: Int? { row }
    var sql: String? { unsafe columnCount > 0 ? sqlite3_sql(statement.handle).map { unsafe String(cString: $0) } : nil }

    func isNull(at index: Int) -> Bool {
        column(index) == nil
    }

    func value(at index: Int) -> StoredValue {
        switch storageClass(at: index) {
        case .null: .null
        case .integer: .integer(statement.integer(at: CInt(index)))
        case .real: .real(statement.double(at: CInt(index)))
        case .text: .text(statement.string(at: CInt(index)) ?? "")
        case .blob: .blob(getDataOptional(index: index) ?? Data())
        }
    }

    func text(at index: Int) -> String? {
        storageClass(at: index) == .text ? statement.string(at: CInt(index)) : nil
    }

    func integer(at index: Int) -> Int64? {
        storageClass(at: index) == .integer ? statement.integer(at: CInt(index)) : nil
    }

    func real(at index: Int) -> Double? {
        storageClass(at: index) == .real ? statement.double(at: CInt(index)) : nil
    }

    private func storageClass(at index: Int) -> PreparedStatement.StorageClass {
        index >= 0 && index < columnCount ? statement.storageClass(at: CInt(index)) : .null
    }
}
