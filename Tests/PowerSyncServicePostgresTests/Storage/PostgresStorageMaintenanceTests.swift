import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
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

    private func maintenance(_ home: any StorageHome) throws -> PostgresStorageMaintenance {
        let connection = home.postgres.settings.connection
        return PostgresStorageMaintenance(schema: PostgresBucketStorage.defaultSchema, place: "here") { connection }
    }

    @Test func tablesAreMadeOnDemand() async throws {
        let home = try PostgresStorageHome()
        let maintenance = try maintenance(home)
        #expect(try await maintenance.version().found == nil)
        #expect(try await maintenance.sourceHandles().isEmpty)
        try await maintenance.checkOpening(migrates: true)
        await #expect(throws: BucketStorageError.self) { try await maintenance.checkOpening(migrates: false) }
        try await maintenance.migrate()
        #expect(try await maintenance.version().isCurrent)
        try await maintenance.checkOpening(migrates: false)
        try home.run("INSERT INTO record_versions (version) VALUES (7)")
        #expect(try await maintenance.version().found == 7)
        await #expect { try await maintenance.checkOpening(migrates: true) } throws: {
            ($0 as? BucketStorageError)?.code == .unsupportedVersion
        }
    }

    /// The maintenance of a service with a version that does not exist.
    private func next(_ home: any StorageHome) throws -> PostgresStorageMaintenance {
        var next = try maintenance(home)
        next.schema.migrations.append(
            .init(summary: "Version 2: streams have a colour.") { schema in
                "ALTER TABLE \(schema).replication_streams ADD COLUMN colour text DEFAULT 'red'"
            }
        )
        return next
    }

    @Test func tablesOfAnOlderVersionAreMigrated() async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let next = try next(scenario.home)
        let version = try await next.version()
        #expect(version == StorageVersion(found: 1, current: 2, steps: ["Version 2: streams have a colour."]))
        try await next.checkOpening(migrates: true)
        await #expect { try await next.checkOpening(migrates: false) } throws: {
            ($0 as? BucketStorageError)?.message.contains("powersync_storage has version 1, not 2") == true
        }
        // Once more, there is nothing to do.
        for _ in 0..<2 { try await next.migrate() }
        #expect(try await next.version() == StorageVersion(found: 2, current: 2, steps: []))
        #expect(try await next.sourceHandles() == [scenario.stream.sourceHandle])
        #expect(try scenario.home.run("SELECT version FROM record_versions ORDER BY 1") == [["1"], ["2"]])
        #expect(try scenario.home.run("SELECT colour FROM replication_streams") == [["red"]])

        // To this service, the tables are those of a newer service.
        await #expect { _ = try await scenario.home.open() } throws: { error in
            (error as? BucketStorageError)?.message.contains("has version 2, this service can use versions up to 1.")
                == true
        }
    }

    @Test(arguments: [
        ("table_versions", "replication_streams"), ("schema_versions", "replication_streams"),
        ("layout_versions", "replication_streams"),
        ("storage_versions", "streams"), ("migrations", "streams"),
    ])
    func tablesOfAnEarlierBuildAreRefusedAndDeleted(versionTable: String, streamTable: String) async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let home = scenario.home
        let maintenance = try maintenance(home)
        await home.releaseWriters()
        let hasHandles = ["table_versions", "schema_versions"].contains(versionTable)
        let handleChange = hasHandles ? "" : "ALTER TABLE \(streamTable) RENAME COLUMN source_handle TO slot_name;"
        try home.run(
            """
            ALTER TABLE record_versions RENAME TO \(versionTable); INSERT INTO \(versionTable) (version) VALUES (2);
            ALTER TABLE replication_streams RENAME TO streams_of_then;
            ALTER TABLE streams_of_then RENAME TO \(streamTable);
            \(handleChange)
            CREATE TABLE of_somebody_else (id int)
            """
        )
        let attempts: [() async throws -> Void] = [
            { try await home.open().close() },
            { _ = try await maintenance.version() },
            { try await maintenance.checkOpening(migrates: true) },
            { try await maintenance.migrate() },
        ]
        for attempt in attempts {
            let error = await #expect(throws: BucketStorageError.self) { try await attempt() }
            #expect(error?.code == .unsupportedVersion)
            let message = """
                The bucket storage in schema powersync_storage was written by an earlier build, and this one cannot use it: run \
                `powersync teardown`; then everything is copied from the source again.
                """
            #expect(error?.message == message)
        }
        #expect(try await maintenance.sourceHandles() == [scenario.stream.sourceHandle])
        var released: Set<String> = []
        try await maintenance.erase { released = $0 }
        #expect(released == [scenario.stream.sourceHandle])
        let left = try home.run(
            "SELECT relname FROM pg_class WHERE relnamespace = 'powersync_storage'::regnamespace AND relkind <> 'i'"
        )
        #expect(left == [["of_somebody_else"]])
        // A new service begins with nothing.
        try await home.open().close()
    }

    @Test func aTableOfAnAppIsNotOneOfAnEarlierBuild() async throws {
        let home = try PostgresStorageHome()
        try home.database.run(
            """
            CREATE SCHEMA powersync_storage; CREATE TABLE powersync_storage.migrations (id int);
            CREATE TABLE powersync_storage.streams (id int)
            """
        )
        let maintenance = try maintenance(home)
        #expect(try await maintenance.version().found == nil)
        try await home.open().close()
        try await maintenance.erase { _ in }
        #expect(try home.run("SELECT count(*) FROM migrations") == [["0"]])
        #expect(try home.run("SELECT count(*) FROM streams") == [["0"]])
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
        let slots = try await maintenance.sourceHandles()
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
        #expect(released == [scenario.stream.sourceHandle])
        let left = try scenario.home.run(
            "SELECT relname FROM pg_class WHERE relnamespace = 'powersync_storage'::regnamespace AND relkind <> 'i'"
        )
        #expect(left == [["of_somebody_else"]])
        #expect(try await maintenance.version().found == nil)
        await #expect(throws: BucketStorageError.self) { try await maintenance.erase { _ in } }
    }
}
