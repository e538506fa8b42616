/// Anything that can be listed in a ``Schema``.
public protocol BaseTableProtocol: Sendable {
    /// The name of the table in the sync config.
    var name: String { get }
}

/// A table that the SDK manages.
public protocol TableProtocol: BaseTableProtocol, TableOptionsProtocol {
    /// The columns, without the implicit `id`.
    var columns: [Column] { get }
    /// The indexes.
    var indexes: [Index] { get }
    /// The name of the view when it differs from the table's.
    var viewNameOverride: String? { get }
    /// The name of the view that the app reads and writes.
    var viewName: String { get }
}

/// A table that the SDK manages: a view that the app reads and writes, over rows stored as JSON, or with ``direct`` a SQLite table.
///
/// ```swift
/// let todos = Table(
///     name: "todos",
///     columns: [.text("list_id"), .text("description"), .integer("completed")],
///     indexes: [.ascending(name: "by_list", column: "list_id")]
/// )
/// ```
///
/// Changing columns needs no migration of data: the SDK moves the rows of a direct table, see <doc:DirectTables>.
public struct Table: TableProtocol {
    /// The name in the sync config.
    public let name: String
    /// The columns, without the implicit `id`.
    public let columns: [Column]
    /// The indexes.
    public let indexes: [Index]
    /// What the table stores and records, besides its columns.
    public let options: TableOptions
    /// The name of the view when it differs from ``name``.
    public let viewNameOverride: String?
    /// Whether the table is a SQLite table with typed columns, and not a view over JSON.
    ///
    /// It has the columns that are declared and `id TEXT NOT NULL PRIMARY KEY`.
    public let direct: Bool
    /// What SQLite checks in the rows of a direct table.
    public let constraints: [TableConstraint]

    /// Whether the table is neither synced nor uploaded.
    public var localOnly: Bool { options.localOnly }
    /// Whether inserts go to the upload queue only and nothing is stored.
    public var insertOnly: Bool { options.insertOnly }
    /// Whether the view has a writable `_metadata` column.
    public var trackMetadata: Bool { options.trackMetadata }
    /// Which previous values travel with updates and deletes.
    public var trackPreviousValues: TrackPreviousValuesOptions? { options.trackPreviousValues }
    /// Whether an update that changes nothing is left out of the upload queue.
    public var ignoreEmptyUpdates: Bool { options.ignoreEmptyUpdates }
    /// The name of the view that the app reads and writes.
    public var viewName: String { viewNameOverride ?? name }

    /// Creates a table.
    ///
    /// - Parameters:
    ///   - name: The name in the sync config.
    ///   - columns: The columns, without the implicit `id`.
    ///   - indexes: The indexes.
    ///   - localOnly: Whether the table is neither synced nor uploaded.
    ///   - insertOnly: Whether inserts go to the upload queue only and nothing is stored.
    ///   - viewNameOverride: The name of the view when it differs from `name`.
    ///   - trackMetadata: Whether the view has a writable `_metadata` column.
    ///   - trackPreviousValues: Which previous values travel with updates and deletes.
    ///   - ignoreEmptyUpdates: Whether an update that changes nothing is left out of the upload queue.
    ///   - direct: Whether the table is a SQLite table with typed columns, and not a view over JSON.
    ///   - constraints: What SQLite checks in the rows of a direct table, besides what its columns declare.
    public init(
        name: String,
        columns: [Column],
        indexes: [Index] = [],
        localOnly: Bool = false,
        insertOnly: Bool = false,
        viewNameOverride: String? = nil,
        trackMetadata: Bool = false,
        trackPreviousValues: TrackPreviousValuesOptions? = nil,
        ignoreEmptyUpdates: Bool = false,
        direct: Bool = false,
        constraints: [TableConstraint] = []
    ) {
        self.name = name
        self.columns = columns
        self.indexes = indexes
        self.viewNameOverride = viewNameOverride
        options = TableOptions(
            localOnly: localOnly,
            insertOnly: insertOnly,
            trackMetadata: trackMetadata,
            trackPreviousValues: trackPreviousValues,
            ignoreEmptyUpdates: ignoreEmptyUpdates
        )
        self.direct = direct
        self.constraints = constraints
    }
}
