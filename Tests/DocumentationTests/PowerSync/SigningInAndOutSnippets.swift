import PowerSync

func signOut(
    _ database: any PowerSyncDatabaseProtocol,
    _ connector: any PowerSyncBackendConnectorProtocol
) async throws {
    let result = try await database.syncOnce(connector: connector, deadline: .seconds(10))
    if try await database.getUploadQueueStats(includeSize: false).count > 0 {
        show("not everything was uploaded: \(result)")
        return
    }
    try await database.disconnectAndClear()
}

func open(for userID: String, schema: Schema) -> any PowerSyncDatabaseProtocol {
    let database = PowerSyncDatabase(schema: schema, dbFilename: "user-\(userID).db")
    return database
}

func signOutForAWhile(_ database: any PowerSyncDatabaseProtocol) async throws {
    try await database.disconnectAndClear(clearLocal: false, soft: true)
}
