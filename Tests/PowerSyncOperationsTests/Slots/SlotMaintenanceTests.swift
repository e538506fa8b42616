import Foundation
import GRDB
import PostgresTestSupport
import PowerSyncProtocol
import RunningServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncOperations
@testable import PowerSyncService
@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// Replication slots that nobody needs, and those of a service that is torn down.
@Suite(.timeLimit(.minutes(2))) struct SlotMaintenanceTests {
    private typealias Scenario = ServiceScenario

    private let database: TestDatabase
    private let folder: TemporaryFolder
    /// Slots of all databases of a server have different names.
    private let prefix: String

    init() throws {
        database = try TestDatabase("CREATE TABLE lists (id text PRIMARY KEY, owner_id text, name text)")
        folder = try TemporaryFolder()
        prefix = "\(database.name)_"
    }

    private var configuration: ServiceConfiguration {
        var configuration = Scenario.configuration(in: folder)
        var settings = PostgresSettings(uri: database.uri)
        settings.tls = .disable
        settings.slotNamePrefix = prefix
        configuration.source = .postgresql(settings)
        configuration.syncConfig = .content(
            "config: {edition: 3}\nstreams: {a: {auto_subscribe: true, query: SELECT * FROM lists}}"
        )
        return configuration
    }

    private func makeSlot(_ name: String) throws {
        try database.run("SELECT pg_create_logical_replication_slot('\(prefix)\(name)', 'pgoutput')")
    }

    private func slotNames() throws -> [String] {
        try database.run("SELECT slot_name FROM pg_replication_slots WHERE database = current_database() ORDER BY 1")
            .compactMap { $0.first ?? nil }
    }

    @Test func slotsWithoutAStreamAreUnused() async throws {
        let configuration = configuration
        try await SyncService(configuration: configuration, logger: Scenario.logger).whileRunning { _ in
            let report = try #require(try await SyncService.slots(of: configuration))
            #expect(report.hasStorage)
            #expect(report.entries.map(\.isNeeded) == [true])
            #expect(report.entries.allSatisfy { !$0.isUnused })
        }
        try makeSlot("zz_orphan")
        try database.run("INSERT INTO lists VALUES ('l1', 'u1', 'A')")
        let report = try #require(try await SyncService.slots(of: configuration))
        #expect(report.entries.map(\.isUnused) == [false, true])
        #expect(report.entries.last?.slot.name == "\(prefix)zz_orphan")
        #expect(try #require(report.entries.last?.slot.retainedBytes) > 0)
        #expect(report.wastedBytes == report.entries.last?.slot.retainedBytes)

        let findings = try await Doctor(logger: Scenario.logger).examine(configuration)
        let finding = findings.first { $0.area == .slots }
        #expect(finding?.severity == .warning)
        #expect(finding?.message.contains("\(prefix)zz_orphan") == true)

        try await SyncService.dropSlots(["\(prefix)zz_orphan"], of: configuration, logger: Scenario.logger)
        #expect(try slotNames() == [report.entries[0].slot.name])
    }

    @Test func withoutAStorageNobodyKnowsWhatIsNeeded() async throws {
        try makeSlot("a")
        let report = try #require(try await SyncService.slots(of: configuration))
        #expect(!report.hasStorage)
        #expect(report.entries.map(\.isUnused) == [true])
    }

    @Test func sourcesWithoutSlotsHaveNone() async throws {
        #expect(try await SyncService.slots(of: Scenario.configuration(in: folder)) == nil)
    }

    @Test func aTeardownTakesSlotsAndStorageAndLeavesRows() async throws {
        let configuration = configuration
        try database.run("INSERT INTO lists VALUES ('l1', 'u1', 'A')")
        try await SyncService(configuration: configuration, logger: Scenario.logger).whileRunning { _ in
            let error = await #expect(throws: ServiceError.self) {
                try await SyncService.tearDown(configuration, logger: Scenario.logger) { _ in
                    Issue.record("nothing is dropped while a service runs")
                }
            }
            #expect(error?.catalogueCode == .replicationLocked)
            #expect(error?.description.hasSuffix(". [PSYNC_S1003]") == true)
        }
        let slots = try slotNames()
        #expect(slots.count == 1)
        try makeSlot("zz_of_another")
        let plan = try await SyncService.teardownPlan(of: configuration)
        #expect(plan.slots == slots)
        #expect(try slotNames().count == 2)
        try await SyncService.tearDown(configuration, logger: Scenario.logger) { #expect($0 == plan) }
        #expect(try slotNames() == ["\(prefix)zz_of_another"])
        #expect(!FileManager.default.fileExists(atPath: folder.path("buckets.db")))
        #expect(try database.run("SELECT count(*) FROM lists") == [["1"]])
        // A new service begins with nothing, and works.
        try await SyncService(configuration: configuration, logger: Scenario.logger).whileRunning { _ in }
    }

    @Test func anEmbeddedSourceForgetsItsStreams() async throws {
        let configuration = Scenario.configuration(in: folder)
        try await Scenario.run(in: folder) { scenario in
            try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": "A"]))
        }
        func traces() throws -> [String] {
            try DatabaseQueue(path: folder.path("source.db")).read { db in
                try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE name GLOB '_ps_*'")
            }
        }
        #expect(try traces().count > 4)
        try await SyncService.tearDown(configuration, logger: Scenario.logger) { #expect($0.slots.count == 1) }
        #expect(!FileManager.default.fileExists(atPath: folder.path("buckets.db")))
        // The app writes as it did before there was a service.
        #expect(try traces().isEmpty)
        try await Scenario.run(in: folder) { scenario in
            try await scenario.settle()
            var stream = try await scenario.stream(try scenario.token())
            #expect(try await stream.untilComplete().contains(#"data 1#lists|0["u1"] 0…1 ×1"#))
        }
    }

    @Test func whatAnotherServiceNeedsOfAnEmbeddedSourceStays() async throws {
        let configuration = Scenario.configuration(in: folder)
        try await Scenario.run(in: folder) { _ in }
        let source = try DatabaseQueue(path: folder.path("source.db"))
        try await source.write { db in
            try db.execute(sql: "INSERT INTO _ps_streams SELECT 'another', acknowledged, seen FROM _ps_streams")
        }
        try await SyncService.tearDown(configuration, logger: Scenario.logger) { _ in }
        let (streams, triggers) = try await source.read { db in
            (
                try String.fetchAll(db, sql: "SELECT name FROM _ps_streams"),
                try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master WHERE type = 'trigger'") ?? 0
            )
        }
        #expect(streams == ["another"])
        #expect(triggers > 0)
    }

    @Test func aSlotThatIsBeingReadIsNotUnused() {
        let slot = SourceSlot(name: "a", isActive: true, state: nil, retainedBytes: nil)
        #expect(!SlotReport.Entry(slot: slot, isNeeded: false).isUnused)
    }
}
