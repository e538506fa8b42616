/// What has changed from one result of a watched query to the next.
public struct WatchDiff<Row: Sendable>: Sendable {
    /// The rows of the result, in the order of the query.
    public let all: [Row]
    /// The rows whose key was not there before, in the order of the query.
    public let added: [Row]
    /// The rows of the last result whose key is gone, in their order there.
    public let removed: [Row]
    /// The rows that are not equal to those with the same key before, in the order of the query.
    public let updated: [(previous: Row, current: Row)]
    /// The other rows, in the order of the query.
    public let unchanged: [Row]
}
