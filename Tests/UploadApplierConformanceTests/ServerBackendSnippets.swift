import PostgresNIO
import PowerSyncBackend
import PowerSyncBackendMySQL
import PowerSyncBackendPostgres

// What the page "Writing a backend" and comments of the appliers for servers show, so that it compiles.

/// The same rule as above, for tables in a server.
func mayWrite(_ write: ServerWrite) async throws -> WriteDecision {
    switch write.entry.table {
    case "lists":
        var values = write.entry.data ?? [:]
        values["owner_id"] = .string(write.user.id)
        guard try await write.belongsToUser(by: "owner_id", values: values) else {
            return .reject("The list belongs to somebody else.")
        }
        return .apply(values)
    case "todos":
        var lists: [String?] = []
        if let todo = try await write.storedRow() { lists.append(todo["list_id"]) }
        switch write.entry.data?["list_id"] {
        case nil where !lists.isEmpty || write.entry.op != .put: break
        case .string(let list): lists.append(list)
        default: return .reject("A todo is in a list.")
        }
        for list in lists {
            guard let list, try await write.userOwns(list, in: "lists", by: "owner_id") else {
                return .reject("There is no such list of yours.")
            }
        }
        return .apply
    default:
        return .reject("Clients do not write to \(write.entry.table).")
    }
}

/// Over PostgreSQL; the client's `run()` runs beside the routes.
func postgresApplier(_ client: PostgresClient) -> PostgresUploadApplier {
    PostgresUploadApplier(client) { write, _ in try await mayWrite(write) }
}

/// Over MySQL or MariaDB.
func mySQLApplier(password: String) -> MySQLUploadApplier {
    let settings = MySQLServerSettings(
        host: "db.example.com",
        username: "app",
        password: password,
        database: "app",
        tls: .verified()
    )
    return MySQLUploadApplier(settings) { write, _ in try await mayWrite(write) }
}

private enum Comments {
    static func decide(_ write: ServerWrite) async throws -> WriteDecision {
        func mayWrite(_ write: ServerWrite) async throws -> WriteDecision {
            guard write.entry.table == "lists" else { return .reject("Clients do not write to \(write.entry.table).") }
            // Whose the list is, and whose it becomes.
            guard try await write.belongsToUser(by: "owner_id") else {
                return .reject("The list belongs to another user.")
            }
            return .apply
        }
        return try await mayWrite(write)
    }

    static func owned(_ write: ServerWrite) async throws -> WriteDecision {
        // Whatever the client has written: the owner is the user who is signed in.
        var values = write.entry.data ?? [:]
        values["owner_id"] = .string(write.user.id)
        guard try await write.belongsToUser(by: "owner_id", values: values) else {
            return .reject("The list belongs to another user.")
        }
        return .apply(values)
    }

    static func referred(_ write: ServerWrite, _ list: String) async throws -> WriteDecision {
        guard try await write.userOwns(list, in: "lists", by: "owner_id") else {
            return .reject("There is no such list of yours.")
        }
        return .apply
    }

    static func stored(_ write: ServerWrite) async throws -> [String?] {
        var lists: [String?] = []
        if let todo = try await write.storedRow() { lists.append(todo["list_id"]) }
        return lists
    }

    static func postgres(
        _ client: PostgresClient,
        _ body: [UInt8],
        _ user: BackendUser
    ) async throws -> UploadResponse {
        var options = UploadApplierOptions()
        options.tables = ["lists"]
        let applier = PostgresUploadApplier(client, options: options) { write, _ in
            // Whose the list is, and whose it becomes.
            try await write.belongsToUser(by: "owner_id") ? .apply : .reject("The list belongs to another user.")
        }
        let response = try await applier.apply(UploadRequest(json: body), for: user)
        return response
    }

    static func postgresMember(
        _ write: ServerWrite,
        _ transaction: PostgresUploadTransaction,
        _ list: String
    ) async throws -> WriteDecision {
        let rows = try await transaction.query(
            "SELECT 1 FROM members WHERE list_id = \(list) AND user_id = \(write.user.id)"
        )
        return rows.isEmpty ? .reject("You are no member of the list.") : .apply
    }

    static func mysql(_ password: String, _ body: [UInt8], _ user: BackendUser) async throws -> UploadResponse {
        let settings = MySQLServerSettings(
            host: "db.example.com",
            username: "app",
            password: password,
            database: "app",
            tls: .verified()
        )
        var options = UploadApplierOptions()
        options.tables = ["lists"]
        let applier = MySQLUploadApplier(settings, options: options) { write, _ in
            // Whose the list is, and whose it becomes.
            try await write.belongsToUser(by: "owner_id") ? .apply : .reject("The list belongs to another user.")
        }
        let response = try await applier.apply(UploadRequest(json: body), for: user)
        return response
    }

    static func mysqlMember(
        _ write: ServerWrite,
        _ transaction: MySQLUploadTransaction,
        _ list: String
    ) async throws -> WriteDecision {
        let rows = try await transaction.query(
            "SELECT 1 FROM members WHERE list_id = ? AND user_id = ?",
            [.string(list), .string(write.user.id)]
        )
        return rows.isEmpty ? .reject("You are no member of the list.") : .apply
    }
}

/// What the comment of `UploadApplierOptions.serverErrors` shows.
func errorsOfTheApp() -> UploadApplierOptions {
    var options = UploadApplierOptions()
    options.serverErrors = { error in
        switch error.sqlState {
        case "APP01": .reject("The list is archived.", code: .forbidden)
        case "APP02": .again
        default: nil
        }
    }
    return options
}
