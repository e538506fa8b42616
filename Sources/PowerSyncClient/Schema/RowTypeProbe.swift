import Foundation
import PowerSyncCore

/// Finds out what a type asks of a row, without a row: which columns, and as which types.
///
/// It decodes the type from made-up values. Each column that is not there, and each type that no value of its column can be read as, is a
/// problem; then the type gets a value that it accepts, so that the other columns are looked at, too. Inside of a JSON column everything
/// is there, and each optional, array and dictionary is empty: what JSON holds, no schema says.
final class RowTypeProbe {
    /// Why a value cannot be made.
    private enum Failure: Error {
        /// The type accepts none of the values that are made up, and has no case to take instead.
        case unknown(type: String)
        /// What the type asks for next is not known, for a reason that is noted.
        case noted
    }

    /// The columns, in the order of the table.
    let columns: [Column]
    let format: RowFormat
    private let table: String
    private let samples: [String: String]
    /// What is wrong, in the order in which the type asks.
    private var problems: [TypedRowError] = []

    init(_ table: Table, _ format: RowFormat, samples: [String: String]) {
        self.table = table.viewName
        self.format = format
        self.samples = samples
        columns = [Column(name: "id", type: .text)] + table.columns
    }

    /// Finds what is wrong with a type.
    ///
    /// - Returns: One error with everything that was found; `nil` when rows of the table can be read as the type.
    func problem<Row: Decodable>(with type: Row.Type) -> TypedRowError? {
        if ColumnDecoder.isOneValue(type) {
            note(.unsupported, "\(type) is one value, and a row has columns", column: nil, type)
        } else {
            do {
                _ = try Row(from: self)
            } catch Failure.noted {
                // Noted.
            } catch {
                note(.unsupported, "\(type) accepts none of the values that were tried: \(error)", column: nil, type)
            }
        }
        guard var problem = problems.first, problems.count > 1 else { return problems.first }
        let texts = problems.map { problem in
            problem.column.map { "column '\($0)': \(problem.message)" } ?? problem.message
        }
        problem = TypedRowError(problem.code, texts.joined(separator: "; "))
        problem.table = table
        return problem
    }

    /// The column of a key; `nil` when there is none, which is noted.
    fileprivate func column(of key: some CodingKey, _ type: Any.Type) -> Column? {
        let name = format.keys.column(of: key.stringValue)
        if let column = columns.first(where: { $0.name == name }) { return column }
        note(.missingColumn, "the table has no such column", column: name, type)
        return nil
    }

    private func note(_ code: TypedRowError.Code, _ message: String, column: String?, _ type: Any.Type) {
        var problem = TypedRowError(code, message)
        problem.table = table
        problem.column = column
        problem.type = "\(type)"
        problems.append(problem)
    }

    /// A value of a property.
    ///
    /// - Throws: ``Stop`` when there is none, which is noted.
    fileprivate func property<T: Decodable>(_ type: T.Type, _ key: some CodingKey) throws -> T {
        let column = column(of: key, type)
        do {
            return try value(type, of: column)
        } catch Failure.unknown(let unknown) {
            let message =
                "\(unknown) accepts none of the values that were tried: make it CaseIterable, or give a sample"
            note(.unsupported, message, column: column?.name, type)
            throw Failure.noted
        }
    }

    /// A value of a property that may be `nil`.
    fileprivate func optionalProperty<T: Decodable>(_ type: T.Type, _ key: some CodingKey) throws -> T? {
        do {
            return try value(type, of: column(of: key, type))
        } catch Failure.unknown {
            return nil
        }
    }

    /// A value of a type.
    ///
    /// - Parameters:
    ///   - type: What is asked for.
    ///   - column: The column that it is asked of; `nil` inside of JSON, and for a column that is not there.
    /// - Returns: The value.
    /// - Throws: ``Unknown`` when there is none; ``Stop`` when a sample is not accepted.
    fileprivate func value<T: Decodable>(_ type: T.Type, of column: Column?) throws -> T {
        if let column, let sample = samples[column.name] { return try value(type, of: column, from: sample) }
        if ColumnDecoder.isOneValue(type) {
            if let column, !holds(type, column) { noteMismatch(type, column) }
            if let value = Self.madeUp(type) { return value }
        }
        do {
            return try T(from: ValueProbe(probe: self, column: column))
        } catch {
            if let type = type as? any CaseIterable.Type, let value = Self.firstCase(type) as? T { return value }
            throw error is Failure ? error : Failure.unknown(type: "\(type)")
        }
    }

