import Foundation
import PowerSyncProtocol
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService
@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// What operators see over HTTP.
@Suite(.timeLimit(.minutes(2))) struct AdminDiagnosticsTests {
    private typealias Admin = AdminScenario
    private typealias Scenario = ServiceScenario

    @Test func diagnosticsTellWhatIsReplicated() async throws {
        let folder = try TemporaryFolder()
        try await Admin.runDeployed(in: folder) { scenario in
            var stream = try await scenario.stream(try scenario.token())
            _ = try await stream.untilComplete()
            func diagnostics(_ body: String?) async throws -> JSONObject {
                let reply = try await scenario.send("POST", "/api/admin/v1/diagnostics", token: Admin.token, body: body)
                #expect(reply.status == 200, "\(reply.body)")
                return try reply.json.object("data")
            }
            let data = try await diagnostics(nil)
            let connection = try #require(data.objects("connections").first)
            #expect(connection.text("id") == "default")
            #expect(connection["connected"] == .bool(true))
            #expect(connection.objects("errors").isEmpty)
            let active = data.object("active_sync_rules")
            #expect(active["content"] == nil)
            #expect(active.text("state") == "ACTIVE")
            #expect(active.objects("errors").isEmpty, "\(active.text)")
            let replicated = try #require(active.objects("connections").first)
            #expect(replicated["initial_replication_done"] == .bool(true))
            #expect(replicated.text("last_lsn") != nil)
            #expect(replicated.text("last_checkpoint_ts") != nil)
            let lists = try #require(replicated.objects("tables").first { $0.text("name") == "lists" })
            #expect(lists["parameter_queries"] == .bool(true))
            #expect(data.object("service").object("clients").text("streams") == "1")

            #expect(active["version_label"] == nil)
            let labelled = try await scenario.service.deploy(syncConfig: Scenario.syncConfig, versionLabel: "release 7")
            #expect(labelled.outcome == .relabelled && labelled.streamID == 1)
            let relabelled = try await diagnostics(nil)
            #expect(relabelled.object("active_sync_rules").text("version_label") == "release 7")
            #expect(relabelled.object("active_sync_rules").text("stream_id") == "1")
            #expect(relabelled["deploying_sync_rules"] == nil)
            let shown = relabelled.object("service").object("replication").objects("streams")
            #expect(shown.map { $0.text("versionLabel") } == ["release 7"])

            try await Admin.withLockedSource(of: folder) {
                try await scenario.service.deploy(syncConfig: Admin.otherConfig)
                let data = try await diagnostics(#"{"sync_rules_content":true,"unknown":1}"#)
                #expect(data.object("active_sync_rules").text("content") == Scenario.syncConfig)
                let next = data.object("deploying_sync_rules")
                #expect(next.text("content") == Admin.otherConfig)
                #expect(next.text("state") == "PROCESSING")
                #expect(next.objects("connections").first?["initial_replication_done"] == .bool(false))
            }
            let wrong = try await scenario.send(
                "POST",
                "/api/admin/v1/diagnostics",
                token: Admin.token,
                body: #"{"sync_rules_content":"x"}"#
            )
            #expect(wrong.status == 400)
        }
    }

    /// One that keeps parts has no stream of its own, also when another one was abandoned in between.
    @Test func diagnosticsTellWhatBecomesOfEachStream() async throws {
        let folder = try TemporaryFolder()
        try await Admin.runDeployed(in: folder) { scenario in
            var stream = try await scenario.stream(try scenario.token())
            _ = try await stream.untilComplete()
            try await Admin.withLockedSource(of: folder) {
                try await scenario.service.deploy(syncConfig: Admin.otherConfig)
                let more = Scenario.syncConfig + "\n  names:\n    query: SELECT id, name AS title FROM lists\n"
                try await scenario.service.deploy(syncConfig: more)
                let reply = try await scenario.send(
                    "POST",
                    "/api/admin/v1/diagnostics",
                    token: Admin.token,
                    body: #"{"sync_rules_content":true}"#
                )
                let next = try reply.json.object("data").object("deploying_sync_rules")
                #expect(next.text("content") == more)
                let changes = next.objects("streams").map { "\($0.text("name") ?? "") \($0.text("change") ?? "")" }
                #expect(changes == ["lists kept", "todos kept", "settings kept", "names read"])
            }
        }
    }

    /// A storage whose server does not answer.
    private struct UnreachableStorage: ForwardingStorage {
        struct Unreachable: Error {}

        let storage: SQLiteBucketStorage

        func streams() async throws -> [ReplicationStream] { throw Unreachable() }

        func size() async throws -> Int64 { throw Unreachable() }
    }

    @Test func withoutItsStorageAServiceTellsWhatItKnows() async throws {
        let scenario = try SourceScenario()
        let storage = UnreachableStorage(storage: scenario.storage)
        let routes = AdminRoutes(
            tokens: AdminTokens([Admin.token]),
            storage: storage,
            source: scenario.source,
            connection: AdminRoutes.Connection(uri: "the source", defaultSchema: "main"),
            deployer: SyncConfigDeployer(storage: storage, logger: scenario.logger),
            isConfigured: false,
            failure: { AdminRoutes.Failure(finding: Finding(.error, .source, "Replication failed"), date: Date()) },
            usage: { try await ["bytes": .integer(storage.size())] },
            clock: ContinuousClock(),
            now: { Date() },
            queue: ConcurrencyQueue(maximumRunning: 1, maximumWaiting: 0)
        )
        let data = try await routes.diagnostics(includesContent: true, includesService: true)
        let connection = try #require(data.objects("connections").first)
        #expect(connection["connected"] == .bool(true))
        #expect(connection.objects("errors").map { $0.text("message") ?? "" } == ["Replication failed"])
        let finding = try #require(data.object("storage").objects("errors").first)
        #expect(finding.text("level") == "fatal")
        #expect(finding.text("message") == "The bucket storage cannot be read: Unreachable()")
        #expect(data["active_sync_rules"] == nil)
        #expect(data["service"] == nil)
    }

    @Test func theSchemaOfTheSourceIsShown() async throws {
        try await Admin.run { scenario in
            let reply = try await scenario.send("POST", "/api/admin/v1/schema", token: Admin.token)
            let data = try reply.json.object("data")
            #expect(data.text("defaultConnectionTag") == "default")
            #expect(data.text("defaultSchema") == "main")
            let schema = try #require(data.objects("connections").first?.objects("schemas").first)
            #expect(schema.text("name") == "main")
            #expect(schema.objects("tables").map { $0.text("name") ?? "" } == ["lists", "settings", "todos"])
            let column = try #require(schema.objects("tables").first?.objects("columns").first)
            #expect(column.text("name") == "id")
            #expect(column.text("sqlite_type") == "text")
            #expect(column.text("internal_type") == "TEXT")
        }
    }

    @Test func noSQLIsRun() async throws {
        try await Admin.run { scenario in
            let body = #"{"sql":{"query":"SELECT 1","args":[]}}"#
            let reply = try await scenario.send("POST", "/api/admin/v1/execute-sql", token: Admin.token, body: body)
            #expect(reply.status == 200)
            #expect(try reply.json.object("data")["success"] == .bool(false))
            #expect(try reply.json.object("data").text("error") == "SQL querying is not enabled")
        }
    }
}
