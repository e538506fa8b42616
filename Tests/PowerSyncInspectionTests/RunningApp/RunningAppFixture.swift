import ArgumentParser
import Foundation
import NIOConcurrencyHelpers
import PowerSync
import PowerSyncClient
import PowerSyncTerminal
import PowerSyncTesting
import TestSupport

@testable import PowerSyncInspection

/// An app of a synced user, which listens for inspection.
struct RunningAppFixture: Sendable {
    private static let config = """
        config: {edition: 3}
        streams:
          lists:
            auto_subscribe: true
            priority: 1
            query: SELECT * FROM lists WHERE owner_id = auth.user_id()
          todos:
            query: SELECT * FROM todos WHERE list_id = subscription.parameter('list')
        """

    let folder: TemporaryFolder
    let service: FakeService
    let database: any PowerSyncDatabaseProtocol

    /// Syncs a client.
    ///
    /// - Parameter key: The key of its file; `nil` for none.
    /// - Throws: What makes a file or the sync fail.
    init(key: (@Sendable () throws -> DatabaseKey)? = nil) async throws {
        folder = try TemporaryFolder()
        service = try FakeService(streams: Self.config)
        try service.put("lists", ["id": "l1", "owner_id": "u1", "name": "Groceries"])
        try service.put("todos", ["id": "t1", "list_id": "l1", "title": "Milk"])
        let schema = Schema(
            Table(name: "lists", columns: [.text("owner_id"), .text("name")]),
            Table(name: "todos", columns: [.text("list_id"), .text("title")])
        )
        let (path, logger) = (folder.path("app.db"), DefaultLogger(minSeverity: .fault))
        database =
            if let key {
                PowerSyncDatabase(schema: schema, dbFilename: path, logger: logger, key: key)
            } else {
                PowerSyncDatabase(schema: schema, dbFilename: path, logger: logger)
            }
        try await database.connect(connector: service.connector(user: "u1"))
        try await service.waitUntilSynced(database)
    }

    var path: String { folder.path("app.socket") }
    var app: RunningApp { RunningApp(path: path) }

    /// Listens while a body runs.
    func whileListening(_ body: () async throws -> Void) async throws {
        let (start, started) = AsyncStream.makeStream(of: Never.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { started.finish() }
                do {
                    try await database.listenForInspection(at: URL(filePath: path)) { started.finish() }
                } catch is CancellationError {}
            }
            for await _ in start {}
            defer { group.cancelAll() }
            try await body()
        }
    }

    /// What the command prints.
    func lines(_ arguments: String...) async throws -> [String] {
        let command = try InspectCommand.parse(["--app", path] + arguments)
        let printed = Printed()
        try await AppInspection(
            app: app,
            request: command.app.request(),
            format: command.output.format,
            printing: printed.print
        ).run()
        return printed.lines
    }
}

/// Lines that a command has printed.
final class Printed: Sendable {
    private let printed = NIOLockedValueBox<[String]>([])

    var lines: [String] { printed.withLockedValue { $0 } }

    @Sendable func print(_ lines: [String]) {
        printed.withLockedValue { $0 += lines }
    }
}
