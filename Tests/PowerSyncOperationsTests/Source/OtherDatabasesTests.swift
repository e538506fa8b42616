import Foundation
import PowerSyncProtocol
import PowerSyncServiceSQLite
import PowerSyncSyncConfig
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncOperations
@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// A source and a storage that the service has never heard of work by their modules alone.
@Suite(.timeLimit(.minutes(1))) struct OtherDatabasesTests {
    private typealias Scenario = ServiceScenario

    private static let adminToken = "an-admin-token"

    private static let modules = Modules(sources: [ModelSourceModule.self], storages: [ModelStorageModule.self])

    private static func configuration(
        source: String = "{type: model, id: main, tables: [lists], page_length: 2}",
        storage: String = "{type: model, first_stream: 7}"
    ) throws -> ServiceConfiguration {
        var configuration = try ServiceConfiguration(
            yaml: """
                replication: {connections: [\(source)]}
                storage: \(storage)
                sync_config:
                  content: |
                    config: {edition: 3}
                    streams:
                      lists:
                        auto_subscribe: true
                        query: SELECT id, name FROM lists WHERE owner_id = auth.user_id()
                client_auth: {audience: [powersync-dev]}
                api: {tokens: [\(Self.adminToken)]}
                """,
            file: "service.yaml",
            environment: [:],
            modules: modules
        )
        configuration.host = "127.0.0.1"
        configuration.port = 0
        configuration.authentication.keys = [.hs256(secret: Scenario.secret, id: "test-1")]
        return configuration
    }

    private static func source(of configuration: ServiceConfiguration) throws -> ModelSource {
        try #require(configuration.source.module as? ModelSourceModule).source
    }

    @Test func itsKeysAreReadByItsModule() throws {
        let configuration = try Self.configuration()
        #expect(configuration.sourceDescription == "model of lists")
        #expect(configuration.source.id == "main")
        #expect(try Self.source(of: configuration).pageLength == 2)
        #expect(configuration.storage.module.description == "model in memory")
        #expect(configuration.source == configuration.source)
        let other = try Self.configuration()
        #expect(configuration.source != other.source)
        #expect(configuration.storage != other.storage)
    }

    @Test(
        arguments: [
            ("{type: model}", "replication.connections[0].tables", "missing; name the tables"),
            (
                "{type: model, tables: [a], page_length: 0}", "replication.connections[0].page_length",
                "between 1 and 100"
            ),
            ("{type: model, tables: [a], page: 1}", "replication.connections[0].page", "unknown key"),
            ("{tables: [a]}", "replication.connections[0].type", "missing; use \"model\""),
            ("{type: embedded}", "replication.connections[0].type", "\"embedded\" is not a known type; use \"model\""),
        ]
    )
    func whatIsWrongIsSaidInItsWords(source: String, key: String, message: String) {
        let error = #expect(throws: ServiceError.self) { try Self.configuration(source: source) }
        #expect(error?.key == key)
        #expect(error?.message.contains(message) == true, "\(String(describing: error))")
        // The type is no key of a module.
        #expect(error?.catalogueCode == (key.hasSuffix(".type") ? nil : .moduleKeys))
    }

    @Test func aRoleIsRefusedInItsWords() throws {
        var configuration = try Self.configuration()
        configuration.role = .api
        let error = #expect(throws: ServiceError.self) { try configuration.checkRole() }
        #expect(error?.message.hasPrefix("one process has a model in memory; the role api needs") == true)
    }

    @Test(
        arguments: [
            ("\"list_%\"", "A model has no patterns such as “list_%”; name each table."),
            (
                "\"m%\".lists",
                "A model has one schema, and no pattern for schemas such as “m%.lists”; write the table alone."
            ),
        ]
    )
    func whatTheSourceCannotDoIsRefusedInOneSentence(table: String, reason: String) async throws {
        var configuration = try Self.configuration()
        let text = "config: {edition: 3}\nstreams: {a: {query: 'SELECT * FROM \(table)'}}"
        let sentence = "\(reason) [PSYNC_R2201]"
        configuration.syncConfig = .content(text)
        let error = #expect(throws: ServiceError.self) {
            try SyncService(configuration: configuration, logger: Scenario.logger)
        }
        #expect(error?.diagnostics.first?.hasSuffix(sentence) == true, "\(String(describing: error))")
        await #expect(throws: ServiceError.self) {
            try await SyncService.checkSource(of: configuration, logger: Scenario.logger)
        }
        let running = try Self.configuration()
        try await Scenario.run(configure: { $0 = running }) { scenario in
            let reply = try await scenario.send(
                "POST",
                "/api/admin/v1/validate",
                token: Self.adminToken,
                body: (["sync_rules": .string(text)] as JSONObject).text
            )
            let errors = try reply.json.object("data").objects("errors")
            #expect(errors.contains { $0.text("message")?.hasSuffix(sentence) == true }, "\(reply.body)")
            await #expect(throws: (any Error).self) { try await scenario.service.deploy(syncConfig: text) }
        }
    }

    @Test func doctorAsksIt() async throws {
        let configuration = try Self.configuration()
        let findings = try await Doctor(logger: Scenario.logger).examine(configuration)
        let ofDatabases = findings.filter { [.source, .storage, .slots].contains($0.area) }
        #expect(ofDatabases.allSatisfy { $0.severity == .ok }, "\(ofDatabases)")
        #expect(findings.contains { $0.area == .source && $0.place.location == "model of lists, version 0.1" })
        #expect(findings.contains { $0.area == .storage && $0.place.location == "model in memory" })
        let other = try Self.configuration(source: "{type: model, tables: [notes]}")
        let found = try await Doctor(logger: Scenario.logger).examine(other)
        #expect(found.contains { $0.severity == .warning && $0.message == "there is no table lists" })
    }

    @Test func itIsReplicatedAndShown() async throws {
        let configuration = try Self.configuration()
        let source = try Self.source(of: configuration)
        for id in ["a", "b", "c"] {
            source.write([.insert("lists", id: id, ["owner_id": .text("u1"), "name": .text(id)])])
        }
        try await Scenario.run(configure: { $0 = configuration }) { scenario in
            var stream = try await scenario.stream(try scenario.token())
            let first = try await stream.untilComplete()
            #expect(first.contains { $0.hasPrefix("data ") && $0.hasSuffix(" ×3") }, "\(first)")
            source.write([.insert("lists", id: "d", ["owner_id": .text("u1"), "name": .text("d")])])
            let second = try await stream.untilComplete()
            #expect(second.contains { $0.hasPrefix("data ") && $0.hasSuffix(" ×1") }, "\(second)")

            let reply = try await scenario.send(
                "POST",
                "/api/admin/v1/diagnostics",
                token: Self.adminToken,
                body: nil
            )
            let data = try reply.json.object("data")
            let connection = try #require(data.objects("connections").first)
            #expect(connection.text("id") == "main")
            #expect(connection.text("postgres_uri") == "model of lists")
            let active = data.object("active_sync_rules")
            #expect(active.text("stream_id") == "7")
            #expect(active.objects("connections").first?.objects("tables").map { $0.text("name") } == ["lists"])
            #expect(data.object("service").object("replication").text("source") == "model of lists")
        }
        let slots = try #require(try await SyncService.slots(of: configuration))
        #expect(slots.prefix == "model_")
        #expect(slots.entries.map(\.isNeeded) == [true])
        try await SyncService.tearDown(configuration, logger: Scenario.logger) { plan in
            #expect(plan.source == "model of lists")
            #expect(plan.storage == "model in memory")
        }
        #expect(source.content.acknowledged.isEmpty)
    }

    @Test func aWrapperCanDoWhatItsSourceCan() throws {
        let folder = try TemporaryFolder()
        let source = try EmbeddedSource(path: folder.path("source.db"), logger: Scenario.logger)
        defer { try? source.close() }
        let wrapped = ReplicatedSource(source, clock: ContinuousClock(), touch: {})
        #expect(wrapped.described != nil)
        #expect(wrapped.writable != nil)
        #expect(wrapped.fileBacked != nil)
        #expect(wrapped.retainedLog == nil)
    }
}
