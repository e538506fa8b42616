import Foundation
import PowerSync
import PowerSyncService

/// What the service of the `sync` benchmarks serves, and what its clients get.
///
/// | Stream | Buckets | Rows | For |
/// | --- | --- | --- | --- |
/// | `todos` | 10, priority 3 | `rows` | every client |
/// | `lists` | 1, priority 1 | ``visibleRows`` | clients that subscribe: rows to read while the rest arrives |
struct SyncScenario: Codable {
    /// The number of todos.
    var rows: Int
    /// Whether the service may answer in BSON.
    var allowsBSON: Bool
    /// The folder of the service's files; a second service on it serves at once.
    var folder: String

    /// The number of lists.
    static let visibleRows = 10_000
    /// The number of buckets that todos are spread over.
    static let bucketCount = 10
    /// The user whose rows they are.
    static let user = "user-1"

    /// The tables of the clients: as in the other benchmarks, and the column that chooses the bucket.
    static let schema = Schema(
        Table(name: "lists", columns: columns, indexes: [.ascending(name: "by_owner", column: "owner")]),
        Table(name: "todos", columns: columns, indexes: [.ascending(name: "by_owner", column: "owner")])
    )

    private static let columns: [Column] = [
        .text("folder"), .text("owner"), .integer("number"), .text("title"), .integer("done"),
    ]

    /// The tables of the source.
    static let statements = [
        "CREATE TABLE folders(id TEXT PRIMARY KEY NOT NULL, owner TEXT)",
        "CREATE TABLE lists(\(sourceColumns))",
        "CREATE TABLE todos(\(sourceColumns))",
    ]

    private static let sourceColumns =
        "id TEXT PRIMARY KEY NOT NULL, folder TEXT, owner TEXT, number INTEGER, title TEXT, done INTEGER"

    /// The service, on any free port.
    var configuration: ServiceConfiguration {
        var configuration = ServiceConfiguration(
            source: .embedded(
                path: sourcePath,
                statements: Self.statements
            ),
            storage: .sqlite(path: folder + "/buckets.db"),
            syncConfig: .content(
                """
                config: {edition: 3}
                streams:
                  lists:
                    priority: 1
                    query: SELECT * FROM lists WHERE folder = auth.user_id()
                  todos:
                    auto_subscribe: true
                    query: SELECT * FROM todos WHERE folder IN (SELECT id FROM folders WHERE owner = auth.user_id())
                """
            )
        )
        configuration.host = "127.0.0.1"
        configuration.port = 0
        configuration.development.writeEndpoint = true
        configuration.formats = allowsBSON ? .all : .ndjsonOnly
        configuration.authentication.keys = [
            .hs256(secret: Array("benchmark-key-0123456789abcdefgh".utf8), id: "bench")
        ]
        configuration.authentication.audience = ["powersync-bench"]
        return configuration
    }

    /// The database that the service replicates.
    var sourcePath: String { folder + "/source.db" }
}
