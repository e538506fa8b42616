import Foundation
import PowerSyncProtocol

/// What a value is written as.
enum EncodedValue {
    /// A value that JSON has, too.
    case json(ExactJSON)
    /// A value that is JSON, whatever it is: so that it is read as that again.
    case jsonText(ExactJSON)
    /// What the app's own conversion gives.
    case converted(PowerSyncDataType?)

    /// The value of a column.
    ///
    /// JSON is text with sorted members: equal values are equal texts, and no change.
    var column: PowerSyncDataType? {
        switch self {
        case .converted(let value): value
        case .jsonText(.null), .json(.null): nil
        case .jsonText(let value): .string(value.canonicalText)
        case .json(.bool(let value)): .bool(value)
        case .json(.integer(let value)): .int64(value)
        case .json(.double(let value)): .double(value)
        case .json(.string(let value)): .string(value)
        case .json(let value): .string(value.canonicalText)
        }
    }

    /// Whether the value of the column is JSON text.
    var isJSON: Bool {
        switch self {
        case .jsonText, .json(.array), .json(.object): true
        case .json, .converted: false
        }
    }

    /// The value inside of JSON.
    ///
    /// - Throws: ``StoredValue/Mismatch`` for what JSON does not have.
    func inside() throws -> ExactJSON {
        switch self {
        case .json(.double(let value)) where !value.isFinite:
            throw StoredValue.real(value).mismatch(.outOfRange, Double.self, "JSON has no \(value)")
        case .json(let value), .jsonText(let value): return value
        case .converted(nil): return .null
        case .converted(.bool(let value)?): return .bool(value)
        case .converted(.string(let value)?): return .string(value)
        case .converted(.int64(let value)?): return .integer(value)
        case .converted(.int32(let value)?): return .integer(Int64(value))
        case .converted(.double(let value)?): return try EncodedValue.json(.double(value)).inside()
        case .converted(.data(let value)?): return .string(value.base64EncodedString())
        }
    }
}

extension EncodedValue {
    /// The value of a type that is known here.
    ///
    /// - Returns: `nil` for a type that has to encode itself.
    /// - Throws: ``StoredValue/Mismatch``.
    init?(known value: some Encodable, _ format: RowFormat) throws {
        // The app's own conversion wins, as for parameters.
        if let value = value as? any PowerSyncDataTypeConvertible {
            self = .converted(value.psDataType)
            return
        }
        switch value {
        case let value as JsonValue: self = .jsonText(ExactJSON(value))
        case let value as String: self = .json(.string(value))
        case let value as Bool: self = .json(.bool(value))
        case let value as Double: self = try EncodedValue(value)
        case let value as Float: self = try EncodedValue(Double(value))
        case let value as any FixedWidthInteger: self = try EncodedValue(integer: value)
        case let value as Date: self = .json(try EncodedValue.date(value, format))
        case let value as UUID: self = .json(.string(value.uuidString.lowercased()))
        case let value as Data: self = .json(.string(value.base64EncodedString()))
        case let value as URL: self = .json(.string(value.absoluteString))
        case let value as Decimal: self = try EncodedValue(value)
        default: return nil
        }
    }

    private init(_ value: Double) throws {
        guard !value.isNaN else {
            throw StoredValue.real(value).mismatch(.outOfRange, Double.self, "NaN cannot be stored")
        }
        self = .json(.double(value))
    }

    private init(integer value: any FixedWidthInteger) throws {
        guard let integer = Int64(exactly: value) else {
            throw StoredValue.Mismatch(
                code: .outOfRange,
                message: "integer \(value) does not fit the 64 bits of a column",
                value: "integer \(value)",
                type: "\(type(of: value))"
            )
        }
        self = .json(.integer(integer))
    }

    private init(_ value: Decimal) throws {
        guard value.isFinite else {
            throw StoredValue.real(.nan).mismatch(.outOfRange, Decimal.self, "NaN cannot be stored")
        }
        self = .json(.string("\(value)"))
    }

    static func date(_ date: Date, _ format: RowFormat) throws -> ExactJSON {
        let seconds = date.timeIntervalSince1970
        switch format.dates.value {
        case .iso8601: return .string(try text(of: date))
        case .unixSeconds:
            guard seconds.isFinite else { throw mismatch(date) }
            return Int64(exactly: seconds).map(ExactJSON.integer) ?? .double(seconds)
        case .unixMilliseconds:
            guard let milliseconds = Int64(exactly: (seconds * 1_000).rounded()) else { throw mismatch(date) }
            return .integer(milliseconds)
        }
    }

    /// A date in ISO 8601.
    static func text(of date: Date) throws(StoredValue.Mismatch) -> String {
        guard let text = ISO8601Text.text(date) else { throw mismatch(date) }
        return text
    }

    private static func mismatch(_ date: Date) -> StoredValue.Mismatch {
        let seconds = date.timeIntervalSince1970
        return StoredValue.Mismatch(
            code: .outOfRange,
            message: "the date \(seconds) s from 1970 cannot be stored",
            value: "\(seconds)",
            type: "Date"
        )
    }
}
