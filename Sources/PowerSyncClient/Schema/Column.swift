/// A column of a table in the client's schema.
public protocol ColumnProtocol: Equatable, Sendable {
    /// The name.
    var name: String { get }
    /// The type that the view casts values to.
    var type: ColumnData { get }
}

/// The type of a column.
///
/// It drives the `CAST` in the generated view.
public enum ColumnData: Sendable, Encodable {
    /// Text. Dates, times and identifiers are text, too.
    case text
    /// A 64-bit integer. Booleans are 0 and 1.
    case integer
    /// A floating-point number.
    case real

    /// Encodes `"text"`, `"integer"` or `"real"`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }

    var name: String {
        switch self {
        case .text: "text"
        case .integer: "integer"
        case .real: "real"
        }
    }
}

/// A column of a ``Table``.
///
/// The column `id` is implicit and must not be declared.
public struct Column: ColumnProtocol, Encodable {
    /// The name.
    public let name: String
    /// The type that the view casts values to, or that values of a direct table have.
    public let type: ColumnData
    /// What SQLite checks or sets in the column of a direct table, in this order.
    public let constraints: [ColumnConstraint]
    /// The name that the column of a direct table had before.
    ///
    /// Rows without a value of the name now have the value of that one, also those that were downloaded under it.
    public let renamedFrom: String?
    /// What the values mean; `nil` for what their type says.
    public let kind: ColumnKind?

    /// Creates a column.
    public init(name: String, type: ColumnData) {
        self.init(name: name, type: type, constraints: [])
    }

    /// Creates a column of a direct table.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - type: The type.
    ///   - renamedFrom: The name that the column had before.
    ///   - constraints: What SQLite checks or sets in the column.
    ///   - kind: What the values mean, also in a view; `nil` for what their type says.
    public init(
        name: String,
        type: ColumnData,
        renamedFrom: String? = nil,
        constraints: [ColumnConstraint],
        kind: ColumnKind? = nil
    ) {
        self.name = name
        self.type = type
        self.renamedFrom = renamedFrom
        self.constraints = constraints
        self.kind = kind
    }

    /// Creates a text column.
    public static func text(_ name: String) -> Column {
        Column(name: name, type: .text)
    }

    /// Creates an integer column.
    public static func integer(_ name: String) -> Column {
        Column(name: name, type: .integer)
    }

    /// Creates a floating-point column.
    public static func real(_ name: String) -> Column {
        Column(name: name, type: .real)
    }

    /// Creates a text column of a direct table.
    public static func text(
        _ name: String,
        renamedFrom: String? = nil,
        _ constraints: ColumnConstraint...
    ) -> Column {
        Column(name: name, type: .text, renamedFrom: renamedFrom, constraints: constraints)
    }

    /// Creates an integer column of a direct table.
    public static func integer(
        _ name: String,
        renamedFrom: String? = nil,
        _ constraints: ColumnConstraint...
    ) -> Column {
        Column(name: name, type: .integer, renamedFrom: renamedFrom, constraints: constraints)
    }

    /// Creates a floating-point column of a direct table.
    public static func real(
        _ name: String,
        renamedFrom: String? = nil,
        _ constraints: ColumnConstraint...
    ) -> Column {
        Column(name: name, type: .real, renamedFrom: renamedFrom, constraints: constraints)
    }

    /// Whether the value is computed from other columns.
    var isGenerated: Bool { constraints.contains { $0.sql.hasPrefix("GENERATED") } }

    /// Encodes the name and the type, and what else is declared.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(type, forKey: .type)
        if !constraints.isEmpty { try container.encode(constraints.map(\.sql), forKey: .constraints) }
        try container.encodeIfPresent(renamedFrom, forKey: .renamedFrom)
    }

    private enum CodingKeys: String, CodingKey {
        case name
        case type
        case constraints
        case renamedFrom = "renamed_from"
    }
}
