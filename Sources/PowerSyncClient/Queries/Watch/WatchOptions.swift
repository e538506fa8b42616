public import Foundation

/// The default of ``WatchOptions/throttle``: 0.03 seconds.
public let DEFAULT_WATCH_THROTTLE: TimeInterval = 0.03

/// A query to watch.
public struct WatchOptions<RowType>: Sendable {
    /// The query.
    public var sql: String
    /// Values for `?`.
    public var parameters: [(any Sendable)?]
    /// The least time between two results, in seconds.
    public var throttle: TimeInterval
    /// The views whose changes give a new result; `nil` means those that the query reads.
    ///
    /// Set it to leave out tables that change often but matter little, or to add one that the query does not read. The
    /// names are those of the schema, or of tables that the app created itself.
    public var triggerOnTables: Set<String>? = nil
    /// Makes an element of a row.
    ///
    /// Runs on a database thread.
    public var mapper: @Sendable (any SqlCursor) throws -> RowType

    /// Creates a query to watch.
    ///
    /// - Parameters:
    ///   - sql: The query.
    ///   - parameters: Values for `?`.
    ///   - throttle: The least time between two results, in seconds. `nil` means ``DEFAULT_WATCH_THROTTLE``.
    ///   - mapper: Makes an element of a row. Runs on a database thread.
    public init(
        sql: String,
        parameters: [(any Sendable)?]? = [],
        throttle: TimeInterval? = DEFAULT_WATCH_THROTTLE,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) {
        self.sql = sql
        self.parameters = parameters ?? []
        self.throttle = throttle ?? DEFAULT_WATCH_THROTTLE
        self.mapper = mapper
    }
}
