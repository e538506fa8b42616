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
    /// What the values of a column mean, for entries of the upload queue that an app reads.
    package enum Kind: Sendable, Hashable {
        case boolean, json, date, decimal, uuid
    }

    /// The name, and the key in the row's JSON.
    package var name: String
    /// The type.
    package var type: ColumnType
    /// What follows the type in the definition of a direct table, as SQL; without effect on views.
    package var constraints: [String]
    /// The name that the column had before: rows of a direct table that have no value of this name have that one's.
    package var formerName: String?
    /// What the values mean; `nil` for what their type says.
    ///
    /// Not a part of the schema's JSON form: nothing in the file depends on it.
    package var kind: Kind?

    /// Creates a column.
    package init(
        name: String,
        type: ColumnType,
        constraints: [String] = [],
        formerName: String? = nil,
        kind: Kind? = nil
    ) {
        self.name = name
        self.type = type
        self.constraints = constraints
        self.formerName = formerName
        self.kind = kind
    }
}
