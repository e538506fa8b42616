import GRDB
import IntegrationTestSupport
import NIOConcurrencyHelpers
import PowerSync
import PowerSyncService
import Testing

/// The SDK reads what our service compresses.
@Suite(.timeLimit(.minutes(2)))
struct CompressedSyncTests {
    private let service: TodoService

    init() throws {
        service = try TodoService()
    }

    @Test(
        arguments: zip(
            [ServiceConfiguration.ResponseFormats.all, .ndjsonOnly],
            ["application/vnd.powersync.bson-stream", "application/x-ndjson"]
        )
    )
    func everyLineArrives(formats: ServiceConfiguration.ResponseFormats, mediaType: String) async throws {
        let log = NIOLockedValueBox<[String]>([])
        let client = service.client("compressed")
        var options = ConnectOptions()
        options.clientConfiguration = SyncClientConfiguration(
            requestLogger: SyncRequestLoggerConfiguration(requestLevel: .headers) { line in
                log.withLockedValue { $0.append(line.lowercased()) }
            }
        )
        var configuration = service.configuration
        configuration.formats = formats
        try await service.writeToSource { db in
            for statement in TodoService.statements { try db.execute(sql: statement) }
            try db.execute(sql: "INSERT INTO lists(id, owner_id, name) VALUES ('l1', 'anna', 'Groceries')")
            for number in 0..<2_000 {
                try db.execute(
                    sql: "INSERT INTO todos(id, list_id, title, done) VALUES (?, 'l1', ?, 0)",
                    arguments: ["t\(number)", "Todo number \(number)"]
                )
            }
        }
        try await service.run(configuration) { address in
            try await client.connect(connector: service.connector("anna", address.url), options: options)
            try await client.waitForRows(of: "todos", toEqual: service.sourceRows("todos"))
            // Live lines, with nothing behind them.
            for name in ["Food", "Work"] {
                try await service.writeToSource { db in
                    try db.execute(sql: "UPDATE lists SET name = ?", arguments: [name])
                }
                try await client.waitForRows(of: "lists", toEqual: [["l1", "anna", name]])
            }
            try await client.close()
        }
        let lines = log.withLockedValue { $0 }
        #expect(lines.contains { $0.contains("content-encoding: gzip") }, "\(lines)")
        #expect(lines.contains { $0.contains("content-type: \(mediaType)") }, "\(lines)")
    }
}