    /// The value that a sample is read as, by what reads rows.
    private func value<T: Decodable>(_ type: T.Type, of column: Column, from sample: String) throws -> T {
        do {
            // The sample has the name of the column.
            var format = format
            format.keys = .unchanged
            let row = RowDecoder(SampleRow(column: column, text: sample), format)
            return try row.decode(OneColumn<T>.self).value
        } catch let error as TypedRowError {
            note(error.code, "of the sample, \(error.message)", column: column.name, type)
        } catch {
            note(.malformedValue, "\(type) does not accept the sample: \(error)", column: column.name, type)
        }
        throw Failure.noted
    }

    /// Whether a column can be read as a type that the SDK reads; any can as a `JsonValue` where the format knows the table.
    private func holds(_ type: Any.Type, _ column: Column) -> Bool {
        column.holds(type) || (type == JsonValue.self && format.kinds != nil)
    }

    fileprivate func noteMismatch(_ type: Any.Type, _ column: Column) {
        note(.typeMismatch, "\(column.content) is no \(type)", column: column.name, type)
    }

    /// A value of a type that is read by the SDK.
    private static func madeUp<T>(_ type: T.Type) -> T? {
        if type == JsonValue.self { return JsonValue.null as? T }
        let value: StoredValue =
            if type == String.self || type == Data.self {
                .text("")
            } else if type == URL.self {
                .text("a:")
            } else if type == UUID.self {
                .text("00000000-0000-0000-0000-000000000000")
            } else {
                .integer(0)
            }
        return try? value.known(as: type, RowFormat())
    }

    private static func firstCase<C: CaseIterable>(_ type: C.Type) -> Any? { C.allCases.first }
}

extension Column {
    /// What is in the column.
    fileprivate var content: String {
        switch (type, kind) {
        case (_, .boolean?): "a boolean"
        case (_, .json?): "JSON"
        case (_, .date?): "a date"
        case (_, .decimal?): "a decimal number as text"
        case (_, .uuid?): "a UUID"
        case (.text, nil): "text"
        case (.integer, nil): "an integer"
        case (.real, nil): "a real number"
        }
    }

    /// Whether values of the column can be read as a type that the SDK reads: at least some texts, or all numbers.
    fileprivate func holds(_ wanted: Any.Type) -> Bool {
        isHeldByType(wanted) && isHeldByKind(wanted)
    }

    /// Whether there can be an object or an array.
    fileprivate var holdsJSON: Bool { type == .text && (kind == nil || kind == .json) }

    private func isHeldByType(_ wanted: Any.Type) -> Bool {
        let isInteger = wanted is any FixedWidthInteger.Type || wanted == Bool.self
        let isReal = wanted == Double.self || wanted == Float.self
        switch type {
        case .text: return !isInteger && !isReal
        case .integer:
            return isInteger || isReal || [Date.self, Decimal.self, JsonValue.self].contains { $0 == wanted }
        // An integer would do for some numbers only.
        case .real: return isReal || [Date.self, Decimal.self, JsonValue.self].contains { $0 == wanted }
        }
    }

    private func isHeldByKind(_ wanted: Any.Type) -> Bool {
        if wanted == String.self { return true }
        switch kind {
        case nil: return true
        case .boolean?: return wanted is any FixedWidthInteger.Type || wanted == Bool.self || wanted == JsonValue.self
        case .json?: return wanted == JsonValue.self
        case .date?: return wanted == Date.self
        case .decimal?: return wanted == Decimal.self
        case .uuid?: return wanted == UUID.self
        }
    }
}

extension ColumnData {
    fileprivate static func == (lhs: ColumnData, rhs: ColumnData) -> Bool { lhs.name == rhs.name }
}

// MARK: - Samples

