import Foundation
import HTTPConnections
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import PowerSyncAuth
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncUpload
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService
@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Starting, stopping, and everything that can prevent it.
@Suite(.timeLimit(.minutes(1))) struct ServiceLifecycleTests {
    private typealias Scenario = ServiceScenario

    @Test func aServiceStartsAgainOnTheSameFiles() async throws {
        let folder = try TemporaryFolder()
        for round in 1...3 {
            try await Scenario.run(in: folder) { scenario in
                try await scenario.write(Scenario.put("lists", "l\(round)", ["owner_id": "u1", "name": "A"]))
                try await scenario.settle()
                // Op ids go on: each list takes two, one of them for the parameter index.
                let after = 2 * (round - 1)
                let bucket = #"1#lists|0["u1"]"#
                var stream = try await scenario.stream(
                    try scenario.token(),
                    ["buckets": [["name": .string(bucket), "after": .string("\(after)")]]]
                )
                let lines = try await stream.untilComplete()
                #expect(lines.contains("data \(bucket) \(after)…\(after + 1) ×1"), "\(lines)")
            }
        }
    }

    @Test func changesWhileTheServiceWasDownAreReplicated() async throws {
        let folder = try TemporaryFolder()
        try await Scenario.run(in: folder) { _ in }
        let source = try EmbeddedSource(
            path: folder.path("source.db"),
            schema: Scenario.tables,
            logger: Scenario.logger
        )
        try await source.putLists(["l1": ["owner_id": .string("u1"), "name": .string("A")]])
        try source.close()
        try await Scenario.run(in: folder) { scenario in
            try await scenario.settle()
            var stream = try await scenario.stream(try scenario.token())
            #expect(try await stream.untilComplete().contains(#"data 1#lists|0["u1"] 0…1 ×1"#))
        }
    }

    /// The error with which a service ends.
    private static func failure(_ configure: (inout ServiceConfiguration) -> Void) async throws -> ServiceError? {
        do {
            try await Scenario.run(configure: configure) { _ in }
            return nil
        } catch let error as ServiceError {
            return error
        }
    }

    @Test func aPortThatIsInUseIsNamed() async throws {
        try await Scenario.run { scenario in
            let error = try await Self.failure { $0.port = scenario.address.port }
            #expect(error?.code == .portInUse)
            #expect(error?.message.contains("\(scenario.address.port)") == true)
        }
    }

    @Test func anImpossiblePortIsRefused() async throws {
        let error = try await Self.failure { $0.port = 70_000 }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.key == "port")
    }

    @Test func aFolderThatCannotBeMadeIsNamed() async throws {
        let folder = try TemporaryFolder()
        let file = folder.path("file")
        try Data().write(to: URL(filePath: file))
        let storage = try await Self.failure { $0.storage = .sqlite(path: file + "/buckets.db") }
        #expect(storage?.code == .dataFolder)
        #expect(storage?.message.contains(file) == true)
        let source = try await Self.failure { $0.source = .embedded(path: file + "/source.db", statements: []) }
        #expect(source?.code == .dataFolder)
        #expect(source?.key == "replication.connections[0].path")
    }

    @Test func aFileThatIsNoDatabaseIsNamed() async throws {
        let folder = try TemporaryFolder()
        let file = folder.path("file")
        try Data(String(repeating: "no database ", count: 100).utf8).write(to: URL(filePath: file))
        #expect(try await Self.failure { $0.storage = .sqlite(path: file) }?.message.contains(file) == true)
        let source = try await Self.failure { $0.source = .embedded(path: file, statements: []) }
        #expect(source?.message.contains(file) == true)
    }

    @Test func aWrongSyncConfigListsItsDiagnostics() async throws {
        let error = try await Self.failure {
            $0.syncConfig = .content("config: {edition: 3}\nstreams:\n  a:\n    query: SELECT FROM\n")
        }
        #expect(error?.code == .invalidSyncConfig)
        #expect(error?.diagnostics.first?.hasPrefix("sync.yaml:4:") == true)
    }

    @Test func aMissingSyncConfigIsNamed() async throws {
        let error = try await Self.failure { $0.syncConfig = .file("/nowhere/sync.yaml") }
        #expect(error?.file == "/nowhere/sync.yaml")
    }

    @Test func aKeyThatIsNoneIsNamed() async throws {
        let x = Base64URL.encode(Array(repeating: 1, count: 32))
        let error = try await Self.failure { configuration in
            let json = #"{"kty":"EC","alg":"ES256","crv":"P-256","kid":"broken","x":"\#(x)","y":"\#(x)"}"#
            configuration.authentication.keys = (try? [.jwk(json: json)]) ?? []
        }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.key?.contains("broken") == true)
    }

    @Test func aServiceRunsOnce() async throws {
        try await Scenario.run { scenario in
            await #expect(throws: ServiceError.self) { try await scenario.service.run() }
        }
    }

    @Test func beforeTheFirstSyncConfigIsActiveThereIsNothingToServe() async throws {
        let folder = try TemporaryFolder()
        let storage = try SQLiteBucketStorage(path: folder.path("buckets.db"))
        let source = try EmbeddedSource(path: folder.path("source.db"), logger: Scenario.logger)
        let configuration = Scenario.configuration(in: folder)
        let timing = Timing()
        let routes = ServiceRoutes(
            tokens: TokenVerifier(keys: configuration.authentication.keys.map(\.key), audience: ["powersync-dev"]),
            sessions: SyncSession.Environment(
                storage: storage,
                dispatcher: CheckpointDispatcher(storage: storage),
                dataReaders: ConcurrencyQueue(maximumRunning: 1, maximumWaiting: 1),
                limits: BucketLimits(),
                timing: timing
            ),
            writeCheckpoints: WriteCheckpointIssuer(storage: storage, source: source),
            probes: Probes(timing),
            streamQueue: ConcurrencyQueue(maximumRunning: 1, maximumWaiting: 0)
        )
        let token = try configuration.makeDevelopmentToken(userID: "u1")
        // The service's own connections: a stream looks whether its client is still there.
        let app = Application(
            router: routes.makeRouter(),
            server: .http1(
                upgradingTo: routes,
                webSockets: ConcurrencyQueue(maximumRunning: 0, maximumWaiting: 0),
                limits: HTTPConnectionLimits(),
                certificate: nil
            ),
            logger: Scenario.logger
        )
        try await app.test(.live) { client in
            let headers: HTTPFields = [.authorization: "Token \(token)"]
            for (path, method) in [("/sync/stream", HTTPRequest.Method.post), ("/write-checkpoint2.json", .get)] {
                let response = try await client.execute(uri: path, method: method, headers: headers)
                #expect(response.status == .internalServerError)
                #expect(ErrorEnvelope(json: response.body)?.code == .noSyncConfig)
            }
            let probe = try await client.execute(uri: "/probes/readiness", method: .get)
            #expect(probe.status == .badRequest)
        }
        try storage.close()
        try source.close()
    }
}
