import Foundation
import PowerSyncProtocol

/// The columns of a value that is to be written.
package struct RowValues: Sendable {
    /// A column of the value; `nil` is NULL.
    package struct Column: Sendable {
        package let name: String
        package let value: PowerSyncDataType?
        /// The type of what was encoded; `nil` of NULL, and of a container in the row itself.
        let type: Any.Type?
        /// Whether the value is JSON text.
        let isJSON: Bool
    }

    let table: String
    let format: RowFormat
    /// The columns, in the order in which the value encodes them.
    package let columns: [Column]

    /// Takes a value apart.
    ///
    /// - Parameters:
    ///   - row: A type that encodes itself by names.
    ///   - table: The table or view.
    ///   - wanted: The only column that is wanted, if not all are.
    ///   - format: How names and dates are written.
    /// - Throws: ``TypedRowError``, or what the value throws besides `EncodingError`.
    package init(_ row: some Encodable, table: String, only wanted: String? = nil, _ format: RowFormat) throws {
        try Argument.check(name: table, of: "a table")
        self.table = table
        self.format = format
        let encoder = ValueEncoder(format, wanted: wanted)
        let columns: [Column]?
        do {
            try row.encode(to: encoder)
            columns = try encoder.columns()
        } catch let error as EncodingError {
            throw RowValues.publicError(of: error, table: table, format)
        }
        guard let columns, wanted != nil || !columns.isEmpty else {
            var error = TypedRowError(.unsupported, "a \(type(of: row)) has no properties that could be columns")
            error.table = table
            throw error
        }
        for column in columns { try Argument.check(name: column.name, of: "a column") }
        self.columns = columns
    }

    /// The value that tells which row it is.
    ///
    /// - Throws: ``TypedRowError`` when there is none.
    func key(_ name: String) throws -> PowerSyncDataType {
        guard let value = columns.first(where: { $0.name == name })?.value else {
            throw error(.missingKey, "the value does not say which row it is", column: name)
        }
        return value
    }

    /// The error of a row as a whole.
    func error(_ code: TypedRowError.Code, _ message: String, column: String) -> TypedRowError {
        var error = TypedRowError(code, message)
        error.table = table
        error.column = column
        return error
    }

    private static func publicError(of error: EncodingError, table: String, _ format: RowFormat) -> TypedRowError {
        guard case .invalidValue(let value, let context) = error else {
            return TypedRowError(.unsupported, "\(error)")
        }
        let mismatch = context.underlyingError as? StoredValue.Mismatch
        var typed = TypedRowError(mismatch?.code ?? .outOfRange, mismatch?.message ?? context.debugDescription)
        typed.table = table
        typed.column = context.codingPath.first.map { key in
            key is ColumnKey ? key.stringValue : format.keys.column(of: key.stringValue)
        }
        typed.path = context.codingPath.dropFirst().map { $0.intValue.map(String.init) ?? $0.stringValue }
        typed.value = mismatch?.value ?? String("\(value)".prefix(40))
        typed.type = "\(type(of: value))"
        typed.underlyingError = mismatch == nil ? context.underlyingError : nil
        return typed
    }
}
