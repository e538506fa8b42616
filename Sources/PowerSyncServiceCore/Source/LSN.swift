/// A position in the change stream of a source database.
///
/// The text is chosen by the source. Within one source, the order of the bytes is the order of the log. So it consists of fields with
/// separators between them, from the one that counts most to the one that counts least:
///
/// - A field has digits, decimal or hexadecimal, with leading zeros up to a width that is always the same.
/// - A separator is any other character, always the same one at its place.
/// - Fields at the end may be missing, with the separators before them: such a position is before all that have them.
///
/// ```swift
/// LSN("00000000/9FFFFFFF") < LSN("00000000/A0000000")                   // true
/// LSN("00000000/9FFFFFFF") < LSN("00000000/9FFFFFFF-000000000000002A")  // true
/// ```
///
/// Whoever compares positions that a source has just given checks that with ``hasForm(of:)``.
package struct LSN: RawRepresentable, Sendable {
    /// The position as text, as stored in the bucket storage.
    package let rawValue: String

    /// Creates a position from its text.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Creates a position from its text.
    package init(_ rawValue: String) {
        self.rawValue = rawValue
    }
}

extension LSN: Hashable {
    package static func == (lhs: LSN, rhs: LSN) -> Bool {
        lhs.rawValue.utf8.elementsEqual(rhs.rawValue.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in rawValue.utf8 { hasher.combine(byte) }
    }
}

extension LSN: Comparable {
    /// Orders positions by the bytes of their texts.
    package static func < (lhs: LSN, rhs: LSN) -> Bool {
        lhs.rawValue.utf8.lexicographicallyPrecedes(rhs.rawValue.utf8)
    }
}

extension LSN: CustomStringConvertible {
    package var description: String { rawValue }
}

extension LSN {
    /// Whether the order of two positions is that of their texts: fields and separators are at the same places.
    package func hasForm(of other: LSN) -> Bool {
        var (one, two) = (rawValue.utf8.makeIterator(), other.rawValue.utf8.makeIterator())
        while true {
            switch (one.next(), two.next()) {
            case (nil, nil): return true
            // The fields that are missing begin with a separator.
            case (let rest?, nil), (nil, let rest?): return DigitCase(rest) == nil
            case (let first?, let second?):
                guard first == second || DigitCase(first)?.orders(DigitCase(second)) == true else { return false }
            }
        }
    }

    /// The kind of a digit: letters of two cases do not order as numbers.
    private enum DigitCase {
        case decimal, upper, lower

        init?(_ byte: UInt8) {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): self = .decimal
            case UInt8(ascii: "A")...UInt8(ascii: "F"): self = .upper
            case UInt8(ascii: "a")...UInt8(ascii: "f"): self = .lower
            default: return nil
            }
        }

        func orders(_ other: DigitCase?) -> Bool {
            switch (self, other) {
            case (_, nil), (.upper, .lower), (.lower, .upper): false
            default: true
            }
        }
    }
}
