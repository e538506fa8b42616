import PowerSyncCore

/// What the values of a column mean, besides the type that they are stored as.
///
/// ```swift
/// Table(
///     name: "todos",
///     columns: [.text("title"), .boolean("done"), .json("tags"), .date("due"), .decimal("price"), .uuid("owner_id")]
/// )
/// ```
///
/// Entries of the upload queue have values of the kind, so that a backend needs no table of columns beside the schema. A value that does
/// not fit stays as it is. Typed rows are written as the kind says: dates in ISO 8601, decimal numbers as texts. What statements store,
/// and what views read, does not depend on the kind.
public enum ColumnKind: Sendable, Hashable, CaseIterable {
    /// An integer, 0 or 1. In an entry `false` or `true`.
    case boolean
    /// A text. In an entry the value that it is the JSON of.
    case json
    /// A text in ISO 8601. In an entry with the time zone UTC, `2026-11-22T18:44:46.120000Z`; a day alone stays one.
    case date
    /// A text, so that no digit is lost. In an entry a text, too, also of a number.
    case decimal
    /// A text. In an entry in lower case.
    case uuid
}

extension Column {
    /// Creates an integer column whose values are 0 and 1.
    public static func boolean(
        _ name: String,
        renamedFrom: String? = nil,
        _ constraints: ColumnConstraint...
    ) -> Column {
        Column(name: name, type: .integer, renamedFrom: renamedFrom, constraints: constraints, kind: .boolean)
    }

    /// Creates a text column whose values are JSON.
    public static func json(
        _ name: String,
        renamedFrom: String? = nil,
        _ constraints: ColumnConstraint...
    ) -> Column {
        Column(name: name, type: .text, renamedFrom: renamedFrom, constraints: constraints, kind: .json)
    }

    /// Creates a text column whose values are dates in ISO 8601.
    public static func date(
        _ name: String,
        renamedFrom: String? = nil,
        _ constraints: ColumnConstraint...
    ) -> Column {
        Column(name: name, type: .text, renamedFrom: renamedFrom, constraints: constraints, kind: .date)
    }

    /// Creates a text column whose values are decimal numbers.
    public static func decimal(
        _ name: String,
        renamedFrom: String? = nil,
        _ constraints: ColumnConstraint...
    ) -> Column {
        Column(name: name, type: .text, renamedFrom: renamedFrom, constraints: constraints, kind: .decimal)
    }

    /// Creates a text column whose values are UUIDs.
    public static func uuid(
        _ name: String,
        renamedFrom: String? = nil,
        _ constraints: ColumnConstraint...
    ) -> Column {
        Column(name: name, type: .text, renamedFrom: renamedFrom, constraints: constraints, kind: .uuid)
    }
}

extension ClientColumn.Kind {
    init(_ kind: ColumnKind) {
        self =
            switch kind {
            case .boolean: .boolean
            case .json: .json
            case .date: .date
            case .decimal: .decimal
            case .uuid: .uuid
            }
    }
}
