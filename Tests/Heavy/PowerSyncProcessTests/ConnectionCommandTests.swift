import Foundation
import PostgresTestSupport
import TestSupport
import Testing

/// The command `test-connection` as people and scripts run it (docs/postgres.md "Checking a server").
@Suite(.timeLimit(.minutes(3))) struct ConnectionCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try """
        replication: {connections: [{type: postgresql, uri: !env PS_URI, sslmode: disable}]}
        storage: {type: sqlite, path: buckets.db}
        sync_config: {content: "{config: {edition: 3}, streams: {s: {query: SELECT * FROM lists}}}"}
        client_auth: {audience: [a], jwks: {keys: [{kty: oct, alg: HS256, kid: k, k: c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTMy}]}}
        """.write(toFile: folder.path("service.yaml"), atomically: true, encoding: .utf8)
    }

    private func run(_ uri: String, _ arguments: String...) async throws -> CommandRun {
        try await CommandRun(
            ["test-connection", "--config", "service.yaml"] + arguments,
            in: folder,
            environment: ["PS_URI": uri]
        )
    }

    @Test func aServerThatIsRightExitsWith0() async throws {
        let database = try TestDatabase("CREATE TABLE lists (id text PRIMARY KEY)")
        let run = try await run(database.uri)
        #expect(run.status == 0, "\(run)")
        #expect(run.text.contains("PostgreSQL \(database.name) at "))
        #expect(run.text.contains("The source can be replicated"))
        // Nothing of the storage was made.
        #expect(!FileManager.default.fileExists(atPath: folder.path("buckets.db")))
    }

    @Test func whatIsMissingExitsWith1() async throws {
        let database = try TestDatabase("CREATE TABLE lists (id text); DROP PUBLICATION powersync")
        let run = try await run(database.uri)
        #expect(run.status == 1, "\(run)")
        #expect(run.text.contains("error: The database has no publication powersync. [PSYNC_S1141]"))
        #expect(run.text.contains("\n  CREATE PUBLICATION powersync FOR TABLE public.lists;\n"))
        #expect(run.text.contains("warning: public.lists has no primary key"))
        #expect(run.text.hasSuffix("The source cannot be replicated yet."))
    }

    @Test func toolsGetJSON() async throws {
        let database = try TestDatabase("CREATE TABLE lists (id text); DROP PUBLICATION powersync")
        let run = try await run(database.uri, "--format", "json")
        #expect(run.status == 1)
        let object = try JSONSerialization.jsonObject(with: Data(run.text.utf8)) as? [String: Any]
        #expect(object?["isReachable"] as? Bool == true)
        #expect(object?["canReplicate"] as? Bool == false)
        let findings = object?["findings"] as? [[String: Any]]
        #expect(findings?.first?["code"] as? String == "PSYNC_S1141")
        #expect(findings?.first?["remedy"] as? String == "CREATE PUBLICATION powersync FOR TABLE public.lists;")
    }

    @Test func noConnectionExitsWith2AndShowsNoPassword() async throws {
        let run = try await run("postgresql://me:hunter2@127.0.0.1:1/app")
        #expect(run.status == 2, "\(run)")
        #expect(run.text.contains("PostgreSQL app at 127.0.0.1:1 as me"))
        #expect(run.text.contains("Check hostname and port"))
        #expect(run.text.hasSuffix("There is no connection."))
        #expect(!(run.text + run.errors).contains("hunter2"))
    }

    /// The folder of an app of the established service, with its variables in a file but for the address of the database.
    @Test func importConnectsToTheSourceOfTheFolder() async throws {
        try FileManager.default.removeItem(atPath: folder.path("service.yaml"))
        for (name, text) in [
            (
                "service.yaml",
                """
                _type: self-hosted
                replication: {connections: [{type: postgresql, uri: !env PS_URI, sslmode: disable}]}
                storage: {type: mongodb, uri: !env PS_MONGO_URI}
                sync_config: {path: sync-config.yaml}
                client_auth: {audience: [a], jwks: {keys: [{kty: oct, alg: HS256, kid: k, k: !env PS_KEY}]}}
                """
            ),
            ("sync-config.yaml", "config: {edition: 3}\nstreams: {s: {query: SELECT * FROM lists}}\n"),
            ("001.sql", "CREATE TABLE lists (id text PRIMARY KEY);"),
            (".env", "PS_KEY=c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTMy\n"),
        ] { try text.write(toFile: folder.path(name), atomically: true, encoding: .utf8) }
        func run(_ uri: String, _ arguments: String...) async throws -> CommandRun {
            try await CommandRun(["import", "--connect"] + arguments, in: folder, environment: ["PS_URI": uri])
        }

        let database = try TestDatabase("CREATE TABLE lists (id text PRIMARY KEY)")
        let dry = try await run(database.uri, "--dry-run")
        #expect(dry.status == 0, "\(dry)")
        #expect(dry.text.contains("\nThe source:\n  PostgreSQL \(database.name) at "))
        #expect(dry.text.hasSuffix("\n  The source can be replicated."))
        #expect(!FileManager.default.fileExists(atPath: folder.path("powersync-swift")))

        try database.run("DROP PUBLICATION powersync")
        let missing = try await run(database.uri)
        #expect(missing.status == 1, "\(missing)")
        #expect(missing.text.contains("\n    CREATE PUBLICATION powersync FOR TABLE public.lists;\n"))
        #expect(FileManager.default.fileExists(atPath: folder.path("powersync-swift/powersync.yaml")))

        let away = try await run("postgresql://me:hunter2@127.0.0.1:1/app", "--dry-run")
        #expect(away.status == 2, "\(away)")
        #expect(away.text.hasSuffix("\n  There is no connection."))
        #expect(!(away.text + away.errors).contains("hunter2"))
    }

    @Test func aFileThatCannotBeUsedExitsWith1() async throws {
        let run = try await run("not a uri")
        #expect(run.status == 1)
        #expect(run.errors.contains("service.yaml:1: replication.connections[0].uri: not a connection URI"))
    }
}
