public import Foundation

extension WatchOptions where RowType: Decodable & SendableMetatype {
    /// Creates a query to watch whose rows are of a type.
    ///
    /// - Parameters:
    ///   - sql: The query.
    ///   - parameters: Values for `?`.
    ///   - throttle: The least time between two results, in seconds. `nil` means ``DEFAULT_WATCH_THROTTLE``.
    ///   - type: What a row is.
    ///   - format: How names and dates are written.
    public init(
        sql: String,
        parameters: [(any Sendable)?]? = [],
        throttle: TimeInterval? = DEFAULT_WATCH_THROTTLE,
        as type: RowType.Type,
        format: RowFormat = RowFormat()
    ) {
        self.init(sql: sql, parameters: parameters, throttle: throttle) { cursor in
            try cursor.decode(type, format: format, sql: sql)
        }
    }
}
