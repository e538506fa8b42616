import Foundation
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncService

/// A run of `scripts/check-protocol`.
struct ProtocolCheck {
    /// The sync config and the rows that the script expects.
    private static let syncConfig = """
        config: {edition: 3}
        streams:
          lists:
            auto_subscribe: true
            priority: 1
            query: SELECT id, name FROM lists WHERE owner_id = auth.user_id()
          todos:
            query: SELECT id, list_id, title, done FROM todos WHERE list_id = subscription.parameter('list_id')
        """
    private static let tables = [
        "CREATE TABLE lists (id TEXT PRIMARY KEY, owner_id TEXT, name TEXT)",
        "CREATE TABLE todos (id TEXT PRIMARY KEY, list_id TEXT, title TEXT, done INTEGER)",
    ]
    private static let adminToken = "admin-secret"

    /// Its exit status.
    let status: Int32
    /// What it printed.
    let lines: [String]

    /// The lines about what is wrong.
    var failures: [String] { lines.filter { !$0.hasPrefix("ok ") && !$0.hasPrefix("skipped ") } }

    /// Runs a service as the script expects it, with rows.
    static func run(
        configure: (inout ServiceConfiguration) -> Void = { _ in },
        _ body: (ServiceScenario) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        try await ServiceScenario.run(in: folder) { configuration in
            configuration.source = .embedded(path: folder.path("source.db"), statements: tables)
            configuration.syncConfig = .content(syncConfig)
            configuration.admin.tokens = [adminToken]
            configure(&configuration)
        } _: { scenario in
            typealias Scenario = ServiceScenario
            try await scenario.write(
                Scenario.put("lists", "l1", ["owner_id": "u1", "name": "Groceries"]),
                Scenario.put("lists", "l2", ["owner_id": "u1", "name": "Work"]),
                Scenario.put("todos", "t1", ["list_id": "l1", "title": "Milk", "done": 0]),
                Scenario.put("todos", "t2", ["list_id": "l1", "title": #"Bread "rye""#, "done": 0])
            )
            try await scenario.settle()
            try await body(scenario)
        }
    }

    /// Runs the script against a service.
    ///
    /// - Parameters:
    ///   - scenario: Where the service is.
    ///   - authority: A file with the authority of its certificate.
    /// - Throws: An error of starting it.
    init(_ scenario: ServiceScenario, authority: String? = nil) async throws {
        let process = Process()
        process.executableURL =
            URL(filePath: #filePath)
            .appending(path: "../../../../scripts/check-protocol").standardized
        process.arguments = [scenario.address.url]
        var environment = ProcessInfo.processInfo.environment
        environment["POWERSYNC_TOKEN"] = try scenario.token()
        environment["POWERSYNC_ADMIN_TOKEN"] = Self.adminToken
        environment["CURL_CA_BUNDLE"] = authority
        process.environment = environment
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        let (exits, exit) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in exit.finish() }
        try process.run()
        var lines: [String] = []
        for await line in output.fileHandleForReading.lines() { lines.append(line) }
        for await _ in exits {}
        status = process.terminationStatus
        self.lines = lines
    }
}
