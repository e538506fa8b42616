import MySQLTestSupport
import PowerSyncProtocol
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService

/// A whole service over MySQL or MariaDB, as clients and operators see it.
@Suite(.timeLimit(.minutes(2))) struct MySQLServiceTests {
    private typealias Admin = AdminScenario
    private typealias Scenario = ServiceScenario

    private static let tables = [
        "CREATE TABLE lists (id VARCHAR(40) PRIMARY KEY, owner_id VARCHAR(40), name VARCHAR(100))",
        "CREATE TABLE todos (id VARCHAR(40) PRIMARY KEY, list_id VARCHAR(40), title TEXT)",
        "CREATE TABLE settings (id VARCHAR(40) PRIMARY KEY, value TEXT)",
        "INSERT INTO lists VALUES ('l1', 'u1', 'first'), ('l2', 'u2', 'of somebody else')",
        "INSERT INTO todos VALUES ('t1', 'l1', 'one'), ('t2', 'l2', 'two')",
    ]

    /// The log of a server that is idle ends where its head is: nothing is written to it for a write checkpoint.
    @Test func aWriteCheckpointComesBackWhenNoRowIsWritten() async throws {
        let server = try await TestMySQLServer()
        let database = try await TestMySQLDatabase(server: server.address, Self.tables)
        var settings = MySQLSettings(uri: database.uri)
        settings.tls = .disable
        try await Scenario.run(configure: { [settings] in
            $0.source = .mysql(settings)
            $0.development.writeEndpoint = false
        }) { scenario in
            let token = try scenario.token()
            var stream = try await scenario.stream(token, ["client_id": "c1"])
            while let line = try await stream.summary(), !line.hasPrefix("complete") {}
            var times: [Duration] = []
            for number in 1...9 {
                switch number % 3 {
                case 0: break
                // The head moves, and no transaction follows.
                case 1: try await database.run("FLUSH BINARY LOGS")
                default: try await database.run("CREATE DATABASE other_\(database.name)_\(number)")
                }
                let end = try await database.run(TestMySQL.isMySQL ? "SHOW BINARY LOG STATUS" : "SHOW MASTER STATUS")
                let start = ContinuousClock.now
                let reply = try await scenario.send("GET", "/write-checkpoint2.json?client_id=c1", token: token)
                #expect(reply.body == #"{"data":{"write_checkpoint":"\#(number)"}}"#)
                while let line = try await stream.summary(), !line.contains(" write \(number)") {}
                times.append(ContinuousClock.now - start)
                let after = try await database.run(TestMySQL.isMySQL ? "SHOW BINARY LOG STATUS" : "SHOW MASTER STATUS")
                // MariaDB writes by itself soon after FLUSH.
                if number.isMultiple(of: 3) { #expect(after == end) }
            }
            // Other work of the machine may be in the way of some.
            for kind in 0..<3 {
                let fastest = try #require(stride(from: kind, to: 9, by: 3).map { times[$0] }.min())
                #expect(fastest < .milliseconds(500), "\(times)")
            }
        }
    }

    @Test func clientsAndOperatorsAreServed() async throws {
        let database = try await TestMySQLDatabase(Self.tables)
        var settings = MySQLSettings(uri: database.uri)
        settings.tls = .disable
        try await Admin.run(configure: { [settings] in $0.source = .mysql(settings) }) { scenario in
            func data(_ route: String, _ body: String = "{}") async throws -> JSONObject {
                let path = "/api/admin/v1/\(route)"
                let reply = try await scenario.send("POST", path, token: Admin.token, body: body)
                #expect(reply.status == 200, "\(reply.body)")
                return try reply.json.object("data")
            }
            var stream = try await scenario.stream(try scenario.token())
            var received = ""
            while let line = try await stream.next() {
                received += line.text
                if line.summary.hasPrefix("complete") { break }
            }
            #expect(received.contains(#""l1""#) && !received.contains(#""l2""#), "\(received)")
            try await database.run("INSERT INTO todos VALUES ('t3', 'l1', 'three')")
            // The end of the first checkpoint may come in parts, by priorities.
            while let line = try await stream.next(), !line.text.contains(#""t3""#) {}

            let diagnostics = try await data("diagnostics")
            let connection = try #require(diagnostics.objects("connections").first)
            #expect(connection["connected"] == .bool(true))
            #expect(connection.objects("errors").isEmpty)
            let active = diagnostics.object("active_sync_rules")
            #expect(active.text("state") == "ACTIVE")
            let replicated = try #require(active.objects("connections").first)
            #expect(replicated["initial_replication_done"] == .bool(true))
            // The file of the log, the offset in it, and the file's mark.
            let position = try #require(replicated.text("last_lsn"))
            #expect(position.wholeMatch(of: /0000-[0-9]{10}-[0-9A-F]{12}-[0-9A-F]{8}/) != nil, "\(position)")
            #expect(replicated.text("wal_status") == "reserved")
            #expect(
                replicated.objects("tables").compactMap { $0.text("name") }.sorted() == ["lists", "settings", "todos"]
            )
            // What the dashboard and `powersync status` show.
            let shown = diagnostics.object("service").object("replication")
            #expect(shown.text("source")?.contains(database.name) == true)
            #expect(shown["error"] == nil)
            #expect(diagnostics.text.contains("tests:tests") == false)

            let schema = try await data("schema")
            #expect(schema.text("defaultSchema") == database.name)
            let tables = try #require(
                schema.objects("connections").first?.objects("schemas").first { $0.text("name") == database.name }
            )
            let lists = try #require(tables.objects("tables").first { $0.text("name") == "lists" })
            #expect(lists.objects("columns").map { $0.text("name") ?? "" } == ["id", "owner_id", "name"])
            #expect(lists.objects("columns").first?.text("sqlite_type") == "text")
            #expect(lists.objects("columns").first?.text("internal_type")?.lowercased() == "varchar(40)")

            let config =
                "config: {edition: 3}\\nstreams: {a: {query: SELECT id, nothing FROM lists}, b: {query: SELECT * FROM nowhere}}"
            let findings = try await data("validate", #"{"sync_rules": "\#(config)"}"#).objects("errors")
            #expect(findings.contains { $0.text("message")?.contains("nothing") == true }, "\(findings)")
            #expect(findings.contains { $0.text("message")?.contains("nowhere") == true }, "\(findings)")
        }
    }
}
