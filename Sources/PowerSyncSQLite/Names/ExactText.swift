/// A text that is equal to another one only if their bytes are.
///
/// SQLite compares names and row ids like that, `String` by canonical equivalence.
package struct ExactText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// A name without the case of its ASCII letters, which SQLite ignores in the names of tables, columns and indexes.
    package init(ignoringCaseOf name: String) {
        self.init(String(decoding: name.utf8.map(Self.lowercased), as: UTF8.self))
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
    }

    package static func == (lhs: ExactText, rhs: ExactText) -> Bool {
        // The bytes in memory are compared several times faster than the elements of two UTF-8 views.
        var (lhs, rhs) = (lhs.text, rhs.text)
        return lhs.withUTF8 { lhs in rhs.withUTF8 { rhs in unsafe lhs.count == rhs.count && lhs.elementsEqual(rhs) } }
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xff as UInt8)
    }
}
