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
