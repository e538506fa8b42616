package import PowerSyncCore

extension ClientTable {
    /// `items(col text)` with some options.
    package static func items(
        _ columns: [ClientColumn] = [ClientColumn(name: "col", type: .text)],
        isLocalOnly: Bool = false,
        isInsertOnly: Bool = false,
        tracksMetadata: Bool = false,
        trackPreviousValues: PreviousValues? = nil,
        ignoresEmptyUpdates: Bool = false
    ) -> ClientTable {
        ClientTable(
            name: "items",
            columns: columns,
            isLocalOnly: isLocalOnly,
            isInsertOnly: isInsertOnly,
            tracksMetadata: tracksMetadata,
            trackPreviousValues: trackPreviousValues,
            ignoresEmptyUpdates: ignoresEmptyUpdates
        )
    }
}
