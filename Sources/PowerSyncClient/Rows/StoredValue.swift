import Foundation
import PowerSyncProtocol

/// A value of a column, or inside of a JSON column, before it has a type.
///
/// Conversions lose nothing: an integer is read as a double and a double as an integer only if they are the same number.
/// Text is never read as a number, nor a number as text.
enum StoredValue {
    case null
    case bool(Bool)
    case integer(Int64)
    case real(Double)
    /// A number in JSON that is no integer of 64 bits, as it is written there: `12345678901234567890`, `0.10`, `1e3`, `-0`.
    ///
    /// A double may be another number than the text says.
    case number(String)
    case text(String)
    case blob(Data)
    case array([StoredValue])
    /// The members of a JSON object; of several with the same name, the last one counts.
    case object([(name: String, value: StoredValue)])

    /// The beginning of the value, and its type.
    var short: String {
        switch self {
        case .null: "NULL"
        case .bool(let value): "\(value)"
        case .integer(let value): "integer \(value)"
        case .real(let value): "real \(value)"
        case .number(let number): "number \(number.prefix(40))\(number.dropFirst(40).isEmpty ? "" : "…")"
        case .text(let value): "text '\(value.prefix(40))\(value.dropFirst(40).isEmpty ? "'" : "…'")"
        case .blob(let data): "blob of \(data.count.counted("byte"))"
        case .array(let values): "JSON array of \(values.count)"
        case .object(let members): "JSON object of \(members.count)"
        }
    }

    /// Why a value is not of a type.
    struct Mismatch: Error {
        let code: TypedRowError.Code
        let message: String
        let value: String
        let type: String
    }

    func mismatch(_ code: TypedRowError.Code, _ type: Any.Type, _ message: String? = nil) -> Mismatch {
        if case .null = self {
            return Mismatch(code: .unexpectedNull, message: "NULL is no \(type)", value: short, type: "\(type)")
        }
        return Mismatch(code: code, message: message ?? "\(short) is no \(type)", value: short, type: "\(type)")
    }
}

// Types that are one value, although some of them would decode themselves from several.
extension StoredValue {
    /// The value as a type that is known here.
    ///
    /// - Returns: `nil` for a type that has to decode itself.
    /// - Throws: ``Mismatch``.
    func known<T>(as type: T.Type, _ format: RowFormat) throws -> T? {
        if type == String.self { return try string() as? T }
        if type == Bool.self { return try bool() as? T }
        if type == Double.self { return try double() as? T }
        if type == Float.self { return try float() as? T }
        if let integer = type as? any FixedWidthInteger.Type { return try self.integer(integer) as? T }
        if type == Date.self { return try date(format) as? T }
        if type == UUID.self { return try uuid() as? T }
        if type == Data.self { return try data() as? T }
        if type == URL.self { return try url() as? T }
        if type == Decimal.self { return try decimal() as? T }
        return nil
    }

    private func string() throws -> String {
        guard case .text(let text) = self else { throw mismatch(.typeMismatch, String.self) }
        return text
    }

    private func bool() throws -> Bool {
        switch self {
        case .bool(let value): return value
        case .integer(0): return false
        case .integer(1): return true
        case .integer: throw mismatch(.outOfRange, Bool.self, "\(short) is no Bool, which is 0 or 1")
        default: throw mismatch(.typeMismatch, Bool.self)
        }
    }

    private func integer<I: FixedWidthInteger>(_ type: I.Type) throws -> I {
        let exact: I?
        switch self {
        case .integer(let value): exact = I(exactly: value)
        case .real(let value): exact = I(exactly: value)
        case .number(let number): exact = StoredValue.integer(type, of: number)
        default: throw mismatch(.typeMismatch, type)
        }
        guard let exact else { throw mismatch(.outOfRange, type, "\(short) does not fit \(type)") }
        return exact
    }

