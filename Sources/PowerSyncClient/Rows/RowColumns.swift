import Foundation

/// The columns of the current row of a result, as a row decoder reads them.
protocol RowColumns: AnyObject {
    /// The number of columns.
    var columnCount: Int { get }
    /// The names of the columns, in order.
    var names: [String] { get }
    /// The place of the row in the result, from 1; `nil` when it is not known.
    var rowNumber: Int? { get }
    /// The query, if it is known.
    var sql: String? { get }

    /// The value of a column; NULL when there is no such column.
    func value(at index: Int) -> StoredValue
    /// Whether there is no value.
    func isNull(at index: Int) -> Bool

    // What nearly all rows consist of, without a detour. `nil` if it is of another type.

    /// The text in a column.
    func text(at index: Int) -> String?
    /// The integer in a column.
    func integer(at index: Int) -> Int64?
    /// The floating-point number in a column.
    func real(at index: Int) -> Double?
}

/// The row of a cursor that is not ours, as fakes in the tests of apps have.
///
/// Such a cursor does not tell the types of its values; it is asked for what is wanted, and everything else is text.
final class ForeignRow: RowColumns {
    private let cursor: any SqlCursor

    init(_ cursor: any SqlCursor) {
        self.cursor = cursor
    }

    var columnCount: Int { cursor.columnCount }
    var rowNumber: Int? { nil }
    var sql: String? { nil }

    var names: [String] {
        var names = Array(repeating: "", count: columnCount)
        for (name, index) in cursor.columnNames where names.indices.contains(index) { names[index] = name }
        return names
    }

    func isNull(at index: Int) -> Bool {
        // A cursor may give nothing but what a column holds.
        text(at: index) == nil && integer(at: index) == nil && real(at: index) == nil
            && cursor.getDataOptional(index: index) == nil
    }

    func value(at index: Int) -> StoredValue {
        if let text = text(at: index) { return .text(text) }
        if let integer = integer(at: index) { return .integer(integer) }
        if let real = real(at: index) { return .real(real) }
        return cursor.getDataOptional(index: index).map(StoredValue.blob) ?? .null
    }

    func text(at index: Int) -> String? { cursor.getStringOptional(index: index) }
    func integer(at index: Int) -> Int64? { cursor.getInt64Optional(index: index) }
    func real(at index: Int) -> Double? { cursor.getDoubleOptional(index: index) }
}
