public import Foundation

/// What happened to a row.
public enum TableDiffOperation: String, Sendable, CaseIterable, Codable {
    /// The row is new.
    case insert = "INSERT"
    /// The row has other values than before.
    case update = "UPDATE"
    /// The row is gone.
    case delete = "DELETE"
}

/// The columns whose values a table diff records.
public struct TableDiffColumns: Sendable, Hashable {
    /// `nil` for all.
    let names: [String]?

    /// All columns.
    public static let all = TableDiffColumns(names: nil)
    /// None: only which row was changed, and how.
    public static let idOnly = TableDiffColumns(names: [])

    /// Some columns.
    ///
    /// - Parameter names: The names in the schema, without `id`.
    /// - Returns: These columns.
    public static func only(_ names: [String]) -> TableDiffColumns {
        TableDiffColumns(names: names)
    }
}

/// What of the changes to a view is recorded, and when it is handed over.
public struct TableDiffOptions: Sendable {
    /// The columns whose values are recorded.
    public var columns = TableDiffColumns.all
    /// SQL conditions by operation: changes for which one is true are recorded.
    ///
    /// Operations that are missing here are not recorded. A condition knows the row after the change as `NEW` (of an
    /// insertion or update) and the row before it as `OLD` (of an update or deletion), with the columns of the view:
    ///
    /// ```swift
    /// options.when = [.update: "NEW.done AND NOT OLD.done"]
    /// ```
    ///
    /// All columns together are the JSON object `NEW.data` or `OLD.data`, unless the view has a column of that name.
    /// By default every change is recorded.
    public var when: [TableDiffOperation: String] = [.insert: "TRUE", .update: "TRUE", .delete: "TRUE"]
    /// How long changes are collected before they are handed over, in seconds.
    public var throttle: TimeInterval = DEFAULT_WATCH_THROTTLE
    /// Runs in the transaction that begins the recording, before it: nothing is missed and nothing counted twice between
    /// what it reads and the first recorded change.
    public var beforeCreate: (@Sendable (any Transaction) throws -> Void)?

    /// Creates options: every change, with all columns.
    public init() {}

    /// Creates options.
    ///
    /// - Parameters:
    ///   - columns: The columns whose values are recorded.
    ///   - when: SQL conditions by operation; see ``when``.
    public init(columns: TableDiffColumns = .all, when: [TableDiffOperation: String]) {
        self.columns = columns
        self.when = when
    }
}
