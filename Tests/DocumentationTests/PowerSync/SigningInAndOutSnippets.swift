import Foundation
import PowerSync

private func confirm(_ question: String) async -> Bool { question.isEmpty }

private struct User {
    var id: String
}

func signOut(
    _ database: any PowerSyncDatabaseProtocol,
    _ connector: any PowerSyncBackendConnectorProtocol
) async throws {
    _ = try await database.syncOnce(connector: connector, deadline: .seconds(10))
    do {
        try await database.signOut()
    } catch let error as PowerSyncError where error.code == .writesNotUploaded {
        // "3 local writes wait for an upload, and would be lost."
        guard await confirm(error.localizedDescription) else { return }
        try await database.signOut(SignOutOptions(discardsUnsentWrites: true))
    }
}

private func signIn(
    _ user: User,
    _ database: any PowerSyncDatabaseProtocol,
    _ connector: any PowerSyncBackendConnectorProtocol
) async throws {
    do {
        try await database.connect(connector: connector, account: user.id)
    } catch let error as PowerSyncError where error.code == .otherAccount {
        // The last user did not sign out: remove their data, unless writes would be lost.
        try await database.connect(connector: connector, account: user.id, ifAnother: .clear)
    }
}

func open(for userID: String, schema: Schema) -> any PowerSyncDatabaseProtocol {
    let database = PowerSyncDatabase(schema: schema, dbFilename: "user-\(userID).db")
    return database
}

func signOutForAWhile(_ database: any PowerSyncDatabaseProtocol) async throws {
    try await database.disconnectAndClear(clearLocal: false, soft: true)
}
