/// A position in the change stream of a source database.
///
/// The text is chosen by the source: PostgreSQL uses `XXXXXXXX/XXXXXXXX`, for some with a mark behind, the embedded source 16
/// hexadecimal digits. Within one source, the order of the bytes is the order of the log.
///
/// ```swift
/// LSN("00000000/9FFFFFFF") < LSN("00000000/A0000000")  // true
/// ```
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
