import GRDB
import PowerSync
import PowerSyncGRDB

enum GRDBPage {
    static func open(
        path: String,
        schema: Schema,
        connector: any PowerSyncBackendConnectorProtocol
    ) async throws -> DatabasePool {
        var configuration = Configuration()
        try configuration.configurePowerSync(schema: schema)
        let pool = try DatabasePool(path: path, configuration: configuration)

        let powerSync = openPowerSyncWithGRDB(pool: pool, schema: schema, identifier: "app.db")
        try await powerSync.connect(connector: connector, options: nil)
        return pool
    }

    struct List: Codable, Identifiable, FetchableRecord, PersistableRecord {
        static let databaseTableName = "lists"
        var id: String
        var name: String
    }

    struct Todo: Codable, Identifiable, FetchableRecord, PersistableRecord {
        static let databaseTableName = "todos"
        static let list = belongsTo(List.self, using: ForeignKey(["list_id"], to: ["id"]))
        var id: String
        var list_id: String
        var title: String
    }

    static func render(_ todos: [Todo]) {}

    static func follow(_ pool: DatabasePool, _ todo: Todo) async throws {
        try await pool.write { db in try todo.insert(db) }  // is uploaded
        for try await todos in ValueObservation.tracking(Todo.fetchAll).values(in: pool) {
            render(todos)  // follows local writes and the service
        }
    }
}
