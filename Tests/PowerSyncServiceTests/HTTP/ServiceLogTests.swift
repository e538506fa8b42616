import Foundation
import Logging
import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncAuth
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// What a service logs, and what it never does (docs/service.md "Metrics and logs").
@Suite(.timeLimit(.minutes(2))) struct ServiceLogTests {
    private typealias Scenario = ServiceScenario

    /// What a value of a row has, and nothing else.
    private static let value = "Groceries-of-7f3a91"

    /// Checks that no line, at whatever level, has one of some texts.
    private static func expectNone(of secrets: [String], in log: CollectedLog) {
        for secret in secrets {
            #expect(!secret.isEmpty)
            let lines = log.lines.filter { $0.contains(secret) }
            #expect(lines.isEmpty, "\(secret)")
        }
    }

    /// The lines at `info` and above.
    private static func shown(_ log: CollectedLog) -> [String] {
        log.lines.filter { line in !["debug ", "trace "].contains { line.hasPrefix($0) } }
    }

    /// Reads a stream until a value of a row has come.
    private static func readValue(_ stream: inout StreamReader) async throws {
        while let line = try await stream.next() {
            if line.text.contains(value) { return }
        }
        Issue.record("the stream has ended")
    }

    @Test func requestsBeforeTheFirstCheckpointAreNoErrors() {
        let none = ErrorEnvelope(BucketStorageError.noActiveStream)
        #expect(none == .noSyncConfig && none.logLevel == .info)
        #expect(ErrorEnvelope.shuttingDown.logLevel == .info)
        #expect(ErrorEnvelope(CancellationError()).logLevel == .error)
    }

    /// What strangers send is not for those who look for errors; a service that cannot check any token is.
    @Test func requestsThatAreRefusedAreNoErrors() {
        let overflow = UserStreams.Overflow(limit: 5)
        for error: any Error in [
            AuthorizationError(.tokenExpired, "JWT has expired"), overflow, ErrorEnvelope.validationFailed(["path"]),
            ErrorEnvelope.bodyTooLarge(limit: 1),
        ] {
            #expect(ErrorEnvelope(error).logLevel == .info, "\(error)")
        }
        for code in [ErrorCode.keySetRequest, .keySetAddressRange, .keySetHost, .authenticationConfiguration] {
            #expect(ErrorEnvelope(AuthorizationError(code, "JWKS")).logLevel == .error, "\(code)")
        }
        #expect(ErrorEnvelope.unhealthy("a file is gone").logLevel == .error)
    }

    // MARK: Secrets

    @Test func noLineHasATokenAKeyOrTheTextOfARow() async throws {
        let log = CollectedLog()
        let secrets = NIOLockedValueBox([
            Self.value, String(decoding: Scenario.secret, as: UTF8.self), Base64URL.encode(Scenario.secret),
        ])
        let admins = ["admin-token-of-55b2", "no-admin-token-77c4"]
        try await Scenario.run(
            log: log,
            configure: { configuration in
                configuration.admin.tokens = [admins[0]]
                configuration.development.dashboard = true
            }
        ) { scenario in
            let token = try scenario.token()
            let parts = token.split(separator: ".").map(String.init)
            try #require(parts.count == 3)
            let signature = Base64URL.encode(Array("not the signature of this".utf8))
            let expired = try scenario.token(lifetime: .seconds(60), now: Date(timeIntervalSinceNow: -10_000))
            let wrong = ["\(parts[0]).\(parts[1]).\(signature)", expired, "no-token-at-all-31d8"]
            let key = try #require(scenario.service.dashboardKey)
            secrets.withLockedValue { $0 += admins + wrong + [token, parts[1], parts[2], signature, key] }

            // What is right.
            try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": .string(Self.value)]))
            var stream = try await scenario.stream(token, ["client_id": "c1", "raw_data": true])
            try await Self.readValue(&stream)
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(.setup(token: token), .request(1, credit: 1))
                _ = try await peer.lines(1)
            }
            for path in ["/api/admin/v1/diagnostics", "/api/sync-rules/v1/reprocess"] {
                #expect(try await scenario.status("POST", path, token: admins[0], body: "{}") == 200)
            }

            // What cannot be written, or read.
            let unknown = Scenario.put("nowhere", "n1", ["name": .string(Self.value)])
            let upload: JSONObject = ["data": .array([.object(unknown)])]
            for body in [upload.text, #"{"data": ["\#(Self.value)"#] {
                #expect(try await scenario.status("POST", "/dev/write", token: token, body: body) == 400)
            }
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send(
                    "POST /sync/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Token \(token)\r\nno header\r\n\r\n"
                )
                #expect(try await connection.textUntilClosed().contains("400"))
            }

            // Who must not.
            for token in wrong {
                for (method, path) in [
                    ("POST", "/sync/stream"), ("GET", "/write-checkpoint2.json"), ("POST", "/dev/write"),
                ] {
                    #expect(try await scenario.status(method, path, token: token) == 401)
                }
                try await RSocketPeer.connect(port: scenario.address.port) { peer in
                    try await peer.send(.setup(token: token))
                    while try await peer.next() != nil {}
                }
            }
            for token in [admins[1], token] {
                #expect(try await scenario.status("POST", "/api/admin/v1/diagnostics", token: token) == 401)
                #expect(try await scenario.status("GET", "/dashboard/clients", token: token) == 401)
            }
            #expect(try await scenario.status("GET", "/dashboard/clients", token: key) == 200)
        }
        // Everything is there that could have said it.
        for message in [
            "New checkpoint", "Sync stream complete", "Request complete", "Request failed",
            "WebSocket connection refused", "Request refused",
        ] {
            #expect(log.lines.contains { $0.contains(message) }, "\(message)")
        }
        Self.expectNone(of: secrets.withLockedValue { $0 }, in: log)
    }

    @Test func noLineHasThePasswordOfADatabase() async throws {
        let log = CollectedLog()
        let password = "password-of-2e6c"
        let database = try TestDatabase("CREATE TABLE lists (id text PRIMARY KEY, owner_id text, name text)")
        let storage = try TestDatabase()
        func settings(_ database: TestDatabase) -> PostgresSettings {
            var settings = PostgresSettings(uri: database.uri)
            settings.tls = .disable
            settings.slotNamePrefix = "\(database.name)_"
            // The server asks for none, and gets it nevertheless.
            settings.overrides["password"] = password
            return settings
        }
        try await Scenario.run(
            log: log,
            configure: { configuration in
                configuration.source = .postgresql(settings(database))
                configuration.storage = .postgresql(settings(storage))
                configuration.syncConfig = .content(
                    "config: {edition: 3}\nstreams: {a: {auto_subscribe: true, query: SELECT * FROM lists}}"
                )
            }
        ) { scenario in
            try database.run("INSERT INTO lists VALUES ('l1', 'u1', '\(Self.value)')")
            var stream = try await scenario.stream(try scenario.token(), ["client_id": "c1", "raw_data": true])
            try await Self.readValue(&stream)
            // Whoever loses a connection says to what.
            try database.run(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """
            )
            _ = try await log.line(containing: "Replication failed")
        }
        Self.expectNone(of: [password, Self.value], in: log)
    }

    // MARK: Levels

    @Test func linesOfAStream() async throws {
        let log = CollectedLog()
        let id = NIOLockedValueBox("")
        try await Scenario.run(log: log) { scenario in
            try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": "Groceries"]))
            try await scenario.settle()
            // What a start logs, in no particular order.
            for message in ["Running on port", "The replication stream is active", "The service is ready"] {
                _ = try await log.line(containing: message)
            }
            var stream = try await scenario.stream(try scenario.token(), ["client_id": "watched", "raw_data": true])
            _ = try await stream.untilComplete()
            let beginning = try await log.line(containing: "Sync stream started", "client_id=watched")
            let request = try #require(beginning.split(separator: " ").first { $0.hasPrefix("rid=") }.map(String.init))
            id.withLockedValue { $0 = request }

            let others = Self.shown(log).filter { !$0.contains("rid=") }
            for number in 1...5 {
                let name = ExactJSON.string("Groceries \(number)")
                try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": name]))
                #expect(try await stream.untilComplete().last?.hasPrefix("complete") == true)
            }
            #expect(Self.shown(log).filter { !$0.contains("rid=") } == others)
            // They are there at debug.
            #expect(!log.lines.contains { $0.contains("Request complete") && $0.contains(request) })
            for message in [" Updated checkpoint", " checkpoint_complete"] {
                #expect(log.lines.filter { $0.contains(message) && $0.contains(request) }.count >= 5, "\(message)")
            }
            #expect(!Self.shown(log).contains { $0.contains("Updated checkpoint") })
        }
        let lines = Self.shown(log).filter { $0.contains(id.withLockedValue { $0 }) }
        #expect(lines.first?.hasPrefix("info Sync stream started") == true, "\(lines)")
        #expect(lines.last?.hasPrefix("info Sync stream complete") == true, "\(lines)")
        let checkpoints = lines.dropFirst().dropLast()
        #expect(!checkpoints.isEmpty)
        #expect(
            checkpoints.allSatisfy {
                $0.hasPrefix("info checkpoint_complete") || $0.hasPrefix("info partial_checkpoint_complete")
            },
            "\(lines)"
        )
    }

    @Test func onlyTheServiceSaysThatItListens() async throws {
        let log = CollectedLog()
        try await Scenario.run(log: log) { scenario in
            _ = try await log.line(containing: "notice Running on port", "port=\(scenario.address.port)")
        }
        #expect(!log.lines.contains { $0.contains("Server started") }, "\(log.lines)")
    }

    @Test func theEndOfAServiceIsSaidBeforeAndAfter() async throws {
        let log = CollectedLog()
        let stopping = "notice The service is stopping"
        try await Scenario.run(log: log) { scenario in
            try await scenario.settle()
            #expect(!log.lines.contains { $0.hasPrefix(stopping) })
        }
        let lines = Self.shown(log)
        #expect(lines.count { $0.hasPrefix(stopping) } == 1, "\(lines)")
        #expect(lines.last?.hasPrefix("notice The service has stopped") == true, "\(lines)")
    }

    @Test func requestsThatWentWellAreNotAtInfo() async throws {
        let log = CollectedLog()
        try await Scenario.run(log: log) { scenario in
            for path in ["/probes/liveness", "/probes/readiness", "/probes/startup"] {
                #expect(try await scenario.status("GET", path) == 200)
            }
            _ = try await log.line(containing: "Request complete", "/probes/startup")
            #expect(Self.shown(log).filter { $0.contains("Request complete") } == [])
            #expect(try await scenario.status("GET", "/nowhere") == 404)
            let line = try await log.line(containing: "Request complete", "/nowhere")
            #expect(line.hasPrefix("info "))
        }
    }
}
