/// Which values a table's queue entries carry from before the write.
package struct PreviousValues: Sendable, Hashable {
    /// The columns, `nil` for all.
    ///
    /// Names that the table does not have are ignored.
    package var columns: [String]?
    /// Whether updates carry only the values that changed.
    ///
    /// Deletes carry all.
    package var onlyWhenChanged: Bool

    /// Creates options.
    package init(columns: [String]? = nil, onlyWhenChanged: Bool = false) {
        self.columns = columns
        self.onlyWhenChanged = onlyWhenChanged
    }
}

/// What a table stores and records (docs/database.md "Client schema").
package struct ClientTableOptions: Sendable, Hashable {
    /// Whether rows are never synced nor uploaded.
    package var isLocalOnly = false
    /// Whether inserts are uploaded only.
    ///
    /// Without effect on local-only tables.
    package var isInsertOnly = false
    /// Whether the view has a `_metadata` column whose value travels in the queue entry.
    package var tracksMetadata = false
    /// Which old values the queue entries carry; `nil` for none.
    package var trackPreviousValues: PreviousValues?
    /// Whether an update that changes nothing is not recorded.
    package var ignoresEmptyUpdates = false

    /// Creates options.
    package init(
        isLocalOnly: Bool = false,
        isInsertOnly: Bool = false,
        tracksMetadata: Bool = false,
        trackPreviousValues: PreviousValues? = nil,
        ignoresEmptyUpdates: Bool = false
    ) {
        self.isLocalOnly = isLocalOnly
        self.isInsertOnly = isInsertOnly
        self.tracksMetadata = tracksMetadata
        self.trackPreviousValues = trackPreviousValues
        self.ignoresEmptyUpdates = ignoresEmptyUpdates
    }

    /// The options as the number that update triggers hand to the queue.
    var flags: TableFlags {
        var flags: TableFlags = []
        if isLocalOnly { flags.insert(.localOnly) }
        if isInsertOnly { flags.insert(.insertOnly) }
        if tracksMetadata { flags.insert(.metadata) }
        if trackPreviousValues?.onlyWhenChanged == true { flags.insert(.previousValuesOnlyWhenChanged) }
        if ignoresEmptyUpdates { flags.insert(.ignoreEmptyUpdate) }
        return flags
    }
}

/// The options of a table in stored triggers.
struct TableFlags: OptionSet {
    let rawValue: Int64

    static let localOnly = TableFlags(rawValue: 1)
    static let insertOnly = TableFlags(rawValue: 2)
    static let metadata = TableFlags(rawValue: 4)
    static let previousValuesOnlyWhenChanged = TableFlags(rawValue: 8)
    static let ignoreEmptyUpdate = TableFlags(rawValue: 16)
    /// Nothing has been written yet: the insert is a note for ``LocalWriteRecorder`` and no entry.
    ///
    /// In triggers that other implementations do not run.
    static let beforeWrite = TableFlags(rawValue: 32)
}
