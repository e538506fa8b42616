/// A value of a source row or of an expression, with SQLite's five types (docs/sync-config.md "Values").
///
/// Equality is exact: `1` and `1.0` differ, and texts are compared byte by byte. Where the language treats equal
/// numbers as one (keys and lookups), values are ``normalizedKey`` first.
package enum SQLValue: Sendable {
    /// SQL `NULL`.
    case null
    /// A signed 64-bit integer. Booleans are the integers 1 and 0.
    case integer(Int64)
    /// A double.
    case real(Double)
    /// Text.
    case text(String)
    /// Bytes.
    case blob([UInt8])
}

extension SQLValue {
    /// The value as part of a bucket name or of a lookup key, or `nil` when it cannot be one.
    ///
    /// `NULL`, bytes and non-finite numbers match nothing. A real number without fraction that fits 64 bits becomes an
    /// integer, so that `314` and `314.0` meet.
    package var normalizedKey: SQLValue? {
        switch self {
        case .null, .blob: nil
        case .integer, .text: self
        case .real(let number):
            if let integer = Int64(exactly: number) {
                .integer(integer)
            } else if number.isFinite {
                self
            } else {
                nil
            }
        }
    }

    /// Whether the value counts as true in a filter.
    ///
    /// Numbers are true unless zero, text by its leading integer, `NULL` and bytes never.
    var isTrue: Bool {
        switch self {
        case .null, .blob: false
        case .integer(let integer): integer != 0
        case .real(let number): number != 0
        case .text(let text): Self.leadingIntegerIsNonzero(text)
        }
    }

    /// The value that a boolean result has: 1 or 0.
    static func boolean(_ isTrue: Bool) -> SQLValue {
        .integer(isTrue ? 1 : 0)
    }

    private static func leadingIntegerIsNonzero(_ text: String) -> Bool {
        var bytes = text.utf8.drop { $0 == 0x20 || (0x09...0x0d).contains($0) }
        if let sign = bytes.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            bytes = bytes.dropFirst()
        }
        return bytes.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.contains {
            $0 != UInt8(ascii: "0")
        }
    }
}

extension SQLValue: Hashable {
    package static func == (lhs: SQLValue, rhs: SQLValue) -> Bool {
        switch (lhs, rhs) {
        case (.null, .null): true
        case (.integer(let lhs), .integer(let rhs)): lhs == rhs
        case (.real(let lhs), .real(let rhs)): lhs.bitPattern == rhs.bitPattern
        case (.text(let lhs), .text(let rhs)): lhs.hasSameBytes(as: rhs)
        case (.blob(let lhs), .blob(let rhs)): lhs == rhs
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null:
            hasher.combine(0)
        case .integer(let integer):
            hasher.combine(1)
            hasher.combine(integer)
        case .real(let number):
            hasher.combine(2)
            hasher.combine(number.bitPattern)
        case .text(let text):
            hasher.combine(3)
            Self.hash(text, into: &hasher)
        case .blob(let bytes):
            hasher.combine(4)
            hasher.combine(bytes)
        }
    }

    /// Hashes the bytes of a text; `String` itself hashes its normalised form, which is slower and not what `==` is.
    static func hash(_ text: String, into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xff as UInt8)
    }
}

extension SQLValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByNilLiteral
{
    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(floatLiteral value: Double) { self = .real(value) }
    package init(nilLiteral: ()) { self = .null }
}
