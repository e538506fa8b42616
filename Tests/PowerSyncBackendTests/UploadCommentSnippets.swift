import GRDB
import PowerSyncBackend

// What the comments of the applier show, so that it compiles, and tests can attack it.

/// The comment of `SQLiteUploadApplier`.
func applyAsTheCommentShows(
    _ body: [UInt8],
    to database: DatabaseQueue,
    for user: BackendUser
) async throws -> UploadResponse {
    var options = UploadApplierOptions()
    options.tables = ["lists"]
    let applier = SQLiteUploadApplier(database, options: options) { write, db in
        // Whose the list is, and whose it becomes.
        try write.belongsToUser(by: "owner_id", db) ? .apply : .reject("The list belongs to somebody else.")
    }
    let response = try await applier.apply(UploadRequest(json: body), for: user)
    return response
}

/// The comment of `UploadedWrite`.
func decideAsTheCommentShows(_ write: UploadedWrite, _ db: Database) throws -> WriteDecision {
    func mayWrite(_ write: UploadedWrite, _ db: Database) throws -> WriteDecision {
        guard write.entry.table == "lists" else { return .reject("Clients do not write to \(write.entry.table).") }
        // Whose the list is, and whose it becomes.
        guard try write.belongsToUser(by: "owner_id", db) else { return .reject("The list belongs to somebody else.") }
        return .apply
    }
    return try mayWrite(write, db)
}

/// The comment of `WriteDecision`.
func decideByOwner(_ write: UploadedWrite, _ db: Database) throws -> WriteDecision {
    guard try write.belongsToUser(by: "owner_id", db) else { return .reject("The row belongs to somebody else.") }
    return .apply
}

/// The comment of `UploadedWrite.belongsToUser(by:values:_:)`.
func decideWithAnOwner(_ write: UploadedWrite, _ db: Database) throws -> WriteDecision {
    // Whatever the client has written: the owner is who is signed in.
    var values = write.entry.data ?? [:]
    values["owner_id"] = .string(write.user.id)
    guard try write.belongsToUser(by: "owner_id", values: values, db) else {
        return .reject("The list belongs to somebody else.")
    }
    return .apply(values)
}

/// The comment of `UploadedWrite.userOwns(_:in:by:_:)`.
func decideByList(_ list: String, _ write: UploadedWrite, _ db: Database) throws -> WriteDecision {
    guard try write.userOwns(list, in: "lists", by: "owner_id", db) else {
        return .reject("There is no such list of yours.")
    }
    return .apply
}

/// The comment of `UploadApplierOptions`.
func optionsOfTheComment() -> UploadApplierOptions {
    var options = UploadApplierOptions()
    options.tables = ["lists", "todos"]
    return options
}
