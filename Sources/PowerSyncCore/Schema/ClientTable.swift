import PowerSyncSQLite

/// A table of the client schema: a view over JSON rows, or a SQLite table with real columns, with triggers that record local writes
/// (docs/database.md "Client schema", "Direct tables").
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
    /// Whether it is a SQLite table with these columns, see ``DirectTable``, and not a view.
    package var isDirect = false
    /// The table constraints of a direct table, as SQL.
    package var constraints: [String] = []
    /// The indexes of words.
    package var fullTextIndexes: [FullTextIndex] = []

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
        options: ClientTableOptions,
        isDirect: Bool = false,
        constraints: [String] = [],
        fullTextIndexes: [FullTextIndex] = []
    ) {
        self.name = name
        self.viewNameOverride = viewNameOverride
        self.columns = columns
        self.indexes = indexes
        self.options = options
        self.isDirect = isDirect
        self.constraints = constraints
        self.fullTextIndexes = fullTextIndexes
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
    package var internalName: String {
        isDirect ? name : DataTable(name: name, isLocalOnly: isLocalOnly).internalName
    }

    /// A direct table as what it is for who publishes rows; `nil` for a view, and where no rows are synced.
    package var rawTable: ClientRawTable? {
        guard isDirect, !isLocalOnly else { return nil }
        return ClientRawTable(name: name, structure: rawStructure)
    }

    /// A direct table as the triggers see it.
    var rawStructure: ClientRawTable.Structure {
        let formerNames = columns.compactMap { column in column.formerName.map { (ExactText(column.name), $0) } }
        return ClientRawTable.Structure(
            tableName: name,
            options: options,
            direct: .init(formerNames: Dictionary(formerNames) { $1 })
        )
    }
}
