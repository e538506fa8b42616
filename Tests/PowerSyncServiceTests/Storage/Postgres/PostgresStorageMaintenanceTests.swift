import PowerSyncProtocol
import PowerSyncRules
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// Making, looking at and deleting a storage in PostgreSQL without a service (docs/operating.md).
@Suite(.timeLimit(.minutes(1))) struct PostgresStorageMaintenanceTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """

    private func maintenance(_ home: StorageHome) throws -> PostgresStorageMaintenance {
        let connection = try home.settings.connection
        return PostgresStorageMaintenance(schema: PostgresBucketStorage.defaultSchema, place: "here") { connection }
    }

    @Test func tablesAreMadeOnDemand() async throws {
        let home = try StorageHome(.postgres)
        let maintenance = try maintenance(home)
        #expect(try await maintenance.version().found == nil)
        #expect(try await maintenance.slotNames().isEmpty)
        try await maintenance.checkOpening(migrates: true)
        await #expect(throws: BucketStorageError.self) { try await maintenance.checkOpening(migrates: false) }
        try await maintenance.migrate()
        #expect(try await maintenance.version().isCurrent)
        try await maintenance.checkOpening(migrates: false)
        try home.run("INSERT INTO migrations (version) VALUES (7)")
        #expect(try await maintenance.version().found == 7)
        await #expect { try await maintenance.checkOpening(migrates: true) } throws: {
            ($0 as? BucketStorageError)?.code == .unsupportedVersion
        }
    }

    @Test func tablesOfTheFirstVersionAreMigrated() async throws {
        var scenario = try await StorageScenario(Self.config, on: .postgres)
        let stream = scenario.stream.id
        try scenario.home.run("ALTER TABLE streams DROP COLUMN version_label; DELETE FROM migrations WHERE version > 1")
        let version = try await maintenance(scenario.home).version()
        #expect(version.found == 1 && !version.isCurrent)
        #expect(version.steps.map { $0.prefix(10) } == ["Version 2:"])
        let storage = try await scenario.reopenStorage()
        #expect(try await maintenance(scenario.home).version().isCurrent)
        #expect(try await storage.activeStream()?.id == stream)
        #expect(try await storage.streams().map(\.versionLabel) == [nil])
    }

    @Test func aStreamThatComesMeanwhileIsNotForgotten() async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let maintenance = try maintenance(scenario.home)
        await scenario.home.releaseWriters()
        let other = Self.config.replacing("  g:", with: "  other:")
        await #expect {
            try await maintenance.erase { _ in
                // Its slot is not one of those that are dropped.
                _ = try await scenario.storage.deploy(other, plan: try plan(other))
            }
        } throws: {
            ($0 as? BucketStorageError)?.code == .inUse
        }
        let slots = try await maintenance.slotNames()
        #expect(slots.count > 1)
        var released: Set<String> = []
        try await maintenance.erase { released = $0 }
        #expect(released == slots)
    }

    @Test func sizesThatTakeTooLongAreLeftOut() async throws {
        var scenario = try await StorageScenario(Self.config, on: .postgres)
        let table = try await scenario.table("test")
        try await scenario.save(.insert(["id": .text("a")]), of: table)
        try await scenario.commit()
        let storage = scenario.storage
        let stream = scenario.stream.id
        let measured = try await storage.buckets(of: stream, search: "", offset: 0, limit: 10)
        // Whoever needs the operations waits for this transaction.
        try scenario.home.run("BEGIN; LOCK TABLE operations IN ACCESS EXCLUSIVE MODE")
        let list = try await storage.buckets(of: stream, search: "", offset: 0, limit: 10)
        try scenario.home.run("ROLLBACK")
        #expect(list.buckets.map(\.name) == measured.buckets.map(\.name) && list.buckets.count == 1)
        #expect(list.buckets.allSatisfy { $0.bytes == nil } && measured.buckets.allSatisfy { $0.bytes != nil })
    }

    @Test func onlyTheStorageIsDeletedAndNotUnderAWriter() async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let maintenance = try maintenance(scenario.home)
        try scenario.home.run("CREATE TABLE of_somebody_else (id int)")
        await #expect { try await maintenance.erase { _ in } } throws: {
            ($0 as? BucketStorageError)?.code == .inUse
        }
        await scenario.home.releaseWriters()
        var released: Set<String> = []
        try await maintenance.erase { released = $0 }
        #expect(released == [scenario.stream.slotName])
        let left = try scenario.home.run(
            "SELECT relname FROM pg_class WHERE relnamespace = 'powersync_storage'::regnamespace AND relkind <> 'i'"
        )
        #expect(left == [["of_somebody_else"]])
        #expect(try await maintenance.version().found == nil)
        await #expect(throws: BucketStorageError.self) { try await maintenance.erase { _ in } }
    }
}