/// A row with one column, whose value the app has given.
private final class SampleRow: RowColumns {
    private let column: Column
    private let sample: StoredValue

    init(column: Column, text: String) {
        self.column = column
        sample =
            switch column.type {
            case .text: .text(text)
            case .integer: Int64(text).map(StoredValue.integer) ?? .text(text)
            case .real: Double(text).map(StoredValue.real) ?? .text(text)
            }
    }

    var columnCount: Int { 1 }
    var names: [String] { [column.name] }
    var rowNumber: Int? { nil }
    var sql: String? { nil }

    func value(at index: Int) -> StoredValue { sample }
    func isNull(at index: Int) -> Bool { false }
    func text(at index: Int) -> String? { if case .text(let text) = sample { text } else { nil } }
    func integer(at index: Int) -> Int64? { if case .integer(let integer) = sample { integer } else { nil } }
    func real(at index: Int) -> Double? { if case .real(let real) = sample { real } else { nil } }
}

/// The only column of a row, as a type.
private struct OneColumn<Value: Decodable>: Decodable {
    let value: Value

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: PathKey.self)
        guard let key = container.allKeys.first else { preconditionFailure("a sample is a row of one column") }
        value = try container.decode(Value.self, forKey: key)
    }
}

// MARK: - Decoders

extension RowTypeProbe: Decoder {
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(RowProbeContainer(probe: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw notOneValue }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw notOneValue }

    private var notOneValue: DecodingError {
        .dataCorrupted(.init(codingPath: [], debugDescription: "a row is neither an array nor one value"))
    }
}

/// A row: keyed by names of columns.
private struct RowProbeContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let probe: RowTypeProbe

    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { probe.columns.compactMap { Key(stringValue: $0.name) } }

    func contains(_ key: Key) -> Bool {
        let name = probe.format.keys.column(of: key.stringValue)
        return probe.columns.contains { $0.name == name }
    }

    func decodeNil(forKey key: Key) -> Bool { false }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try probe.property(type, key)
    }

    // An optional without a column is read as nil, and cannot be written.

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        try probe.optionalProperty(type, key)
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try decode(type, forKey: key) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try decode(type, forKey: key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try decode(type, forKey: key) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try decode(type, forKey: key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try decode(type, forKey: key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try decode(type, forKey: key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try decode(type, forKey: key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try decode(type, forKey: key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try decode(type, forKey: key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try decode(type, forKey: key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try decode(type, forKey: key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try decode(type, forKey: key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try decode(type, forKey: key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try decode(type, forKey: key) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) -> KeyedDecodingContainer<NestedKey> {
        value(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer { value(key).unkeyedContainer() }
    func superDecoder() -> any Decoder { probe }
    func superDecoder(forKey key: Key) -> any Decoder { value(key) }

    private func value(_ key: Key) -> ValueProbe {
        ValueProbe(probe: probe, column: probe.column(of: key, Any.self))
    }
}

/// A value of a column, or of anything inside of JSON.
private struct ValueProbe: Decoder, SingleValueDecodingContainer {
    let probe: RowTypeProbe
    /// `nil` inside of JSON.
    let column: Column?

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        if let column, !column.holdsJSON { probe.noteMismatch([String: Any].self, column) }
        return KeyedDecodingContainer(ObjectProbe(probe: probe))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer {
        if let column, !column.holdsJSON { probe.noteMismatch([Any].self, column) }
        // An array without elements.
        return JSONArrayContainer(values: [], node: JSONDecoderNode(.array([]), [], probe.format))
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { column == nil }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try probe.value(type, of: column) }
}

/// An object that has each member that is asked for, and has null for those that may be.
private struct ObjectProbe<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let probe: RowTypeProbe

    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    func contains(_ key: Key) -> Bool { true }
    func decodeNil(forKey key: Key) -> Bool { true }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try probe.value(type, of: nil) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) -> KeyedDecodingContainer<NestedKey> {
        value.container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer { value.unkeyedContainer() }
    func superDecoder() -> any Decoder { value }
    func superDecoder(forKey key: Key) -> any Decoder { value }

    private var value: ValueProbe { ValueProbe(probe: probe, column: nil) }
}
