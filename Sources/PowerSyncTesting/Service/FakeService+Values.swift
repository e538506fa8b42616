public import Foundation
import PowerSync
import PowerSyncProtocol
import PowerSyncSyncConfig

extension FakeService {
    /// A value of a row of the backend's database.
    ///
    /// Literals are values: `"Milk"`, `3`, `0.5`, `true` (the integer 1), `nil` (NULL).
    public enum Value: Sendable, Hashable {
        /// NULL.
        case null
        /// An integer. Booleans are 1 and 0.
        case integer(Int64)
        /// A floating-point number; one that is no number is NULL.
        case real(Double)
        /// A text. Dates, UUIDs and JSON are texts.
        case text(String)
        /// Bytes, which clients get only where a query of the sync config makes a text of them.
        case blob(Data)
    }

    /// A row of the backend's database: columns by name.
    ///
    /// ```swift
    /// let row: FakeService.Row = ["id": "t1", "title": "Milk", "done": false]
    /// ```
    public struct Row: Sendable, Hashable {
        /// The names of the columns, in order.
        public private(set) var columns: [String] = []
        private var values: [String: Value] = [:]

        /// Creates a row without columns.
        public init() {}

        /// The value of a column; `nil` when the row has none of this name.
        public subscript(column: String) -> Value? {
            get { values[column] }
            set {
                if newValue == nil { columns.removeAll { $0 == column } }
                if newValue != nil, values[column] == nil { columns.append(column) }
                values[column] = newValue
            }
        }
    }
}

extension FakeService.Row: ExpressibleByDictionaryLiteral {
    /// Creates a row from a literal; of columns that are named twice, the last value counts.
    public init(dictionaryLiteral elements: (String, FakeService.Value)...) {
        for (name, value) in elements { self[name] = .some(value) }
    }
}

extension FakeService.Row: CustomStringConvertible {
    /// The columns in order: `id: "t1", done: 0`.
    public var description: String {
        columns.map { "\($0): \(values[$0] ?? .null)" }.joined(separator: ", ")
    }
}

extension FakeService.Value: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    /// Creates a text.
    public init(stringLiteral value: String) { self = .text(value) }
}

extension FakeService.Value: ExpressibleByIntegerLiteral {
    /// Creates an integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension FakeService.Value: ExpressibleByFloatLiteral {
    /// Creates a floating-point number.
    public init(floatLiteral value: Double) { self = .real(value) }
}

extension FakeService.Value: ExpressibleByBooleanLiteral {
    /// Creates the integer 1 or 0.
    public init(booleanLiteral value: Bool) { self = .integer(value ? 1 : 0) }
}

extension FakeService.Value: ExpressibleByNilLiteral {
    /// Creates NULL.
    public init(nilLiteral: ()) { self = .null }
}

extension FakeService.Value: CustomStringConvertible {
    /// The value as a literal.
    public var description: String {
        switch self {
        case .null: "nil"
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .text(let value): "\"\(value)\""
        case .blob(let data): data.count.counted("byte")
        }
    }
}

// The forms that the SDK and the rules have for values.
extension FakeService.Value {
    /// A value of a typed row; `nil` is NULL.
    init(_ value: PowerSyncDataType?) {
        switch value {
        case nil: self = .null
        case .bool(let value): self = .integer(value ? 1 : 0)
        case .string(let value): self = .text(value)
        case .int64(let value): self = .integer(value)
        case .int32(let value): self = .integer(Int64(value))
        case .double(let value): self = .real(value)
        case .data(let value): self = .blob(value)
        }
    }

    /// A value of an upload: booleans are 1 and 0, arrays and objects are JSON texts.
    init(_ value: JsonValue) {
        switch value {
        case .null: self = .null
        case .bool(let value): self = .integer(value ? 1 : 0)
        case .int(let value): self = .integer(Int64(value))
        case .double(let value): self = .real(value)
        case .string(let value): self = .text(value)
        case .array, .object: self = .text(ExactJSON(value).text)
        }
    }

    /// The value as the rules see it.
    var sqliteValue: SQLValue {
        switch self {
        case .null: .null
        case .integer(let value): .integer(value)
        case .real(let value): value.isNaN ? .null : .real(value)
        case .text(let value): .text(value)
        case .blob(let data): .blob(Array(data))
        }
    }
}

extension FakeService.Row {
    /// A typed row.
    init(_ row: RowValues) {
        for column in row.columns { self[column.name] = .some(FakeService.Value(column.value)) }
    }

    /// The columns of an upload, ordered by name.
    init(_ values: JsonParam) {
        for (name, value) in values.sorted(by: { $0.key < $1.key }) { self[name] = .some(FakeService.Value(value)) }
    }

    /// The row with other values for some columns.
    func merging(_ other: FakeService.Row) -> FakeService.Row {
        var merged = self
        for name in other.columns { merged[name] = other[name] }
        return merged
    }

    /// The row as the rules see it.
    var sourceRow: SourceRow {
        SourceRow(columns: columns.map { .init(name: $0, value: (values[$0] ?? .null).sqliteValue) })
    }
}
