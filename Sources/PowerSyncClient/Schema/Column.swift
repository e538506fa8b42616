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
    /// The type that the view casts values to.
    public let type: ColumnData

    /// Creates a column.
    public init(name: String, type: ColumnData) {
        self.name = name
        self.type = type
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
}
