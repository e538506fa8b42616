import PowerSyncSQLite

/// The type to which a column's value is cast when it is read.
///
/// The text goes into generated SQL as it is. Schemas of other implementations may spell it in upper case, and keep
/// their spelling: indexes are used only if their text is the same as the view's.
package struct ColumnType: RawRepresentable, Hashable, Sendable {
    /// The SQL type name.
    package let rawValue: String

    /// Creates a type from its SQL name, `text`, `integer` or `real` in any case; `nil` for every other text.
    package init?(rawValue: String) {
        let name = ExactText(ignoringCaseOf: rawValue)
        guard [Self.text, .integer, .real].contains(where: { ExactText($0.rawValue) == name }) else { return nil }
        self.init(known: rawValue)
    }

    private init(known name: String) {
        rawValue = name
    }

    /// Text.
    package static let text = ColumnType(known: "text")
    /// A 64-bit integer.
    package static let integer = ColumnType(known: "integer")
    /// A double.
    package static let real = ColumnType(known: "real")
}

/// A column of a client table.
package struct ClientColumn: Sendable, Hashable {
    /// The name, and the key in the row's JSON.
    package var name: String
    /// The type.
    package var type: ColumnType

    /// Creates a column.
    package init(name: String, type: ColumnType) {
        self.name = name
        self.type = type
    }
}
