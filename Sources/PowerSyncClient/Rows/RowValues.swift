import Foundation
import PowerSyncCore
import PowerSyncProtocol

/// The columns of a value that is to be written.
package struct RowValues: Sendable {
    /// A column of the value; `nil` is NULL.
    package struct Column: Sendable {
        package let name: String
        package fileprivate(set) var value: PowerSyncDataType?
        /// The type of what was encoded; `nil` of NULL, and of a container in the row itself.
        let type: Any.Type?
        /// Whether the value is JSON text.
        let isJSON: Bool
        /// The date that was encoded; `nil` of other types, and of a date with a conversion of the app.
        let date: Date?
        /// How a date is written.
        fileprivate(set) var dates: RowFormat.Dates
    }

    let table: String
    let format: RowFormat
    /// The columns, in the order in which the value encodes them.
    package private(set) var columns: [Column]

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

    /// The row with values as the kinds of its columns say: dates in ISO 8601, whatever the format says, and decimal numbers as texts.
    ///
    /// - Throws: ``TypedRowError`` for a date that ISO 8601 does not have.
    func typed(by kinds: ColumnKinds.Columns) throws -> RowValues {
        guard !kinds.isEmpty else { return self }
        var row = self
        for index in columns.indices {
            let column = columns[index]
            guard let kind = kinds[column.name] else { continue }
            do {
                row.columns[index] = try column.typed(kind)
            } catch {
                throw self.error(error.code, error.message, column: column.name)
            }
        }
        return row
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
            key is PathKey ? key.stringValue : format.keys.column(of: key.stringValue)
        }
        typed.path = context.codingPath.dropFirst().map { $0.intValue.map(String.init) ?? $0.stringValue }
        typed.value = mismatch?.value ?? String("\(value)".prefix(40))
        typed.type = "\(type(of: value))"
        typed.underlyingError = mismatch == nil ? context.underlyingError : nil
        return typed
    }
}

extension RowValues.Column {
    /// The column with its value as a kind says.
    ///
    /// - Parameter kind: The kind of the column of the schema.
    /// - Returns: The column.
    /// - Throws: Why a date cannot be stored.
    func typed(_ kind: ClientColumn.Kind) throws(StoredValue.Mismatch) -> RowValues.Column {
        var column = self
        switch (kind, value) {
        case (.date, _?):
            guard let date else { break }
            column.dates = .iso8601
            column.value = .string(try EncodedValue.text(of: date))
        case (.decimal, .int64(let number)?):
            column.value = .string(String(number))
        case (.decimal, .int32(let number)?):
            column.value = .string(String(number))
        case (.decimal, .double(let number)?) where number.isFinite:
            column.value = .string(JSONText.number(number))
        case (.boolean, _), (.json, _), (.date, _), (.decimal, _), (.uuid, _):
            break
        }
        return column
    }
}
