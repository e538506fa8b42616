import Foundation
import GRDB
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// What diagnostics say is wrong with a source, and with what is late (docs/service.md "The admin API").
@Suite(.timeLimit(.minutes(2))) struct AdminFindingTests {
    private typealias Admin = AdminScenario

    /// Level and beginning of each error.
    private static func errors(_ entry: JSONObject) -> [String] {
        entry.objects("errors").map { "\($0.text("level") ?? ""): \($0.text("message") ?? "")" }
    }

    @Test func whatIsWrongWithATableOfAServerIsToldWithTheTable() async throws {
        let database = try TestDatabase(
            """
            CREATE TABLE lists (id text PRIMARY KEY);
            CREATE TABLE nokey (id text);
            CREATE TABLE secret (id text PRIMARY KEY);
            CREATE VIEW names AS SELECT * FROM lists;
            CREATE PUBLICATION half FOR TABLE lists, nokey
            """
        )
        let config = """
            config: {edition: 3}
            streams:
              s:
                queries: [SELECT * FROM lists, SELECT * FROM nokey, SELECT * FROM secret, SELECT * FROM names, SELECT * FROM gone]
            """
        try await Admin.run { configuration in
            var settings = PostgresSettings(uri: database.uri)
            settings.tls = .disable
            settings.publication = "half"
            settings.slotNamePrefix = "\(database.name)_"
            configuration.source = .postgresql(settings)
            configuration.development.writeEndpoint = false
            configuration.syncConfig = .content(config)
        } _: { scenario in
            func check(_ status: JSONObject) throws -> JSONObject {
                let replicated = try #require(status.objects("connections").first)
                var errors: [String: [String]] = [:]
                for table in replicated.objects("tables") { errors[table.text("name") ?? ""] = Self.errors(table) }
                #expect(errors["lists"] == [])
                #expect(errors["nokey"]?.map { $0.prefix(38) } == ["fatal: public.nokey has no primary key"])
                #expect(
                    errors["secret"]?.map { $0.prefix(84) } == [
                        "fatal: public.secret is not in publication half: its rows are not synced. ALTER PUBL"
                    ]
                )
                #expect(errors["names"]?.map { $0.prefix(30) } == ["fatal: public.names is a view:"])
                #expect(errors["gone"]?.map { $0.prefix(35) } == ["warning: The sync config reads gone"])
                return replicated
            }
            let reply = try await scenario.send("POST", "/api/admin/v1/diagnostics", token: Admin.token)
            let active = try reply.json.object("data").object("active_sync_rules")
            let replicated = try check(active)
            #expect(replicated.text("wal_status") == "reserved")
            #expect(replicated["replication_lag_bytes"] != nil)

            let body: JSONObject = ["sync_rules": .string(config)]
            let validation = try await scenario.send(
                "POST",
                "/api/admin/v1/validate",
                token: Admin.token,
                body: body.text
            )
            _ = try check(try validation.json.object("data"))

            let schema = try await scenario.send("POST", "/api/admin/v1/schema", token: Admin.token)
            let tables = try #require(
                try schema.json.object("data").objects("connections").first?.objects("schemas").first?.objects("tables")
            )
            #expect(tables.map { $0.text("name") ?? "" } == ["lists", "nokey", "secret"])
        }
    }

    @Test func aFindingKeepsItsCode() {
        let finding = Finding(
            .error,
            .source,
            code: .privilegeMissing,
            "Role sync may not replicate.",
            remedy: "ALTER ROLE …"
        )
        #expect(
            AdminRoutes.entry(finding)
                == .object([
                    "level": "fatal", "message": "[PSYNC_S1147] Role sync may not replicate. ALTER ROLE …",
                    "code": "PSYNC_S1147",
                ])
        )
        let leftOut = Finding(.warning, .source, "a is a view", leavesTableOut: true)
        #expect(AdminRoutes.entry(leftOut) == .object(["level": "fatal", "message": "a is a view"]))
        let odd = Finding(.warning, .source, "odd")
        #expect(AdminRoutes.entry(odd) == .object(["level": "warning", "message": "odd"]))
    }

    @Test(arguments: [
        (LogRetention(status: "reserved", safeBytes: 501, maximumBytes: 1000), false),
        (LogRetention(status: "extended", safeBytes: 500, maximumBytes: 1000), true),
        (LogRetention(status: "unreserved", safeBytes: -8, maximumBytes: 1000), true),
        (LogRetention(status: "reserved", safeBytes: nil, maximumBytes: nil), false),
    ])
    func halfOfTheLogThatMayBeKeptIsUsedUp(_ retention: LogRetention, isRunningOut: Bool) {
        #expect(retention.isRunningOut == isRunningOut)
    }

    @Test func whatIsLateIsToldAfterFiveMinutes() async throws {
        let scenario = try SourceScenario()
        func errors(after seconds: Double) async throws -> [String] {
            let routes = AdminRoutes(
                tokens: AdminTokens([Admin.token]),
                storage: scenario.storage,
                source: scenario.source,
                connection: AdminRoutes.Connection(uri: "the source", defaultSchema: "main"),
                deployer: SyncConfigDeployer(storage: scenario.storage, logger: scenario.logger),
                isConfigured: false,
                failure: { nil },
                usage: { [:] },
                clock: ContinuousClock(),
                now: { Date(timeIntervalSinceNow: seconds) },
                queue: ConcurrencyQueue(maximumRunning: 1, maximumWaiting: 0)
            )
            let data = try await routes.diagnostics(includesContent: false, includesService: false)
            return Self.errors(data.object("active_sync_rules")).map { $0.filter { !$0.isNumber } }
        }
        try await scenario.replicate()
        // A source in which nothing happens makes no checkpoints.
        #expect(try await errors(after: 5_000) == [])
        try await scenario.foreignConnection().write { db in try db.execute(sql: "INSERT INTO lists(id) VALUES ('a')") }
        #expect(try await errors(after: 290) == [])
        #expect(try await errors(after: 310) == ["warning: No replicated commit in more than s"])
        #expect(try await errors(after: 910) == ["fatal: No replicated commit in more than s"])
        try await scenario.replicate()
        #expect(try await errors(after: 5_000) == [])
    }
}