    /// A number in JSON as an integer.
    ///
    /// - Returns: `nil` when it has a fraction, or does not fit the type.
    private static func integer<I: FixedWidthInteger>(_ type: I.Type, of number: String) -> I? {
        // The digits without the point and without zeros at the end, and by which power of ten they are multiplied.
        let significand = number.prefix { $0 != "e" && $0 != "E" }
        let whole = significand.prefix { $0 != "." }
        let fraction = significand.dropFirst(whole.count + 1)
        var digits = String(whole + fraction)
        var power = -fraction.count
        while digits.last == "0" {
            digits.removeLast()
            power += 1
        }
        guard !digits.isEmpty, digits != "-" else { return 0 }
        let exponent = number.dropFirst(significand.count + 1)
        if !exponent.isEmpty {
            // No text in SQLite has so many digits that a larger one could make an integer of it.
            guard let exponent = Int(exponent), exponent.magnitude < 1 << 30 else { return nil }
            power += exponent
        }
        // 10 to the number of bits fits no type of so many bits.
        guard (0..<I.bitWidth).contains(power) else { return nil }
        return I(digits + String(repeating: "0", count: power))
    }

    /// The double that is nearest to a number in JSON.
    static func double(of number: String) -> Double { Double(number) ?? .nan }

    private func double() throws -> Double {
        switch self {
        case .real(let value): return value
        // As everywhere, `0.1` means the nearest double; and JSON writes large ones as integers.
        case .number(let number): return StoredValue.double(of: number)
        case .integer(let value):
            guard let exact = Double(exactly: value) else {
                throw mismatch(.outOfRange, Double.self, "\(short) does not fit Double")
            }
            return exact
        default: throw mismatch(.typeMismatch, Double.self)
        }
    }

    private func float() throws -> Float {
        let double = try double()
        let float = Float(double)
        guard float.isFinite || !double.isFinite else {
            throw mismatch(.outOfRange, Float.self, "\(short) does not fit Float")
        }
        return float
    }

    private func date(_ format: RowFormat) throws -> Date {
        switch self {
        case .text(let text):
            guard let date = ISO8601Text.date(text) else {
                throw mismatch(.malformedValue, Date.self, "\(short) is no date as of ISO 8601")
            }
            return date
        case .integer, .real, .number:
            let number = try? double()
            guard let number, number.isFinite else { throw mismatch(.outOfRange, Date.self) }
            return Date(timeIntervalSince1970: format.dates == .unixMilliseconds ? number / 1_000 : number)
        default: throw mismatch(.typeMismatch, Date.self)
        }
    }

    private func uuid() throws -> UUID {
        guard case .text(let text) = self else { throw mismatch(.typeMismatch, UUID.self) }
        guard let uuid = UUID(uuidString: text) else { throw mismatch(.malformedValue, UUID.self) }
        return uuid
    }

    private func data() throws -> Data {
        switch self {
        case .blob(let data): return data
        case .text(let text):
            guard let data = Data(base64Encoded: text) else {
                throw mismatch(.malformedValue, Data.self, "\(short) is no base64")
            }
            return data
        default: throw mismatch(.typeMismatch, Data.self)
        }
    }

    private func url() throws -> URL {
        guard case .text(let text) = self else { throw mismatch(.typeMismatch, URL.self) }
        guard let url = URL(string: text) else { throw mismatch(.malformedValue, URL.self) }
        return url
    }

    private func decimal() throws -> Decimal {
        let text: String
        switch self {
        case .integer(let value): text = String(value)
        // The shortest text that is this number.
        case .real(let value) where value.isFinite: text = "\(value)"
        case .number(let number): text = number
        case .text(let value): text = value
        case .real: throw mismatch(.outOfRange, Decimal.self)
        default: throw mismatch(.typeMismatch, Decimal.self)
        }
        guard let number = DecimalText(text) else { throw mismatch(.malformedValue, Decimal.self) }
        guard let decimal = number.decimal else {
            throw mismatch(.outOfRange, Decimal.self, "\(short) does not fit Decimal")
        }
        return decimal
    }
}
