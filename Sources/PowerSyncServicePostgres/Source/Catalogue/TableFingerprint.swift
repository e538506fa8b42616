/// What decides whether rows of a table that have been copied are still what clients should have, part by part.
///
/// They are a part of the form of a table, so the log names the part that is another one now.
struct TableFingerprint: Hashable, Sendable {
    /// A part; the raw value is what the log calls it.
    enum Part: String, CaseIterable {
        /// All rows were written anew.
        case rewrite = "rewritten rows"
        case identity = "replica identity"
        case publication
        case partitions
        /// The columns that are read.
        case columns
    }

    private var values = [UInt64](repeating: 0xcbf2_9ce4_8422_2325, count: Part.allCases.count)

    /// Adds a text to a part (FNV-1a).
    mutating func add(_ text: String?, to part: Part) {
        guard let index = Part.allCases.firstIndex(of: part) else { return }
        for byte in (text?.utf8).map(Array.init) ?? [1] { Self.add(byte, to: &values[index]) }
        Self.add(0, to: &values[index])
    }

    private static func add(_ byte: UInt8, to value: inout UInt64) {
        value = (value ^ UInt64(byte)) &* 0x100_0000_01b3
    }

    /// The parts by their names.
    var form: [String: String] {
        Dictionary(
            uniqueKeysWithValues: zip(Part.allCases, values).map { ($0.rawValue, String($1, radix: 16)) }
        )
    }
}
