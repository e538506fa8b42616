import PowerSync

func subscribe(_ database: any PowerSyncDatabaseProtocol, _ listID: String) async throws {
    let todos = database.syncStream(name: "todos", params: ["list": .string(listID)])
    let subscription = try await todos.subscribe()
    try await subscription.waitForFirstSync()
    // … and when the screen closes:
    try await subscription.unsubscribe()
}

func subscribeForAnHour(_ database: any PowerSyncDatabaseProtocol, _ listID: String) async throws {
    let todos = database.syncStream(name: "todos", params: ["list": .string(listID)])
    let subscription = try await todos.subscribe(ttl: 3600, priority: BucketPriority(1))
    log("\(subscription)")
}

func connectWithoutDefaultStreams(
    _ database: any PowerSyncDatabaseProtocol,
    _ connector: any PowerSyncBackendConnectorProtocol
) async throws {
    var options = ConnectOptions(params: ["region": .string("north")])
    options.includeDefaultStreams = false
    try await database.connect(connector: connector, options: options)
}

func waitForTheStream(_ subscription: any SyncStreamSubscription) async throws {
    do {
        try await subscription.waitForFirstSync()
    } catch let error as UnknownSyncStreamError {
        show("no stream \(error.streamName); did you mean \(error.similarNames)?")
    }
}

func showTheStream(_ database: any PowerSyncDatabaseProtocol, _ todos: any SyncStream) {
    if let status = database.currentStatus.forStream(stream: todos) {
        show(status.subscription.hasSynced ? "there" : "\(status.progress?.downloadedOperations ?? 0) operations")
    }
}

// Linux has no SwiftUI: there, this is only parsed.
#if canImport(SwiftUI)
import SwiftUI

struct ListView: View {
    let database: any PowerSyncDatabaseProtocol
    let listID: String
    @State private var subscription: (any SyncStreamSubscription)?

    var body: some View {
        TodoView()
            .task(id: listID) {
                let todos = database.syncStream(name: "todos", params: ["list": .string(listID)])
                subscription = try? await todos.subscribe()
            }
    }
}
#endif
