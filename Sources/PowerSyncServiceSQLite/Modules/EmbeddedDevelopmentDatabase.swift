import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncServiceCore

/// The embedded source of a service that runs, as any program could open it.
struct EmbeddedDevelopmentDatabase: DevelopmentDatabase {
    /// The file.
    let path: String

    /// Opens the file for one call.
    private func withDatabase<Result>(_ body: (DatabaseQueue) async throws -> Result) async throws -> Result {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        let result: Result
        do {
            result = try await body(queue)
        } catch {
            try? queue.close()
            throw error
        }
        try queue.close()
        return result
    }

    func insert(_ statements: String) async throws -> Bool {
        do {
            return try await withDatabase { queue in
                try await queue.uncancelledWrite { db in
                    for table in try Self.tables(db) {
                        let sql = "SELECT EXISTS (SELECT 1 FROM \(table.quotedDatabaseIdentifier))"
                        if try Bool.fetchOne(db, sql: sql) == true { return false }
                    }
                    try db.execute(sql: statements)
                    return true
                }
            }
        } catch let error as DatabaseError {
            throw DevelopmentDatabaseError(error.message ?? "SQLite error \(error.resultCode.rawValue)")
        }
    }

    func exampleUpload(owner: String) async throws -> String? {
        try await withDatabase { queue in
            try await queue.uncancelledRead { db in
                let tables = try Self.tables(db).map { (name: $0, columns: try db.columns(in: $0).map(\.name)) }
                guard let table = tables.first(where: { $0.columns.contains("owner_id") }) ?? tables.first else {
                    return nil
                }
                var data = JSONObject()
                for column in table.columns where column.lowercased() != "id" {
                    data[column] = .string(column == "owner_id" ? owner : "A new \(column)")
                }
                let write: JSONObject = [
                    "op": "PUT", "type": .string(table.name), "id": "example", "data": .object(data),
                ]
                let body: JSONObject = ["data": .array([.object(write)])]
                return body.text
            }
        }
    }

    /// The tables of the app: neither SQLite's own nor the service's.
    static func tables(_ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                    AND name NOT LIKE '\\_ps\\_%' ESCAPE '\\' ORDER BY rowid
                """
        )
    }
}
