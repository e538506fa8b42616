/// A table of the client schema: a view over JSON rows, with triggers that record local writes
/// (docs/database.md "Client schema").
package struct ClientTable: Sendable, Hashable {
    /// The columns of a view that tracks metadata, besides those of its table.
    package static let metadataColumns = ["_metadata", "_deleted"]

    /// The name: the row type of the service, and `type` in the upload queue.
    package var name: String
    /// The view's name, if it is not the table's.
    package var viewNameOverride: String?
    /// The columns besides `id`.
    package var columns: [ClientColumn]
    /// The indexes.
    package var indexes: [ClientIndex]
    /// What the table stores and records.
    package var options: ClientTableOptions

    /// Creates a table.
    package init(
        name: String,
        viewNameOverride: String? = nil,
        columns: [ClientColumn],
        indexes: [ClientIndex] = [],
        isLocalOnly: Bool = false,
        isInsertOnly: Bool = false,
        tracksMetadata: Bool = false,
        trackPreviousValues: PreviousValues? = nil,
        ignoresEmptyUpdates: Bool = false
    ) {
        self.name = name
        self.viewNameOverride = viewNameOverride
        self.columns = columns
        self.indexes = indexes
        options = ClientTableOptions(
            isLocalOnly: isLocalOnly,
            isInsertOnly: isInsertOnly,
            tracksMetadata: tracksMetadata,
            trackPreviousValues: trackPreviousValues,
            ignoresEmptyUpdates: ignoresEmptyUpdates
        )
    }

    /// Creates a table.
    package init(
        name: String,
        viewNameOverride: String? = nil,
        columns: [ClientColumn],
        indexes: [ClientIndex] = [],
        options: ClientTableOptions
    ) {
        self.name = name
        self.viewNameOverride = viewNameOverride
        self.columns = columns
        self.indexes = indexes
        self.options = options
    }

    /// Whether rows are never synced nor uploaded.
    package var isLocalOnly: Bool { options.isLocalOnly }
    /// Whether inserts are uploaded only, and no row is stored.
    ///
    /// Without effect on local-only tables.
    package var isInsertOnly: Bool { options.isInsertOnly }
    /// Whether the view has a `_metadata` column whose value travels in the queue entry.
    package var tracksMetadata: Bool { options.tracksMetadata }
    /// Which old values the queue entries carry; `nil` for none.
    package var trackPreviousValues: PreviousValues? { options.trackPreviousValues }

    /// The name of the view that applications read and write.
    package var viewName: String { viewNameOverride ?? name }

    /// The name of the SQLite table that holds the rows.
    package var internalName: String { DataTable(name: name, isLocalOnly: isLocalOnly).internalName }
}
