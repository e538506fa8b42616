import Foundation
import PowerSyncProtocol

/// Makes values of the rows of one result.
///
/// A type asks for its columns in the same order for each row. So the decoder remembers, in ``asked``, which names were asked
/// for and where they were found: after the first row, a column costs one comparison of texts that are usually the same
/// literal.
///
/// Inside, errors are `DecodingError`s, as a type's own `init(from:)` may expect; ``decode(_:)`` makes ``TypedRowError``s of
/// them.
final class RowDecoder: Decoder {
    private let columns: any RowColumns
    let format: RowFormat
    private lazy var names = columns.names
    /// The columns by name; `nil` for a name that several have.
    private lazy var indices = makeIndices()
    private var asked: [(key: String, index: Int?)] = []
    /// How many names the row has asked for.
    private var position = 0
    private var lastRow: Int?

    init(_ columns: any RowColumns, _ format: RowFormat) {
        self.columns = columns
        self.format = format
    }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Makes a value of the current row.
    ///
    /// - Parameters:
    ///   - type: A type that decodes itself by names, or, of a row with one column, from a single value.
    ///   - sql: The query, in case that the row does not know it.
    /// - Returns: The value.
    /// - Throws: ``TypedRowError``, or what the type throws besides `DecodingError`.
    func decode<T: Decodable>(_ type: T.Type, sql: String? = nil) throws -> T {
        if lastRow == nil || lastRow != columns.rowNumber {
            lastRow = columns.rowNumber
            position = 0
        }
        do {
            if ColumnDecoder.isOneValue(type) { return try decode(type, at: try onlyColumn(type)) }
            return try T(from: self)
        } catch let error as DecodingError {
            throw publicError(of: error, type, sql: sql)
        }
    }

    // MARK: - Columns

    /// The column of a key.
    ///
    /// - Throws: `DecodingError` if there are several.
    func index(of key: some CodingKey) throws -> Int? {
        let name = key.stringValue
        if position < asked.count, asked[position].key == name {
            defer { position += 1 }
            return asked[position].index
        }
        let index: Int?
        switch indices[format.keys.column(of: name)] {
        case .some(let column?): index = column
        case .some(nil):
            throw DecodingError.of(
                StoredValue.Mismatch(
                    code: .ambiguousColumn,
                    message: "several columns have this name; give them others with AS",
                    value: "",
                    type: ""
                ),
                Any.self,
                at: [PathKey(stringValue: format.keys.column(of: name))]
            )
        case nil: index = nil
        }
        if position == asked.count {
            asked.append((name, index))
            position += 1
        }
        return index
    }

    /// The column of a key that has to be there.
    func requiredIndex(of key: some CodingKey, _ type: Any.Type) throws -> Int {
        if let index = try index(of: key) { return index }
        let column = format.keys.column(of: key.stringValue)
        let mismatch = StoredValue.Mismatch(
            code: .missingColumn,
            message: "there is no such column among " + names.map { "'\($0)'" }.joined(separator: ", "),
            value: "",
            type: "\(type)"
        )
        throw DecodingError.keyNotFound(
            key,
            DecodingError.Context(
                codingPath: [PathKey(stringValue: column)],
                debugDescription: mismatch.message,
                underlyingError: mismatch
            )
        )
    }

    /// The column of a row that has only one.
    func onlyColumn(_ type: Any.Type) throws -> Int {
        guard columns.columnCount == 1 else {
            let mismatch = StoredValue.Mismatch(
                code: .unsupported,
                message: "\(type) is one value, and the row has \(columns.columnCount.counted("column"))",
                value: "",
                type: "\(type)"
            )
            throw DecodingError.of(mismatch, type, at: [])
        }
        return 0
    }

    /// The names of columns that can be asked for.
    var columnKeys: [String] {
        names.filter { indices[$0] ?? nil != nil }
    }

    func name(at index: Int) -> String {
        names.indices.contains(index) ? names[index] : "\(index)"
    }

