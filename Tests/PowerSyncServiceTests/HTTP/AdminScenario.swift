import GRDB
import RunningServiceTestSupport
import TestSupport

@testable import PowerSyncService

/// A service with a token for operators, and what they send.
enum AdminScenario {
    static let token = "an-admin-token"
    static let brokenConfig = "config: {edition: 3}\nstreams:\n  a:\n    query: SELECT FROM\n"
    /// Has no query of ``ServiceScenario/syncConfig``.
    static let otherConfig = """
        config: {edition: 3}
        streams:
          lists:
            auto_subscribe: true
            query: SELECT id, owner_id, name FROM lists WHERE owner_id = auth.user_id()
        """

    /// Has the lists of ``ServiceScenario/syncConfig`` under another name, and todos with other columns.
    static let partlyOtherConfig = """
        config: {edition: 3}
        streams:
          my_lists:
            auto_subscribe: true
            query: SELECT id, name FROM lists WHERE owner_id = auth.user_id()
          todos:
            auto_subscribe: true
            query: SELECT id, title FROM todos WHERE list_id IN (SELECT id FROM lists WHERE owner_id = auth.user_id())
        """

    /// Runs a service with an admin token on the files of a folder.
    static func run(
        in folder: TemporaryFolder? = nil,
        configure: (inout ServiceConfiguration) -> Void = { _ in },
        _ body: (ServiceScenario) async throws -> Void
    ) async throws {
        try await ServiceScenario.run(in: folder) { configuration in
            configuration.admin.tokens = ["another-token", token]
            configure(&configuration)
        } _: {
            try await body($0)
        }
    }

    /// Runs a service whose sync config was deployed before, and may be deployed over HTTP.
    static func runDeployed(
        in folder: TemporaryFolder,
        _ body: (ServiceScenario) async throws -> Void
    ) async throws {
        try await ServiceScenario.run(in: folder) { _ in }
        try await run(in: folder, configure: { $0.syncConfig = .deployed }, body)
    }

    /// A lock on the source: a config that is deployed meanwhile stays in progress.
    static func withLockedSource(of folder: TemporaryFolder, _ body: () async throws -> Void) async throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.allowsUnsafeTransactions = true
        let queue = try DatabaseQueue(path: folder.path("source.db"), configuration: configuration)
        try await queue.writeWithoutTransaction { db in try db.beginTransaction(.immediate) }
        try await body()
        try await queue.writeWithoutTransaction { db in try db.rollback() }
    }
}
