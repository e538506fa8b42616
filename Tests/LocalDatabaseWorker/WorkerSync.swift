import Foundation
import PowerSync

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Syncs with a service and writes while it does.
struct WorkerSync: Sendable {
    let task: WorkerTask
    let service: String
    let say: @Sendable (String) -> Void

    /// Works until the process is killed.
    func run(_ database: any PowerSyncDatabaseProtocol) async throws {
        try await database.connect(
            connector: Connector(sync: self),
            options: ConnectOptions(crudThrottle: 0.002, retryDelay: 0.005)
        )
        async let synced: Void = {
            try await database.waitForFirstSync(priority: 0)
            say(WorkerTask.Line.synced)
        }()
        try await write(database)
        try await synced
    }

    private func write(_ database: any PowerSyncDatabaseProtocol) async throws {
        var number = task.firstNumber
        while true {
            let row = WorkerRow(number)
            try await database.execute(
                sql: "INSERT INTO items (id, title, batch) VALUES (?, ?, ?)",
                parameters: [row.id, WorkerRow.title, number]
            )
            say("\(number)")
            number += 1
            // Uploading a row takes longer than writing one.
            try await Task.sleep(for: .milliseconds(3))
        }
    }

    private struct Connector: PowerSyncBackendConnectorProtocol {
        let sync: WorkerSync

        func fetchCredentials() async throws -> PowerSyncCredentials? {
            PowerSyncCredentials(endpoint: sync.service, token: "token")
        }

        func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
            guard let batch = try await database.getCrudBatch(limit: 20) else { return }
            let uploads = batch.crud.map { entry in
                WorkerUpload(row: entry.id, title: entry.opData?["title"] ?? nil, entry: Int64(entry.clientId))
            }
            try await sync.upload(uploads)
            try await batch.complete()
            if let last = uploads.last { sync.say(WorkerTask.Line.completed + "\(last.entry)") }
        }
    }

    private func upload(_ uploads: [WorkerUpload]) async throws {
        guard let url = URL(string: service + WorkerUpload.path) else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = try JSONEncoder().encode(uploads)
        let (_, response) = try await URLSession.shared.data(for: request)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
    }
}
