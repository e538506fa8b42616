import Foundation
import PowerSync

private struct User {
    var id: String
}

private func open(
    schema: Schema,
    seed: URL,
    user: User,
    connector: any PowerSyncBackendConnectorProtocol
) async throws {
    let database = PowerSyncDatabase(
        schema: schema,
        dbFilename: "app.db",
        seedFile: seed,
        seedUser: user.id
    )
    try await database.connect(connector: connector, options: nil)
}
