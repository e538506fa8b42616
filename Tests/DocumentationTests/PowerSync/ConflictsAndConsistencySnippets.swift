import PowerSync

func tellTheBackendMore() -> Table {
    let todos = Table(
        name: "todos",
        columns: [.text("title"), .integer("estimate")],
        trackMetadata: true,
        trackPreviousValues: TrackPreviousValuesOptions(columnFilter: ["estimate"], onlyWhenChanged: true)
    )
    return todos
}

func writeWithMetadata(_ database: any PowerSyncDatabaseProtocol, id: String) async throws {
    try await database.execute(
        sql: "UPDATE todos SET estimate = ?, _metadata = ? WHERE id = ?",
        parameters: [8, "by hand", id]
    )
}

func decideAboutParkedWrites(_ database: any PowerSyncDatabaseProtocol) async throws {
    for write in try await database.rejectedWrites() where write.kind == .parked {
        show("\(write.entry.table) was changed by somebody else: \(write.reason)")
    }
    try await database.restoreParkedWrites()
}