    func isNull(at index: Int) -> Bool {
        columns.isNull(at: index)
    }

    func value(at index: Int) -> StoredValue {
        columns.value(at: index)
    }

    private func makeIndices() -> [String: Int?] {
        var indices: [String: Int?] = [:]
        for (index, name) in names.enumerated() {
            indices.updateValue(indices.keys.contains(name) ? nil : index, forKey: name)
        }
        return indices
    }

    // MARK: - Values

    /// The value of a column.
    @inline(__always)
    func decode<T: Decodable>(_ type: T.Type, at index: Int) throws -> T {
        // The compiler keeps one of these where it knows the type.
        if type == String.self, let text = columns.text(at: index) as? T { return text }
        if type == Int.self, let integer = columns.integer(at: index).flatMap(Int.init(exactly:)) as? T {
            return integer
        }
        if type == Bool.self, let bool = columns.integer(at: index).flatMap(bool) as? T { return bool }
        if type == Double.self, let real = columns.real(at: index) as? T { return real }
        return try otherValue(type, at: index)
    }

    @inline(__always)
    private func bool(_ integer: Int64) -> Bool? {
        integer == 0 ? false : integer == 1 ? true : nil
    }

    private func otherValue<T: Decodable>(_ type: T.Type, at index: Int) throws -> T {
        let decoder = ColumnDecoder(row: self, index: index)
        guard ColumnDecoder.isOneValue(type) else { return try T(from: decoder) }
        return try decoder.oneValue(type)
    }

    // MARK: - Errors

    private func publicError(of error: DecodingError, _ type: Any.Type, sql: String?) -> TypedRowError {
        let context = error.context
        let mismatch = context.underlyingError as? StoredValue.Mismatch
        let column = context.codingPath.first.map { key in
            key is PathKey ? key.stringValue : format.keys.column(of: key.stringValue)
        }
        let found = column.flatMap { names.firstIndex(of: $0) }.map { columns.value(at: $0).short }
        let value = mismatch.map { $0.value.isEmpty ? nil : $0.value } ?? found
        var text = mismatch?.message ?? context.debugDescription
        if mismatch == nil, let value { text = "\(value): \(text)" }
        var typed = TypedRowError(mismatch?.code ?? error.code, text)
        typed.sql = columns.sql ?? sql
        typed.row = columns.rowNumber
        typed.column = column
        typed.path = context.codingPath.dropFirst().map { $0.intValue.map(String.init) ?? $0.stringValue }
        typed.value = value
        typed.type = mismatch.map { $0.type.isEmpty ? nil : $0.type } ?? error.type ?? "\(type)"
        typed.underlyingError = mismatch == nil ? context.underlyingError : nil
        return typed
    }
}

/// A step of a path: the name of a column, which comes first, of a member of an object, or the place of an element of an array.
struct PathKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }
}

extension DecodingError {
    /// The standard form of a mismatch.
    static func of(_ mismatch: StoredValue.Mismatch, _ type: Any.Type, at path: [any CodingKey]) -> DecodingError {
        let context = Context(codingPath: path, debugDescription: mismatch.message, underlyingError: mismatch)
        return switch mismatch.code {
        case .unexpectedNull: .valueNotFound(type, context)
        case .typeMismatch: .typeMismatch(type, context)
        default: .dataCorrupted(context)
        }
    }

    fileprivate var context: Context {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
            .dataCorrupted(let context):
            context
        @unknown default: Context(codingPath: [], debugDescription: "\(self)")
        }
    }

    fileprivate var type: String? {
        switch self {
        case .typeMismatch(let type, _), .valueNotFound(let type, _): "\(type)"
        default: nil
        }
    }

    fileprivate var code: TypedRowError.Code {
        switch self {
        case .typeMismatch: .typeMismatch
        case .valueNotFound: .unexpectedNull
        case .keyNotFound: .missingColumn
        case .dataCorrupted: .malformedValue
        @unknown default: .malformedValue
        }
    }
}
