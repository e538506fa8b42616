import Foundation
import PowerSync

func refresh(
    _ database: any PowerSyncDatabaseProtocol,
    _ connector: any PowerSyncBackendConnectorProtocol
) async -> Bool {
    do {
        let result = try await database.syncOnce(connector: connector, deadline: .seconds(20))
        log("\(result)")
        return result.isComplete
    } catch {
        return false
    }
}

// Linux has no background tasks and no App Groups: there, this is only parsed.
#if canImport(BackgroundTasks)
import BackgroundTasks

func registerRefresh(_ work: @escaping @Sendable () async -> Bool) {
    BGTaskScheduler.shared.register(forTaskWithIdentifier: "com.example.app.refresh", using: nil) { task in
        try? BGTaskScheduler.shared.submit(BGAppRefreshTaskRequest(identifier: "com.example.app.refresh"))
        let refreshing = Task { task.setTaskCompleted(success: await work()) }
        task.expirationHandler = { refreshing.cancel() }
    }
}

func openInAGroup(_ schema: Schema) throws -> any PowerSyncDatabaseProtocol {
    let container = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.com.example.app")
    guard let container else { throw CocoaError(.fileNoSuchFile) }
    let database = PowerSyncDatabase(schema: schema, dbFilename: container.appending(path: "app.db").path)
    return database
}
#endif
