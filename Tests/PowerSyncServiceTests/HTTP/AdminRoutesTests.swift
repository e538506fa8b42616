import Foundation
import PowerSyncProtocol
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// What operators ask and do over HTTP.
@Suite(.timeLimit(.minutes(2))) struct AdminRoutesTests {
    private typealias Admin = AdminScenario
    private typealias Scenario = ServiceScenario

    /// A route with parameters that it accepts.
    struct Route: CustomTestStringConvertible {
        var method = "POST"
        var path: String
        var body = "{}"
        var testDescription: String { "\(method) \(path)" }
    }

    private static let routes = [
        Route(path: "/api/admin/v1/diagnostics"),
        Route(path: "/api/admin/v1/schema"),
        Route(path: "/api/admin/v1/validate", body: #"{"sync_rules":"streams: {}"}"#),
        Route(path: "/api/admin/v1/reprocess"),
        Route(path: "/api/admin/v1/execute-sql", body: #"{"sql":{"query":"SELECT 1","args":[]}}"#),
        Route(path: "/api/sync-rules/v1/deploy", body: #"{"content":"streams: {}"}"#),
        Route(path: "/api/sync-rules/v1/validate", body: #"{"content":"streams: {}"}"#),
        Route(path: "/api/sync-rules/v1/reprocess"),
        Route(method: "GET", path: "/api/sync-rules/v1/current"),
    ]

    private static func send(
        _ route: Route,
        _ scenario: ServiceScenario,
        token: String? = Admin.token,
        headers: [String: String] = [:]
    ) async throws -> ServiceScenario.Reply {
        let body = route.method == "GET" ? nil : route.body
        return try await scenario.send(route.method, route.path, token: token, headers: headers, body: body)
    }

    /// The status of the answer to the head of a request whose body does not come.
    private static func status(
        announcing length: Int,
        _ path: String,
        _ fields: [String],
        _ scenario: ServiceScenario
    ) async throws -> String? {
        try await RawConnection.connect(port: scenario.address.port) { connection in
            try await connection.send(RawRequests.request("POST \(path)", ["Content-Length: \(length)"] + fields))
            return RawRequests.statuses(of: try await connection.text(until: "}")).first
        }
    }

    // MARK: Tokens

    @Test func everyRouteNeedsAToken() async throws {
        try await Admin.run { scenario in
            let client = try scenario.token()
            for route in Self.routes {
                for wrong in [nil, "wrong", "", Admin.token + "x", String(Admin.token.dropLast()), client] {
                    let reply = try await Self.send(route, scenario, token: wrong)
                    #expect(reply.status == 401, "\(route.path) \(wrong ?? "none")")
                    #expect(try reply.error("code") == "PSYNC_S2101")
                }
                for scheme in ["", "Basic ", "Tokens "] {
                    let headers = ["Authorization": scheme + Admin.token]
                    #expect(try await Self.send(route, scenario, token: nil, headers: headers).status == 401)
                }
                let headers = ["Authorization": "Bearer " + Admin.token]
                #expect(
                    try await Self.send(route, scenario, token: nil, headers: headers).status != 401,
                    "\(route.path)"
                )
            }
            #expect(try await scenario.status("POST", "/sync/stream", token: Admin.token, body: "{}") == 401)
        }
    }

    @Test func withoutTokensTheRoutesAreOff() async throws {
        try await Scenario.run { scenario in
            for route in Self.routes {
                for token in [nil, "", "x"] {
                    let reply = try await Self.send(route, scenario, token: token)
                    #expect(reply.status == 401, "\(route.path)")
                }
            }
        }
    }

    @Test func nothingIsReadOfAStranger() async throws {
        try await Admin.run { scenario in
            for route in Self.routes where route.method == "POST" {
                let status = try await Self.status(
                    announcing: 1000,
                    route.path,
                    ["Authorization: Token wrong"],
                    scenario
                )
                #expect(status == "401", "\(route.path)")
            }
        }
    }

    // MARK: Bodies

    @Test func wrongBodiesAreRefused() async throws {
        let folder = try TemporaryFolder()
        try await Admin.runDeployed(in: folder) { scenario in
            for path in ["/api/sync-rules/v1/deploy", "/api/sync-rules/v1/validate", "/api/admin/v1/validate"] {
                for body in ["{", "", "{}", "[]", #"{"content":1,"sync_rules":null}"#] {
                    let reply = try await scenario.send("POST", path, token: Admin.token, body: body)
                    #expect(reply.status == 400, "\(path) \(body)")
                }
                for type in ["application/json", "application/yaml"]
                where !path.contains("admin") || type.contains("json") {
                    let fields = ["Authorization: Token \(Admin.token)", "Content-Type: \(type)"]
                    let status = try await Self.status(announcing: 1024 * 1024 + 1, path, fields, scenario)
                    #expect(status == "413", "\(path) \(type)")
                }
                let headers = ["Content-Type": "application/xml"]
                #expect(
                    try await scenario.send("POST", path, token: Admin.token, headers: headers, body: "x").status == 415
                )
            }
            let yaml = ["Content-Type": "application/yaml"]
            #expect(
                try await scenario.send(
                    "POST",
                    "/api/admin/v1/validate",
                    token: Admin.token,
                    headers: yaml,
                    body: "a: b"
                ).status == 415
            )
            #expect(try await scenario.service.deploy(syncConfig: Scenario.syncConfig).outcome == .unchanged)
        }
    }

    // MARK: Deploying

    @Test func aServiceGetsItsFirstConfigOverHTTP() async throws {
        let folder = try TemporaryFolder()
        var configuration = Scenario.configuration(in: folder)
        configuration.syncConfig = .deployed
        configuration.admin.tokens = [Admin.token]
        let service = try SyncService(configuration: configuration, logger: Scenario.logger, timing: Timing())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await service.whileRunning { running in
                    let scenario = ServiceScenario(address: running.address, service: running.service)
                    let reply = try await scenario.send("GET", "/api/sync-rules/v1/current", token: Admin.token)
                    #expect(try reply.json.object("data").object("current").text("content") == Scenario.syncConfig)
                }
            }
            let scenario = ServiceScenario(address: try await service.waitUntilListening(), service: service)
            for path in ["/api/sync-rules/v1/reprocess", "/api/admin/v1/reprocess"] {
                let reply = try await scenario.send("POST", path, token: Admin.token)
                #expect(reply.status == 422)
                #expect(try reply.error("code") == "PSYNC_S4104")
            }
            let none = try await scenario.send("GET", "/api/sync-rules/v1/current", token: Admin.token)
            #expect(none.status == 422)
            #expect(try none.error("code") == "PSYNC_S4104")
            let reply = try await scenario.send(
                "POST",
                "/api/sync-rules/v1/deploy",
                token: Admin.token,
                headers: ["Content-Type": "application/yaml; charset=utf-8"],
                body: Scenario.syncConfig
            )
            #expect(reply.status == 200)
            #expect(try reply.json.object("data").text("slot_name")?.hasPrefix("powersync_") == true)
            try await group.waitForAll()
        }
    }

    @Test func clientsGoOverToAConfigThatWasDeployedOverHTTP() async throws {
        let folder = try TemporaryFolder()
        try await Admin.runDeployed(in: folder) { scenario in
            var stream = try await scenario.stream(try scenario.token())
            #expect(try await stream.untilComplete().first?.contains("1#lists") == true)
            let body: JSONObject = ["content": .string(Admin.otherConfig), "unknown": .bool(true)]
            let reply = try await scenario.send(
                "POST",
                "/api/sync-rules/v1/deploy",
                token: Admin.token,
                body: body.text
            )
            #expect(reply.status == 200, "\(reply.body)")
            while try await stream.next() != nil {}
            var next = try await scenario.stream(try scenario.token())
            #expect(try await next.summary()?.contains("2#lists") == true)
        }
    }

    /// What is the same stays: said before, and after.
    @Test func aConfigWithPartsOfTheServedOneTakesItsPlace() async throws {
        let folder = try TemporaryFolder()
        try await Admin.runDeployed(in: folder) { scenario in
            var stream = try await scenario.stream(try scenario.token())
            #expect(try await stream.untilComplete().first?.contains("1#lists") == true)
            let body: JSONObject = ["content": .string(Admin.partlyOtherConfig)]
            let path = "/api/sync-rules/v1/deploy"
            let changes = [
                "my_lists kept renamed from lists", "todos read the queries of its rows changed",
                "settings removed no longer in the config",
            ]
            for query in ["?dry_run=true", "?dry_run=maybe", ""] {
                let reply = try await scenario.send("POST", path + query, token: Admin.token, body: body.text)
                guard query != "?dry_run=maybe" else {
                    #expect(reply.status == 400)
                    continue
                }
                #expect(reply.status == 200, "\(reply.body)")
                let data = try reply.json.object("data")
                let streams = data.objects("streams")
                let found = streams.map { entry in
                    ["name", "change", "reason"].map { entry.text($0) ?? "" }.joined(separator: " ")
                }
                #expect(found == changes)
                #expect(streams[1]["tables"] == .array([.string("todos")]))
                #expect(streams[1].object("estimated_rows").members.map(\.name) == ["main.todos"])
                #expect(streams.filter { $0["estimated_rows"] != nil }.count == 1)
                #expect(data["everything_is_read"] == nil)
                #expect(data.text("outcome") == (query.isEmpty ? "started" : nil))
            }
            while try await stream.next() != nil {}
            var next = try await scenario.stream(try scenario.token())
            let summary = try #require(try await next.summary())
            #expect(summary.contains("1#lists|0") && !summary.contains("1#my_lists"), "\(summary)")
        }
    }

    @Test func aBrokenConfigIsNotDeployed() async throws {
        let folder = try TemporaryFolder()
        try await Admin.runDeployed(in: folder) { scenario in
            let body: JSONObject = ["content": .string(Admin.brokenConfig)]
            let reply = try await scenario.send(
                "POST",
                "/api/sync-rules/v1/deploy",
                token: Admin.token,
                body: body.text
            )
            #expect(reply.status == 422)
            #expect(try reply.error("code") == "PSYNC_R0001")
            #expect(try reply.error("details")?.contains("sync.yaml:4:") == true)

            let diagnostics = try await scenario.send("POST", "/api/admin/v1/diagnostics", token: Admin.token)
            let data = try diagnostics.json.object("data")
            #expect(data.object("active_sync_rules").text("stream_id") == "1")
            #expect(data["deploying_sync_rules"] == nil)
            let rejected = data.object("rejected_sync_rules").objects("errors")
            #expect(rejected.first?.text("level") == "fatal")
            #expect(rejected.first?.text("message")?.contains("sync.yaml:4:") == true)
            #expect(rejected.first?.object("location").text("start_offset") != nil)
        }
    }

    @Test func aConfigOfTheServiceConfigurationIsChangedThere() async throws {
        try await Admin.run { scenario in
            let body: JSONObject = ["content": .string(Admin.otherConfig)]
            let reply = try await scenario.send(
                "POST",
                "/api/sync-rules/v1/deploy",
                token: Admin.token,
                body: body.text
            )
            #expect(reply.status == 422)
            #expect(try reply.error("code") == "PSYNC_S4105")
            #expect(try reply.error("details") == "Update sync config in the service configuration")
            // What it would do can be asked all the same.
            let dryRun = try await scenario.send(
                "POST",
                "/api/sync-rules/v1/deploy?dry_run=true",
                token: Admin.token,
                body: body.text
            )
            #expect(dryRun.status == 200)
            #expect(try !dryRun.json.object("data").objects("streams").isEmpty)
        }
    }

    @Test func theSourceIsCopiedAgain() async throws {
        let folder = try TemporaryFolder()
        try await Admin.run(in: folder) { scenario in
            try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": "a"]))
            try await scenario.settle()
            var stream = try await scenario.stream(try scenario.token())
            _ = try await stream.untilComplete()
            let path = "/api/sync-rules/v1/reprocess"
            for suffix in ["?force=1", ""] {
                let body = suffix.isEmpty ? #"{"force":true}"# : "{}"
                #expect(try await scenario.send("POST", path + suffix, token: Admin.token, body: body).status == 400)
            }
            try await Admin.withLockedSource(of: folder) {
                let reply = try await scenario.send("POST", path, token: Admin.token)
                #expect(reply.status == 200, "\(reply.body)")
                let slot = try reply.json.object("data").text("slot_name")
                let conflict = try await scenario.send(
                    "POST",
                    "/api/admin/v1/reprocess",
                    token: Admin.token,
                    body: "{}"
                )
                #expect(conflict.status == 409)
                #expect(try conflict.error("code") == "PSYNC_S4106")
                let current = try await scenario.send("GET", "/api/sync-rules/v1/current", token: Admin.token)
                let data = try current.json.object("data")
                #expect(data.object("next").text("slot_name") == slot)
                #expect(data.object("next").text("valid") == "true")
                #expect(data.object("current").text("slot_name") != slot)
            }
            while try await stream.next() != nil {}
            var next = try await scenario.stream(try scenario.token())
            #expect(try await next.summary()?.contains(#"2#lists|0["u1"] ×1"#) == true)
            let again = try await scenario.send("POST", "/api/admin/v1/reprocess", token: Admin.token)
            let connection = try again.json.object("data").objects("connections").first
            #expect(connection?.text("id") == "default")
            #expect(connection?.text("slot_name")?.isEmpty == false)
        }
    }

    // MARK: Checking

    @Test func aConfigIsChecked() async throws {
        try await Admin.run { scenario in
            let path = "/api/sync-rules/v1/validate"
            let yaml = ["Content-Type": "application/yaml"]
            let right = try await scenario.send(
                "POST",
                path,
                token: Admin.token,
                headers: yaml,
                body: Scenario.syncConfig
            )
            #expect(right.status == 200)
            #expect(right.body.hasPrefix("{\n  \"valid\": true,\n"))
            #expect(right.body.hasSuffix("}\n"))
            let tables = try right.json.objects("source_tables").map { $0.text("table") ?? "" }
            #expect(tables.sorted() == ["lists", "settings", "todos"])
            #expect(
                try right.json.object("data_tables").members.map(\.name).sorted() == ["lists", "settings", "todos"]
            )
            let wrong = try await scenario.send(
                "POST",
                path,
                token: Admin.token,
                headers: yaml,
                body: Admin.brokenConfig
            )
            #expect(wrong.status == 200)
            #expect(try wrong.json["valid"] == .bool(false))
            #expect(try wrong.json["errors"]?.text.contains("sync.yaml:4:") == true)
            // Nothing was deployed.
            #expect(try await scenario.service.deploy(syncConfig: Scenario.syncConfig).outcome == .unchanged)
        }
    }

    @Test func aConfigIsCheckedAgainstTheSource() async throws {
        try await Admin.run { scenario in
            func check(_ config: String) async throws -> JSONObject {
                let body: JSONObject = ["sync_rules": .string(config)]
                let reply = try await scenario.send(
                    "POST",
                    "/api/admin/v1/validate",
                    token: Admin.token,
                    body: body.text
                )
                #expect(reply.status == 200)
                return try reply.json.object("data")
            }
            let right = try await check(Admin.otherConfig)
            #expect(right.objects("errors").isEmpty)
            let table = try #require(right.objects("connections").first?.objects("tables").first)
            #expect(table.text("schema") == "main")
            #expect(table.text("name") == "lists")
            #expect(table["replication_id"] == .array([.string("id")]))
            #expect(table["data_queries"] == .bool(true))
            #expect(table["parameter_queries"] == .bool(false))

            let missing = try await check(
                Admin.otherConfig.replacingOccurrences(of: "FROM lists", with: "FROM nowhere")
            )
            #expect(missing.objects("errors").first?.text("level") == "warning")
            let entry = try #require(missing.objects("connections").first?.objects("tables").first)
            #expect(entry.objects("errors").first?.text("message") == "Table main.nowhere not found")

            let broken = try await check(Admin.brokenConfig)
            #expect(broken.objects("connections").isEmpty)
            #expect(broken.objects("errors").first?.text("level") == "fatal")
        }
    }
}
