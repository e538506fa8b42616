import Foundation
import PowerSyncProtocol
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService
@testable import PowerSyncServiceCore
@testable import PowerSyncAuth

/// What a user would get is what a client of that user gets.
@Suite(.timeLimit(.minutes(2))) struct ClientPreviewTests {
    private typealias Scenario = ServiceScenario

    private static let syncConfig = """
        config: {edition: 3}
        streams:
          lists:
            auto_subscribe: true
            priority: 1
            query: SELECT id, name FROM lists WHERE owner_id = auth.user_id()
          todos:
            auto_subscribe: true
            query: SELECT id, list_id, title FROM todos WHERE list_id IN (SELECT id FROM lists WHERE owner_id = auth.user_id())
          named:
            query: SELECT id, name FROM lists WHERE name = subscription.parameter('name')
          chosen:
            auto_subscribe: true
            query: SELECT id, name FROM lists WHERE name = connection.parameter('name')
          settings:
            auto_subscribe: true
            query: SELECT id, value FROM settings WHERE value = auth.parameter('role')
        """

    /// The rows and buckets of a client that reads its stream to the end.
    private struct Client {
        /// Name, priority and operations of each bucket.
        var buckets: Set<String> = []
        /// The keys of the puts of each bucket, with their rows.
        var puts: [String: [String: (row: String, bytes: Int)]] = [:]

        init(_ stream: inout StreamReader) async throws {
            while let line = try await stream.next() {
                for bucket in line.object("checkpoint").objects("buckets") {
                    buckets.insert(
                        "\(bucket.text("bucket") ?? "") \(bucket.text("priority") ?? "") \(bucket.text("count") ?? "")"
                    )
                }
                let data = line.object("data")
                for operation in data.objects("data") {
                    let row = "\(operation.text("object_type") ?? "")/\(operation.text("object_id") ?? "")"
                    let key = "\(row)/\(operation.text("subkey") ?? "")"
                    let bytes = operation.text("op") == "PUT" ? operation.text("data")?.utf8.count ?? 0 : nil
                    puts[data.text("bucket") ?? "", default: [:]][key] = bytes.map { (row, $0) }
                }
                if line["checkpoint_complete"] != nil { return }
            }
        }

        var tables: [String: Int] {
            let rows = Set(puts.values.flatMap { $0.values.map(\.row) })
            return Dictionary(rows.map { (String($0.prefix { $0 != "/" }), 1) }, uniquingKeysWith: +)
        }
    }

    private static func token(_ user: String, _ claims: JSONObject) -> String {
        var token = TestToken()
        let now = Int64(Date().timeIntervalSince1970)
        token.payload.merge(claims.members)
        (token.payload["sub"], token.payload["iat"]) = (.string(user), .integer(now))
        token.payload["exp"] = .integer(now + 3600)
        return token.signed(with: JSONWebKey(id: "test-1", algorithm: .hs256, material: .symmetric(Scenario.secret)))
    }

    @Test func itIsWhatAClientGets() async throws {
        try await AdminScenario.run {
            $0.syncConfig = .content(Self.syncConfig)
        } _: { scenario in
            var random = SeededGenerator(seed: 7)
            for _ in 0..<12 {
                try await scenario.write(
                    (0..<30).map { _ in
                        let id = "\(random.number(below: 40))"
                        let (user, name) = ("u\(random.number(below: 3))", "n\(random.number(below: 3))")
                        switch random.number(below: 6) {
                        case 0, 1: return Scenario.put("lists", id, ["owner_id": .string(user), "name": .string(name)])
                        case 2, 3:
                            return Scenario.put("todos", id, ["list_id": .string(id), "title": .string("ä\"\(user)")])
                        case 4: return Scenario.put("settings", id, ["value": .string(name)])
                        default: return Scenario.delete(["lists", "todos"][random.number(below: 2)], id)
                        }
                    }
                )
            }
            try await scenario.settle()
            for user in ["u0", "u1", "u2", "nobody"] {
                for isPlain in [true, false] {
                    let claims: JSONObject = isPlain ? [:] : ["role": "n1"]
                    var asked: JSONObject = ["raw_data": true]
                    if !isPlain {
                        asked["parameters"] = .object(["name": "n0"])
                        let subscription: JSONObject = [
                            "stream": "named", "parameters": .object(["name": "n2"]), "override_priority": 2,
                        ]
                        asked["streams"] = .object([
                            "include_defaults": true, "subscriptions": .array([.object(subscription)]),
                        ])
                    }
                    var stream = try await scenario.stream(Self.token(user, claims), asked)
                    let client = try await Client(&stream)

                    var body: JSONObject = ["user_id": .string(user), "claims": .object(claims)]
                    for name in ["parameters", "streams"] { if let value = asked[name] { body[name] = value } }
                    let preview = try await scenario.dashboard("user", body: body)
                    #expect(preview["isCounted"] == .bool(true))
                    let buckets = preview.objects("buckets")
                    let names = buckets.map {
                        "\($0.text("name") ?? "") \($0.text("priority") ?? "") \($0.text("operations") ?? "")"
                    }
                    #expect(Set(names) == client.buckets, "\(user)")
                    for bucket in buckets {
                        let puts = client.puts[bucket.text("name") ?? ""] ?? [:]
                        #expect(bucket.text("rows") == "\(Set(puts.values.map(\.row)).count)")
                        #expect(bucket.text("bytes") == "\(puts.values.reduce(0) { $0 + $1.bytes })")
                    }
                    let tables = preview.objects("tables").map {
                        ($0.text("name") ?? "", $0.text("rows").flatMap { Int($0) } ?? 0)
                    }
                    #expect(Dictionary(uniqueKeysWithValues: tables) == client.tables)
                    #expect(user == "nobody" && isPlain || !client.tables.isEmpty)
                }
            }
        }
    }

    @Test func wrongQuestionsAreRefused() async throws {
        try await AdminScenario.run { scenario in
            for body in [
                "{}", #"{"user_id":1}"#, #"{"user_id":"u","claims":[]}"#, #"{"user_id":"u","parameters":1}"#,
                #"{"user_id":"u","streams":{"subscriptions":[{"stream":1}]}}"#, "{",
            ] {
                let reply = try await scenario.send("POST", "/dashboard/user", token: AdminScenario.token, body: body)
                #expect(reply.status == 400, "\(body): \(reply.body)")
            }
        }
    }

    @Test func tooManyBucketsAreToldAsTheClientIsTold() async throws {
        try await AdminScenario.run {
            $0.limits.maxBucketsPerConnection = 0
        } _: { scenario in
            let body = #"{"user_id":"u1"}"#
            let reply = try await scenario.send("POST", "/dashboard/user", token: AdminScenario.token, body: body)
            #expect(reply.status == 500)
            #expect(try reply.error("code") == "PSYNC_S2305")
        }
    }
}
