import Foundation
import PowerSync

func followTheStatus(_ database: any PowerSyncDatabaseProtocol) async {
    for await status in database.currentStatus.asFlow() {
        if let progress = status.downloadProgress {
            show("\(progress.downloadedOperations) of \(progress.totalOperations)")
        } else if status.connected {
            show("up to date since \(status.lastSyncedAt?.formatted() ?? "now")")
        }
    }
}

func waitForAPriority(_ database: any PowerSyncDatabaseProtocol) async throws -> PriorityStatusEntry {
    try await database.waitForFirstSync(priority: 1)  // lists are there, todos may still be on their way
    let entry = database.currentStatus.statusForPriority(BucketPriority(1))
    return entry
}

func followTheActivity(_ database: any PowerSyncDatabaseProtocol) async {
    for await activity in database.currentStatus.activities() {
        switch activity.upload?.reason {
        case .upload(let entries): show("uploading \(entries) changes")
        case .retry(let date, _): show("the backend refused changes; next attempt at \(date)")
        case .writeCheckpoint: show("changes are uploaded and on their way back")
        default: break
        }
        if case .serviceUnreachable = activity.download?.reason, let since = activity.download?.since {
            show("offline since \(since)")
        }
    }
}

func lookAtEverything(_ database: any PowerSyncDatabaseProtocol) async throws {
    let inspection = try await database.inspection()
    if inspection.queue.writes > 0 { show("\(inspection.queue.writes) changes to upload") }
    for bucket in inspection.buckets where !bucket.isComplete {
        show("\(bucket.name): \(bucket.operationsOfDownload ?? 0) of \(bucket.operationsToDownload ?? 0)")
    }
    log("\(inspection)")
}

func letDevelopersLookInside(_ database: any PowerSyncDatabaseProtocol) {
    #if DEBUG
    let listening = Task {
        try await database.listenForInspection(at: URL(fileURLWithPath: "/tmp/todos.socket"))
    }
    #endif
    #if DEBUG
    listening.cancel()
    #endif
}

func syncOnce(
    _ database: any PowerSyncDatabaseProtocol,
    connector: any PowerSyncBackendConnectorProtocol
) async throws {
    let result = try await database.syncOnce(connector: connector, deadline: .seconds(25))
    if !result.isComplete, let wait = result.activity.upload ?? result.activity.download {
        log("not finished: waiting for \(wait.reason) since \(wait.since)")
    }
}
