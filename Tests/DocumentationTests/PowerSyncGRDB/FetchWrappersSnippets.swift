import GRDB
import PowerSync
import PowerSyncGRDB

func openAPoolForWrappers(path: String, schema: Schema) throws -> DatabasePool {
    var configuration = Configuration()
    try configuration.configurePowerSync(schema: schema)
    let pool = try DatabasePool(path: path, configuration: configuration)
    let powerSync = openPowerSyncWithGRDB(pool: pool, schema: schema, identifier: "app.db")
    _ = powerSync
    return pool
}

// These libraries are not dependencies of this package: where they are missing, this is only parsed.
#if canImport(SwiftUI) && canImport(SQLiteData)
import SQLiteData
import SwiftUI

@Table("lists") struct TodoList { let id: String; var name: String }

struct ListsView: View {
    @FetchAll(TodoList.order(by: \.name)) var lists
    @Dependency(\.defaultDatabase) var database

    var body: some View { ForEach(lists, id: \.id) { Text($0.name) } }
}

func prepare(_ pool: DatabasePool) {
    prepareDependencies { $0.defaultDatabase = pool }
}
#endif

#if canImport(SwiftUI) && canImport(GRDBQuery)
import GRDBQuery
import SwiftUI

struct QueriedListsView: View {
    let pool: DatabasePool

    var body: some View {
        ListsView().databaseContext(.readWrite { pool })
    }
}
#endif
