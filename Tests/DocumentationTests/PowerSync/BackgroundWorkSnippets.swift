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

func uploadOnly(
    _ database: any PowerSyncDatabaseProtocol,
    _ connector: any PowerSyncBackendConnectorProtocol
) async throws -> Bool {
    let options = ConnectOptions(mode: .uploadOnly)
    let result = try await database.syncOnce(connector: connector, options: options, deadline: .seconds(20))
    return result.isComplete
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

#if canImport(Darwin)
/// What signs the requests of the page.
protocol FileSigning: Sendable {
    func sign(_ request: SignedURLRequest) async throws -> AttachmentHTTPRequest
}

func transport(
    _ backend: any FileSigning,
    _ deletions: any AttachmentTransportAdapter
) -> BackgroundAttachmentTransport {
    BackgroundAttachmentTransport(identifier: "com.example.app.files", base: deletions) { request in
        // Good for hours: the system chooses when it transfers.
        try await backend.sign(request)
    }
}
#endif
