import Foundation
import Logging
import PowerSyncProtocol
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// What the dashboard is made of, over HTTP.
@Suite(.timeLimit(.minutes(2))) struct DashboardRoutesTests {
    private typealias Admin = AdminScenario
    private typealias Scenario = ServiceScenario

    /// Everything that says something about the service.
    private static let routes = [
        ("GET", "/dashboard/events"), ("GET", "/dashboard/clients"), ("GET", "/dashboard/buckets"),
        ("GET", "/dashboard/config"), ("POST", "/dashboard/user"), ("GET", "/dashboard/streams"),
        ("GET", "/dashboard/recent"), ("GET", "/dashboard/history"), ("GET", "/dashboard/service"),
    ]

    private static func body(_ method: String) -> String? { method == "POST" ? #"{"user_id":"u1"}"# : nil }

    // MARK: Access

    @Test func whatIsShownNeedsAToken() async throws {
        try await Admin.run { scenario in
            let client = try scenario.token()
            for (method, path) in Self.routes {
                for wrong in [nil, "wrong", "", Admin.token + "x", client] {
                    let reply = try await scenario.send(method, path, token: wrong, body: Self.body(method))
                    #expect(reply.status == 401, "\(path) \(wrong ?? "none")")
                    #expect(try reply.error("code") == "PSYNC_S2101")
                }
                let status = try await scenario.status(method, path, token: Admin.token, body: Self.body(method))
                #expect(status == 200, "\(path)")
                #expect(
                    try await scenario.status(method, path + "?token=\(Admin.token)", body: Self.body(method)) == 401
                )
            }
        }
    }

    @Test func withoutTokensThereIsNoDashboard() async throws {
        try await Scenario.run { scenario in
            for (method, path) in Self.routes + [("GET", "/dashboard"), ("GET", "/dashboard/script.js")] {
                let reply = try await scenario.send(method, path, body: Self.body(method))
                #expect(reply.status == 404, "\(path)")
            }
        }
    }

    @Test func whileDevelopingTheKeyOfTheProcessIsNeeded() async throws {
        try await Scenario.run {
            $0.development.dashboard = true
        } _: { scenario in
            let url = try #require(scenario.service.dashboardURL(at: scenario.address))
            let parts = url.components(separatedBy: "/dashboard#key=")
            try #require(parts.count == 2 && parts[0] == scenario.address.url && parts[1].utf8.count == 64)
            let key = parts[1]
            for (method, path) in Self.routes {
                // As a page of this machine asks, and as a proxy on this machine asks for everybody.
                for headers in [[:], ["Host": "localhost"], ["Origin": scenario.address.url]] {
                    let body = Self.body(method)
                    #expect(try await scenario.status(method, path, headers: headers, body: body) == 401, "\(path)")
                    #expect(
                        try await scenario.status(method, path, token: key, headers: headers, body: body) == 200,
                        "\(path) \(headers)"
                    )
                }
            }
            // The admin API stays closed.
            #expect(try await scenario.status("POST", "/api/admin/v1/diagnostics", token: key, body: "{}") == 401)
        }
    }

    @Test func aKeyIsForOneProcess() async throws {
        let keys = Set((0..<10).map { _ in SyncService.makeDashboardKey() })
        #expect(keys.count == 10)
        try await Admin.run { scenario in
            #expect(scenario.service.dashboardURL(at: scenario.address) == scenario.address.url + "/dashboard")
        }
        try await Scenario.run { scenario in
            #expect(scenario.service.dashboardURL(at: scenario.address) == nil)
        }
    }

    @Test(arguments: [
        "/dashboard", "/dashboard/", "//dashboard", "///dashboard//", "/dashboard//clients", "//dashboard/clients",
        "/dashboard/script.js", "//dashboard//script.js", "/dashboard/nothing", "/d%61shboard",
        "/%64ashboard//clients",
    ])
    func otherPagesReadNothing(_ path: String) async throws {
        try await Admin.run { scenario in
            let headers = ["Origin": "https://evil.example", "Access-Control-Request-Method": "GET"]
            for method in ["GET", "HEAD", "OPTIONS"] {
                let reply = try await scenario.send(method, path, token: Admin.token, headers: headers)
                let allowed = reply.headers.keys.filter { $0.hasPrefix("access-control-") }
                #expect(allowed.isEmpty, "\(method) \(reply.status)")
            }
        }
    }

    // MARK: The page

    @Test func thePageRunsOnlyWhatTheServiceServes() async throws {
        try await Admin.run { scenario in
            let page = try await scenario.send("GET", "/dashboard")
            #expect(page.status == 200)
            #expect(page.headers["content-type"] == "text/html; charset=utf-8")
            let policy = try #require(page.headers["content-security-policy"])
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self';"))
            #expect(!policy.contains("unsafe") && !policy.contains("*"))
            #expect(page.headers["x-content-type-options"] == "nosniff")
            #expect(page.headers["referrer-policy"] == "no-referrer")
            #expect(page.headers["access-control-allow-origin"] == nil)
            // Scripts and styles are files of their own.
            #expect(!page.body.contains("<style") && !page.body.contains(" style=") && !page.body.contains(" onclick"))
            #expect(page.body.components(separatedBy: "<script").count == 2)
            for (name, type) in [
                ("script.js", "text/javascript"), ("style.css", "text/css"), ("icon.svg", "image/svg+xml"),
            ] {
                #expect(page.body.contains("\"dashboard/\(name)\""))
                let file = try await scenario.send("GET", "/dashboard/" + name)
                #expect(file.status == 200)
                #expect(file.headers["content-type"]?.hasPrefix(type) == true)
                #expect(!file.body.contains("innerHTML"))
            }
            #expect(try await scenario.send("GET", "/dashboard/other").status == 404)
        }
    }

    // MARK: Snapshots

    @Test func aSnapshotShowsWhoIsConnected() async throws {
        try await Admin.run { scenario in
            try await scenario.write(Scenario.put("lists", "a", ["owner_id": "u1", "name": "x"]))
            try await scenario.settle()
            var reader = try await WatchedSnapshots(scenario)
            let empty = try await reader.next { $0.clients.streams == 0 }
            #expect(empty.clients.list.isEmpty)
            #expect(empty.replication.streams.map(\.state) == ["ACTIVE"])
            #expect(empty.replication.rows >= 1)
            #expect(empty.storage.bytes > 0)
            #expect(empty.storage.problems.isEmpty)

            var stream = try await scenario.stream(try scenario.token("u1"), ["raw_data": true, "client_id": "device"])
            _ = try await stream.untilComplete()
            let snapshot = try await reader.next { $0.clients.list.first?.activity == .waitingForCheckpoint }
            let client = try #require(snapshot.clients.list.first)
            #expect(snapshot.clients.streams == 1)
            #expect(snapshot.clients.users == 1)
            #expect(snapshot.clients.activities == ["waitingForCheckpoint": 1])
            #expect(client.user == "u1")
            #expect(client.client == "device")
            #expect(client.format == "ndjson")
            #expect(client.buckets == 2)
            #expect(client.bucketsLeft == 0)
            #expect(client.operations == 1)
            #expect(client.bytes == stream.byteCount)
            #expect(client.checkpoint == client.completed && client.checkpoint != nil)

            try await scenario.write(Scenario.put("lists", "b", ["owner_id": "u1", "name": "y"]))
            let later = try await reader.next { ($0.clients.list.first?.operations ?? 0) > 1 }
            #expect(later.clients.operations == snapshot.clients.operations + 1)
            withExtendedLifetime(stream) {}
            stream = try await scenario.stream(try scenario.token("u2"))
            let next = try await reader.next { $0.clients.list.map(\.user) == ["u2"] }
            // What those have sent who have left counts.
            #expect(next.clients.operations == later.clients.operations)
            withExtendedLifetime(stream) {}
        }
    }

    /// What clients may wait for.
    @Test(arguments: [ClientStreamActivity.waitingForSlot, .waitingForMemory])
    func aSnapshotShowsWhatAClientWaitsFor(_ activity: ClientStreamActivity) async throws {
        try await Admin.run {
            if activity == .waitingForSlot { $0.limits.maxDataFetchConcurrency = 0 }
            if activity == .waitingForMemory { $0.limits.maxReadAheadBytes = 0 }
        } _: { scenario in
            try await scenario.write(Scenario.put("lists", "a", ["owner_id": "u1", "name": "x"]))
            var reader = try await WatchedSnapshots(scenario)
            _ = try await reader.next { $0.replication.rows >= 1 && $0.replication.streams.first?.checkpoint != "0" }
            let stream = try await scenario.stream(try scenario.token("u1"))
            let snapshot = try await reader.next { $0.clients.list.first?.activity == activity }
            let client = try #require(snapshot.clients.list.first)
            #expect(client.completed == nil)
            #expect(client.downloads > 0 && client.bucketsLeft == client.downloads)
            #expect(client.activeSince <= snapshot.time)
            withExtendedLifetime(stream) {}
        }
    }

    @Test func watchersLeaveAndAreLimited() async throws {
        try await Admin.run { scenario in
            var readers: [WatchedSnapshots] = []
            for _ in 0..<DashboardRoutes.maximumWatchers { readers.append(try await WatchedSnapshots(scenario)) }
            let path = "/dashboard/events"
            #expect(try await scenario.status("GET", path, token: Admin.token) == 429)
            // The service does not wait for them when it ends.
        }
    }

    // MARK: Lists

    @Test func listsAreEmptyUntilTheFirstCopyIsComplete() async throws {
        let folder = try TemporaryFolder()
        var configuration = ServiceScenario.configuration(in: folder)
        configuration.admin.tokens = [Admin.token]
        configuration.syncConfig = .deployed
        let service = try SyncService(configuration: configuration, logger: ServiceScenario.logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            // Ended by its cancellation.
            group.addTask { try? await service.run() }
            let scenario = ServiceScenario(address: try await service.waitUntilListening(), service: service)
            for list in ["buckets", "streams", "clients", "recent"] {
                #expect(try await scenario.dashboard(list).text("total") == "0", "\(list)")
            }
            let usage = try await scenario.send("POST", "/api/admin/v1/usage", token: Admin.token)
            #expect(usage.status == 200, "\(usage.body)")
            group.cancelAll()
        }
    }

    @Test func listsAreSearchedAndShownInParts() async throws {
        try await Admin.run { scenario in
            var streams: [StreamReader] = []
            for user in ["anna", "bert", "Annabel"] {
                let rows = (0..<user.count).map { Scenario.put("lists", "\(user)\($0)", ["owner_id": .string(user)]) }
                try await scenario.write(rows)
                streams.append(
                    try await scenario.stream(try scenario.token(user), ["client_id": .string("c-\(user)")])
                )
            }
            try await scenario.settle()
            for index in streams.indices { _ = try await streams[index].next() }

            let all = try await scenario.dashboard("buckets")
            let names = all.objects("buckets").compactMap { $0.text("name") }
            #expect(names.prefix(3) == [#"1#lists|0["Annabel"]"#, #"1#lists|0["anna"]"#, #"1#lists|0["bert"]"#])
            #expect(all.objects("buckets").first?.text("operations") == "7")
            #expect(all.text("total") == "\(names.count)")
            let part = try await scenario.dashboard("buckets?search=%22Anna&offset=0&limit=1")
            #expect(part.text("total") == "1")
            let second = try await scenario.dashboard("buckets?offset=1&limit=1")
            #expect(second.objects("buckets").compactMap { $0.text("name") } == [names[1]])
            #expect(second.text("total") == all.text("total"))

            let found = try await scenario.dashboard("clients?search=ANNA")
            #expect(found.objects("clients").compactMap { $0.text("user") } == ["anna", "Annabel"])
            let last = try await scenario.dashboard("clients?search=c-&offset=2&limit=1")
            #expect(last.text("total") == "3")
            #expect(last.objects("clients").compactMap { $0.text("client") } == ["c-Annabel"])

            for wrong in ["offset=-1", "offset=x", "limit=0", "limit=201", "offset=99999999999999999999"] {
                for list in ["buckets", "clients"] {
                    #expect(
                        try await scenario.status("GET", "/dashboard/\(list)?\(wrong)", token: Admin.token) == 400,
                        "\(wrong)"
                    )
                }
            }
            withExtendedLifetime(streams) {}
        }
    }

    @Test func diagnosticsHaveASnapshotForTools() async throws {
        try await Admin.run { scenario in
            let reply = try await scenario.send("POST", "/api/admin/v1/diagnostics", token: Admin.token)
            let service = try reply.json.object("data").object("service")
            let snapshot = try JSONDecoder().decode(ServiceSnapshot.self, from: Data(service.text.utf8))
            #expect(snapshot.replication.streams.count == 1)
            #expect(try await scenario.dashboard("config")["service"] == nil)
        }
    }

    @Test func aSnapshotHasTheLastErrorsOfTheLog() async throws {
        try await Admin.run { scenario in
            let wrong = "no-token-at-all-31d8"
            #expect(try await scenario.status("POST", "/sync/stream", token: wrong) == 401)
            #expect(try await scenario.status("GET", "/dashboard/clients") == 401)
            for _ in 0..<2 {
                scenario.service.logger.warning("A table is left out", metadata: [LogKey.table: "lists"])
            }
            let reply = try await scenario.send("POST", "/api/admin/v1/diagnostics", token: Admin.token)
            let service = try reply.json.object("data").object("service")
            let errors = try JSONDecoder().decode(ServiceSnapshot.self, from: Data(service.text.utf8)).errors
            #expect(errors.contains { $0.message == "A table is left out" && $0.table == "lists" && $0.count == 2 })
            #expect(!errors.contains { $0.message == "Request failed" })
            #expect(!reply.body.contains(wrong))
        }
    }

    // MARK: The last hours

    @Test func whoWasConnectedIsRemembered() async throws {
        try await Admin.run { scenario in
            try await scenario.write(Scenario.put("lists", "a", ["owner_id": "u1", "name": "x"]))
            try await scenario.settle()
            for _ in 0..<2 {
                var stream = try await scenario.stream(try scenario.token("u1"), ["client_id": "device"])
                _ = try await stream.untilComplete()
                withExtendedLifetime(stream) {}
            }
            var reader = try await WatchedSnapshots(scenario)
            _ = try await reader.next { $0.clients.streams == 0 }
            let recent = try await scenario.dashboard("recent?search=DEV")
            #expect(recent.text("total") == "1")
            let client = try #require(recent.objects("clients").first)
            #expect(client.text("user") == "u1" && client.text("client") == "device")
            #expect(client.text("streams") == "2" && client.text("operations") == "2")
            #expect(try await scenario.dashboard("recent?search=nobody").text("total") == "0")
            let history = try await scenario.send("GET", "/dashboard/history", token: Admin.token)
            #expect(try history.json.objects("data").first?.text("streams") != nil)
        }
    }

    @Test func theLargestBucketsAreShownByStream() async throws {
        try await Admin.run { scenario in
            let rows = (0..<7).flatMap { user in
                (0...user).map { Scenario.put("lists", "l\(user)-\($0)", ["owner_id": .string("u\(user)")]) }
            }
            try await scenario.write(rows + [Scenario.put("todos", "t", ["list_id": "l1-0"])])
            try await scenario.write(Scenario.put("lists", "l6-0", ["owner_id": "u6", "name": "again"]))
            try await scenario.settle()
            let usage = try await scenario.dashboard("streams")
            let streams = usage.objects("streams")
            #expect(streams.compactMap { $0.text("name") } == ["lists", "todos"])
            #expect(streams.first?.text("buckets") == "7" && streams.first?.text("operations") == "29")
            let largest = streams.first?.objects("largest") ?? []
            #expect(largest.count == StreamUsage.shownBuckets)
            #expect(largest.first?.text("name") == #"1#lists|0["u6"]"#)
            // Eight operations, of which one has replaced another.
            #expect(largest.first?.text("operations") == "8" && largest.first?.text("rows") == "7")
            let admin = try await scenario.send("POST", "/api/admin/v1/usage", token: Admin.token)
            #expect(try admin.json.object("data").object("buckets") == usage)
            #expect(try admin.json.object("data").object("recent_clients").text("total") != nil)
        }
    }

    @Test func theProcessSaysWhatItIs() async throws {
        try await Admin.run {
            $0.limits.maxStreamsPerUser = 7
        } _: { scenario in
            let facts = try await scenario.dashboard("service")
            #expect(facts.text("version") == PackageVersion.current && facts.text("role") == "unified")
            #expect(facts.object("limits").text("max_streams_per_user") == "7")
            #expect(facts.object("limits").members.count == 6)
        }
    }

    // MARK: Rows

    @Test func rowsNeedTheTokenOfTheirUser() async throws {
        try await Admin.run { scenario in
            try await scenario.write([
                Scenario.put("lists", "a", ["owner_id": "u1", "name": "mine"]),
                Scenario.put("lists", "b", ["owner_id": "u2", "name": "other"]),
            ])
            try await scenario.settle()
            let body: JSONObject = ["token": .string(try scenario.token("u1"))]
            let answer = try await scenario.dashboard("rows", body: body)
            #expect(answer.text("total") == "1")
            let row = try #require(answer.objects("rows").first)
            #expect(row.text("table") == "lists" && row.text("id") == "a")
            #expect(row.text("data") == #"{"id":"a","name":"mine"}"#)
            for wrong in [#"{"token":"x"}"#, #"{"token":"\#(Admin.token)"}"#, "{}", #"{"user_id":"u1"}"#] {
                let status = try await scenario.status("POST", "/dashboard/rows", token: Admin.token, body: wrong)
                #expect(status == 400, "\(wrong)")
            }
            // The user's token alone shows nothing.
            let token = try scenario.token("u1")
            #expect(try await scenario.status("POST", "/dashboard/rows", token: token, body: body.text) == 401)
        }
    }
}
