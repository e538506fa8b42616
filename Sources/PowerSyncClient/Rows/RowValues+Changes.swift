import PowerSyncProtocol
import PowerSyncSQLite

// Which columns of a row an update changes.
extension RowValues.Column {
    /// Whether a row has the value already, in whatever form.
    ///
    /// Others write the same values as other texts: PostgreSQL has `["a", "b"]` for `["a","b"]`, `12.50` for `12.5`, and its own
    /// form of dates. An app that reads such a row and changes another column has not changed these. So what is stored is
    /// read as the type of the value and written again: if that gives the value, the app cannot tell them apart.
    ///
    /// - Parameters:
    ///   - index: The place of the column in the row.
    ///   - row: The row that is stored.
    /// - Returns: `false` also when what is stored cannot be read as that type.
    func isStored(at index: Int, of row: RowDecoder) -> Bool {
        let stored = row.value(at: index)
        let value = StoredValue(value)
        if stored.isSame(as: value) { return true }
        // A type may make something of NULL, but an optional of this type has been nil.
        if case .null = stored { return false }
        if isJSON, case .text(let text) = stored, let json = try? ExactJSON(parsing: text),
            StoredValue.text(json.canonicalText).isSame(as: value)
        {
            return true
        }
        // The conformance is looked for here, since one of an actor holds on that actor only.
        guard let type = type as? any Codable.Type, let rewritten = try? row.rewritten(type, at: index, dates) else {
            return false
        }
        return rewritten.isSame(as: value)
    }
}

extension RowDecoder {
    /// What a column is written as after it was read as a type.
    ///
    /// - Parameters:
    ///   - type: The type.
    ///   - index: The place of the column.
    ///   - dates: How a date is written.
    /// - Returns: The value.
    /// - Throws: Why it cannot be read or written.
    fileprivate func rewritten<T: Codable>(
        _ type: T.Type,
        at index: Int,
        _ dates: RowFormat.Dates
    ) throws -> StoredValue {
        let value = try decode(type, at: index)
        return StoredValue(try ValueEncoder.column(of: value, named: name(at: index), format.with(dates)))
    }
}

extension StoredValue {
    /// The value of a column that is written.
    init(_ value: PowerSyncDataType?) {
        switch value {
        case nil: self = .null
        case .bool(let value)?: self = .integer(value ? 1 : 0)
        case .int64(let value)?: self = .integer(value)
        case .int32(let value)?: self = .integer(Int64(value))
        case .double(let value)?: self = .real(value)
        case .string(let value)?: self = .text(value)
        case .data(let value)?: self = .blob(value)
        }
    }

    /// Whether this and another value of a column are the same kind with the same bits: NaN is what it was.
    func isSame(as other: StoredValue) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.integer(let lhs), .integer(let rhs)): lhs == rhs
        case (.real(let lhs), .real(let rhs)): lhs.bitPattern == rhs.bitPattern
        case (.text(let lhs), .text(let rhs)): ExactText(lhs) == ExactText(rhs)
        case (.blob(let lhs), .blob(let rhs)): lhs == rhs
        default: false
        }
    }
}
