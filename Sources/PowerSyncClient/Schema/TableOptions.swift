/// What a table stores and records, besides its columns.
public protocol TableOptionsProtocol: Sendable {
    /// Whether the table is neither synced nor uploaded.
    var localOnly: Bool { get }
    /// Whether inserts go to the upload queue only and nothing is stored.
    var insertOnly: Bool { get }
    /// Whether the view has a writable `_metadata` column whose value travels with the upload.
    var trackMetadata: Bool { get }
    /// Which previous values travel with updates and deletes; `nil` for none.
    var trackPreviousValues: TrackPreviousValuesOptions? { get }
    /// Whether an update that changes nothing is left out of the upload queue.
    var ignoreEmptyUpdates: Bool { get }
}

/// The options of a ``Table``.
public struct TableOptions: TableOptionsProtocol {
    /// Whether the table is neither synced nor uploaded.
    public let localOnly: Bool
    /// Whether inserts go to the upload queue only and nothing is stored.
    public let insertOnly: Bool
    /// Whether the view has a writable `_metadata` column whose value travels with the upload.
    public let trackMetadata: Bool
    /// Which previous values travel with updates and deletes; `nil` for none.
    public let trackPreviousValues: TrackPreviousValuesOptions?
    /// Whether an update that changes nothing is left out of the upload queue.
    public let ignoreEmptyUpdates: Bool

    /// Creates options.
    public init(
        localOnly: Bool = false,
        insertOnly: Bool = false,
        trackMetadata: Bool = false,
        trackPreviousValues: TrackPreviousValuesOptions? = nil,
        ignoreEmptyUpdates: Bool = false
    ) {
        self.localOnly = localOnly
        self.insertOnly = insertOnly
        self.trackMetadata = trackMetadata
        self.trackPreviousValues = trackPreviousValues
        self.ignoreEmptyUpdates = ignoreEmptyUpdates
    }
}

/// Which previous values travel with updates and deletes.
public struct TrackPreviousValuesOptions: Sendable {
    /// The columns whose previous values are recorded; `nil` for all.
    public let columnFilter: [String]?
    /// Whether only values that the update changed are recorded.
    public let onlyWhenChanged: Bool

    /// Creates options.
    ///
    /// - Parameters:
    ///   - columnFilter: The columns whose previous values are recorded; `nil` for all.
    ///   - onlyWhenChanged: Whether only values that the update changed are recorded.
    public init(columnFilter: [String]? = nil, onlyWhenChanged: Bool = false) {
        self.columnFilter = columnFilter
        self.onlyWhenChanged = onlyWhenChanged
    }
}
