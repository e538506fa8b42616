/// The columns of a source table in order: what all of its rows have in common.
///
/// A reader of rows makes one layout for a table and gives it to every row. Names are then neither copied for each row
/// nor looked up in it: an evaluator finds the positions of its columns once for a layout.
package final class RowLayout: Sendable {
    /// The names of the columns, exactly as the source spells them.
    ///
    /// Names are unique.
    package let names: [String]
    /// The length of all names together.
    package let nameBytes: Int
    /// Positions by name, if there are too many names to look through.
    private let positions: [SQLValue: Int]

    /// How many names are looked through one by one.
    private static let scannedNames = 16

    /// Creates a layout.
    ///
    /// - Parameter names: The names of the columns in order.
    package init(_ names: [String]) {
        self.names = names
        nameBytes = names.reduce(0) { $0 + $1.utf8.count }
        positions =
            names.count > Self.scannedNames
            ? Dictionary(zip(names.map(SQLValue.text), names.indices)) { first, _ in first } : [:]
    }

    /// The position of a column, found by the bytes of its name; `nil` when there is none.
    package func position(of name: String) -> Int? {
        names.count > Self.scannedNames ? positions[.text(name)] : names.firstIndex { $0.hasSameBytes(as: name) }
    }
}

extension RowLayout: Hashable {
    package static func == (lhs: RowLayout, rhs: RowLayout) -> Bool {
        lhs === rhs
            || lhs.names.count == rhs.names.count && zip(lhs.names, rhs.names).allSatisfy { $0.hasSameBytes(as: $1) }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(names)
    }
}
