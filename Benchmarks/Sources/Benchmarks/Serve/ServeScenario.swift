import Foundation
import GRDB
import Logging
import PowerSyncService
import ServiceLifecycle

/// What the service of the `serve` benchmarks serves.
///
/// | Stream | Buckets | Who wants it |
/// | --- | --- | --- |
/// | `mine` | one for each user | the streams of the user |
/// | `news` | one | every stream |
/// | `bulk` | one | streams that subscribe |
struct ServeScenario: Codable {
    /// The rows of `bulk`.
    var bulkRows: Int
    /// The rows of `news` when the service starts.
    var newsRows = 0
    /// The folder of the service's files.
    var folder: String

    /// The service, on any free port, with room for everybody.
    var configuration: ServiceConfiguration {
        var configuration = ServiceConfiguration(
            source: .embedded(path: sourcePath, statements: Self.statements),
            storage: .sqlite(path: folder + "/buckets.db"),
            syncConfig: .deployed
        )
        configuration.host = "127.0.0.1"
        configuration.port = 0
        configuration.development.writeEndpoint = true
        configuration.limits.maxConcurrentConnections = 1_000_000
        configuration.limits.maxStreamsPerUser = 1_000_000
        configuration.admin.tokens = [Self.adminToken]
        configuration.authentication = Self.authentication
        return configuration
    }

    /// How tokens are checked.
    static var authentication: ClientAuthentication {
        var authentication = ClientAuthentication()
        authentication.keys = [.hs256(secret: Array("benchmark-key-0123456789abcdefgh".utf8), id: "bench")]
        authentication.audience = ["powersync-bench"]
        return authentication
    }

    /// The sync config.
    ///
    /// - Parameters:
    ///   - condition: What rows of `bulk` have to be like.
    ///   - news: The query of `news`.
    /// - Returns: YAML.
    static func syncConfig(bulk condition: String = "TRUE", news: String = "SELECT * FROM news") -> String {
        """
        config: {edition: 3}
        streams:
          mine: {auto_subscribe: true, query: SELECT * FROM mine WHERE owner = auth.user_id()}
          news: {auto_subscribe: true, query: "\(news)"}
          bulk: {query: "SELECT * FROM bulk WHERE \(condition)"}
        """
    }

    /// Who has it may deploy another one.
    static let adminToken = "benchmark-admin"

    private var sourcePath: String { folder + "/source.db" }

    private static let statements = ["mine", "news", "bulk"].map {
        "CREATE TABLE \($0)(id TEXT PRIMARY KEY NOT NULL, owner TEXT, title TEXT)"
    }

    /// The child: fills the source, serves it, tells where, and ends when its input does.
    func run() async throws {
        let source = try DatabaseQueue(path: sourcePath)
        try await source.write { db in
            for sql in Self.statements { try db.execute(sql: sql) }
            for (table, count) in [("bulk", bulkRows), ("news", newsRows)] {
                for row in Workload(rows: count, buckets: 1).rows {
                    try db.cachedStatement(sql: "INSERT INTO \(table)(id, owner, title) VALUES (?, 'bulk', ?)")
                        .execute(arguments: [row.id, row.data])
                }
            }
        }
        try source.close()
        var logger = Logger(label: "service") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        let configuration = configuration
        let service = try SyncService(configuration: configuration, logger: logger)
        let group = ServiceGroup(services: [service], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            try await service.deploy(syncConfig: Self.syncConfig())
            let token = try configuration.makeDevelopmentToken(userID: "writer")
            try ChildProcess.report(ServiceProcess.Address(url: try await service.waitUntilReady().url, token: token))
            await ServiceProcess.endOfInput()
            await group.triggerGracefulShutdown()
        }
    }

    /// The request of a stream.
    ///
    /// - Parameters:
    ///   - user: Whose stream it is.
    ///   - subscribesToBulk: Whether it wants `bulk`, and nothing else.
    /// - Returns: Head and body.
    /// - Throws: When no token can be signed.
    func request(user: String, subscribesToBulk: Bool = false) throws -> String {
        let body =
            subscribesToBulk
            ? #"{"streams":{"include_defaults":false,"subscriptions":[{"stream":"bulk","parameters":{},"#
                + #""override_priority":null}]},"raw_data":true,"buckets":[]}"#
            : StreamClients.emptyBody
        return StreamClients.request(token: try configuration.makeDevelopmentToken(userID: user), body: body)
    }
}
