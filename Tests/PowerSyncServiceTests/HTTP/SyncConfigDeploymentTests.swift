import Foundation
import PowerSyncProtocol
import PowerSyncUpload
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Sync configs that are deployed to a whole service while clients sync.
@Suite(.timeLimit(.minutes(2))) struct SyncConfigDeploymentTests {
    private typealias Scenario = ServiceScenario

    /// A config with other columns than, and so without any query of, ``ServiceScenario/syncConfig``.
    private static func config(_ columns: String) -> String {
        """
        config: {edition: 3}
        streams:
          lists:
            auto_subscribe: true
            query: SELECT \(columns) FROM lists WHERE owner_id = auth.user_id()
        """
    }

    private static let names = config("id, name, owner_id")
    private static let owners = config("id, owner_id, name")

    private static func list(_ id: String, _ name: String) -> JSONObject {
        Scenario.put("lists", id, ["owner_id": "u1", "name": .string(name)])
    }

    /// The names of the lists that a client has after its first checkpoint, and the number of the replication stream.
    private func lists(_ scenario: ServiceScenario) async throws -> (stream: String, names: [String]) {
        try await scenario.settle()
        var stream = try await scenario.stream(try scenario.token())
        var (number, rows) = ("", [String: String]())
        while let line = try await stream.next() {
            if let bucket = line.object("checkpoint").objects("buckets").first?.text("bucket") {
                number = String(bucket.prefix { $0 != "#" })
            }
            for operation in line.object("data").objects("data") where operation.text("object_type") == "lists" {
                let isPut = operation.text("op") == "PUT"
                let data = try isPut ? operation.text("data").map { try JSONObject(parsing: $0) } : nil
                rows[operation.text("object_id") ?? ""] = data?.text("name")
            }
            if line["checkpoint_complete"] != nil { break }
        }
        return (number, rows.values.sorted())
    }

    /// Waits until a stream has ended.
    private func end(of stream: inout StreamReader) async throws {
        while try await stream.next() != nil {}
    }

    @Test func clientsGoOverWhenTheNewConfigHasBeenReplicated() async throws {
        try await Scenario.run { scenario in
            try await scenario.write(Self.list("l1", "before"))
            try await scenario.settle()
            var stream = try await scenario.stream(try scenario.token())
            #expect(try await stream.untilComplete().first?.contains("1#lists") == true)

            let deployment = try await scenario.service.deploy(syncConfig: Self.names)
            #expect(deployment.outcome == .started)
            #expect(deployment.streamID == 2)
            for number in 0..<20 { try await scenario.write(Self.list("d\(number)", "during \(number)")) }
            try await scenario.write(Self.list("l1", "changed"), Scenario.delete("lists", "d0"))
            try await end(of: &stream)

            try await scenario.write(Self.list("l2", "after"))
            let (number, names) = try await lists(scenario)
            #expect(number == "2")
            #expect(names == ((1..<20).map { "during \($0)" } + ["after", "changed"]).sorted())
        }
    }

    @Test func aBrokenConfigLeavesClientsAlone() async throws {
        try await Scenario.run { scenario in
            var stream = try await scenario.stream(try scenario.token())
            _ = try await stream.untilComplete()
            await #expect {
                try await scenario.service.deploy(
                    syncConfig: "config: {edition: 3}\nstreams:\n  a:\n    query: SELECT FROM\n"
                )
            } throws: { error in
                guard let error = error as? ServiceError else { return false }
                return error.code == .invalidSyncConfig && error.diagnostics.first?.hasPrefix("sync.yaml:4:") == true
            }
            #expect(try await scenario.service.deploy(syncConfig: Scenario.syncConfig).outcome == .unchanged)
            try await scenario.write(Self.list("l1", "a"))
            #expect(try await stream.untilComplete().first?.hasPrefix("diff") == true)
        }
    }

    @Test func theServedConfigAbandonsTheOneThatIsBeingCopied() async throws {
        let folder = try TemporaryFolder()
        try await Scenario.run(in: folder) { scenario in
            var stream = try await scenario.stream(try scenario.token())
            _ = try await stream.untilComplete()
            let lock = try SourceLock(folder)
            #expect(try await scenario.service.deploy(syncConfig: Self.names).outcome == .started)
            let deployment = try await scenario.service.deploy(syncConfig: Scenario.syncConfig)
            #expect(deployment.outcome == .rolledBack)
            #expect(deployment.streamID == 1)
            try lock.release()
            // The stream of the client has not ended.
            try await scenario.write(Self.list("l1", "a"))
            #expect(try await stream.untilComplete().first?.hasPrefix("diff") == true)
        }
    }

    @Test func theSecondOfTwoInFlightCounts() async throws {
        let folder = try TemporaryFolder()
        try await Scenario.run(in: folder) { scenario in
            try await scenario.write(Self.list("l1", "a"))
            try await scenario.settle()
            var stream = try await scenario.stream(try scenario.token())
            _ = try await stream.untilComplete()
            let lock = try SourceLock(folder)
            #expect(try await scenario.service.deploy(syncConfig: Self.names).streamID == 2)
            #expect(try await scenario.service.deploy(syncConfig: Self.owners).streamID == 3)
            try lock.release()
            try await end(of: &stream)
            let (number, names) = try await lists(scenario)
            #expect(number == "3")
            #expect(names == ["a"])
        }
    }

    @Test func aServiceThatEndsMeanwhileGoesOnAtTheNextStart() async throws {
        let folder = try TemporaryFolder()
        try await Scenario.run(in: folder) { scenario in
            try await scenario.write(Self.list("l1", "before"))
            try await scenario.settle()
        }
        var lock: SourceLock?
        try await Scenario.run(in: folder, configure: { $0.syncConfig = .deployed }) { scenario in
            lock = try SourceLock(folder)
            #expect(try await scenario.service.deploy(syncConfig: Self.names).outcome == .started)
        }
        try lock?.release()
        let source = try EmbeddedSource(
            path: folder.path("source.db"),
            schema: Scenario.tables,
            logger: Scenario.logger
        )
        try await source.putLists(["l2": ["owner_id": .string("u1"), "name": .string("between")]])
        try source.close()
        try await Scenario.run(in: folder, configure: { $0.syncConfig = .deployed }) { scenario in
            var stream = try await scenario.stream(try scenario.token())
            // It is active already, or becomes so now.
            if try await stream.summary()?.contains("1#lists") == true { try await end(of: &stream) }
            let (number, names) = try await lists(scenario)
            #expect(number == "2")
            #expect(names == ["before", "between"])
        }
    }

    @Test func aServiceWaitsForItsFirstConfig() async throws {
        let folder = try TemporaryFolder()
        var configuration = Scenario.configuration(in: folder)
        configuration.syncConfig = .deployed
        let service = try SyncService(configuration: configuration, logger: Scenario.logger, timing: Timing())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await service.whileRunning { running in
                    let scenario = ServiceScenario(address: running.address, service: running.service)
                    try await scenario.write(Self.list("l1", "a"))
                    #expect(try await lists(scenario).names == ["a"])
                }
            }
            let scenario = ServiceScenario(address: try await service.waitUntilListening(), service: service)
            let reply = try await scenario.send("POST", "/sync/stream", token: try scenario.token(), body: "{}")
            #expect(reply.status == 500)
            #expect(try reply.error("code") == "PSYNC_S2302")
            #expect(try await scenario.status("GET", "/probes/liveness") == 200)
            try await service.deploy(syncConfig: Scenario.syncConfig)
            try await group.waitForAll()
        }
        await #expect(throws: ServiceError.self) { try await service.deploy(syncConfig: Scenario.syncConfig) }
    }
}
