import Foundation
import GRDB
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// What operators do with the file of a bucket storage (docs/operating.md "Maintaining the storage").
@Suite(.timeLimit(.minutes(1))) struct StorageMaintenanceTests {
    private let folder: TemporaryFolder
    private let path: String
    private let maintenance: SQLiteStorageMaintenance

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("buckets.db")
        maintenance = SQLiteStorageMaintenance(path: path)
    }

    private var exists: Bool { FileManager.default.fileExists(atPath: path) }

    /// The maintenance of a service with a version that does not exist.
    private var next: SQLiteStorageMaintenance {
        var next = maintenance
        next.schema.migrations.append(
            .init(summary: Self.summary, script: "ALTER TABLE replication_streams ADD COLUMN colour TEXT DEFAULT 'red'")
        )
        return next
    }

    private static let summary = "Version 2: streams have a colour."

    /// Makes a storage with a stream.
    ///
    /// - Returns: The slot of the stream.
    private func deploy() async throws -> String {
        let storage = try SQLiteBucketStorage(path: path)
        let config = "config: {edition: 3}\nstreams: {a: {query: SELECT * FROM t}}\n"
        let stream = try await storage.deploy(config, plan: try plan(config))
        try storage.close()
        return stream.sourceHandle
    }

    @Test func whereNothingIsStoredEverythingIsMade() async throws {
        let version = try await maintenance.version()
        #expect(version.found == nil)
        #expect(version.steps == ["The file and its tables are made."])
        #expect(try await next.version().steps == version.steps + [Self.summary])
        #expect(try await maintenance.sourceHandles().isEmpty)
        #expect(!exists)
        try await maintenance.migrate()
        #expect(try await maintenance.version() == StorageVersion(found: 1, current: 1, steps: []))
        try SQLiteBucketStorage(path: path, migrates: false).close()
    }

    @Test func anOlderFileIsMigrated() async throws {
        let slot = try await deploy()
        let version = try await next.version()
        #expect(version == StorageVersion(found: 1, current: 2, steps: [Self.summary]))
        #expect(try await next.sourceHandles() == [slot])
        try await next.checkOpening(migrates: true)
        let refusal = await #expect(throws: BucketStorageError.self) { try await next.checkOpening(migrates: false) }
        #expect(refusal?.message.contains("\(path) has version 1, and this service needs version 2") == true)
        // The refusal has changed nothing.
        #expect(try await next.version() == version)
        // Once more, there is nothing to do.
        for _ in 0..<2 { try await next.migrate() }
        #expect(try await next.version() == StorageVersion(found: 2, current: 2, steps: []))
        #expect(try await next.sourceHandles() == [slot])
        let colours = try await DatabaseQueue(path: path).read { db in
            try String.fetchAll(db, sql: "SELECT colour FROM replication_streams")
        }
        #expect(colours == ["red"])

        // To this service, the file is one of a newer service.
        let newer = #expect(throws: BucketStorageError.self) { try SQLiteBucketStorage(path: path) }
        #expect(newer?.code == .unsupportedVersion)
        #expect(newer?.message.contains("\(path) has version 2, this service can use versions up to 1.") == true)
    }

    /// A kill while the file is made, before it has a WAL, leaves a journal that has to be rolled back.
    @Test func aFileWhoseWriterWasKilledIsOpened() async throws {
        let interrupted = try DatabaseQueue(path: folder.path("interrupted.db"))
        try interrupted.inDatabase { db in
            try db.execute(sql: "CREATE TABLE dropped (value); DROP TABLE dropped; PRAGMA cache_size = 1; BEGIN")
            try db.execute(
                sql: """
                    CREATE TABLE uncommitted (value);
                    WITH numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers LIMIT 500)
                    INSERT INTO uncommitted SELECT randomblob(1000) FROM numbers
                    """
            )
            // What a kill would leave at this moment.
            for suffix in ["", "-journal"] {
                try FileManager.default.copyItem(atPath: interrupted.path + suffix, toPath: path + suffix)
            }
            try db.execute(sql: "ROLLBACK")
        }
        try await maintenance.checkOpening(migrates: true)
        #expect(try await maintenance.version().found == nil)
        try SQLiteBucketStorage(path: path).close()
        #expect(try await maintenance.version().found == 1)
    }

    @Test func aNewerFileIsLeftAlone() async throws {
        try await maintenance.migrate()
        try await DatabaseQueue(path: path).write { db in try db.execute(sql: "PRAGMA user_version = 6") }
        #expect(try await maintenance.version().found == 6)
        let error = await #expect(throws: BucketStorageError.self) { try await maintenance.migrate() }
        #expect(error?.code == .unsupportedVersion)
        #expect(try await maintenance.version().found == 6)
    }

    @Test func whileAServiceRunsOnlyLookingIsPossible() async throws {
        let storage = try SQLiteBucketStorage(path: path)
        #expect(try await maintenance.version().isCurrent)
        for body in [maintenance.migrate, { try await maintenance.erase { _ in Issue.record("released") } }] {
            let error = await #expect(throws: BucketStorageError.self) { try await body() }
            #expect(error?.code == .inUse)
        }
        let error = await #expect(throws: BucketStorageError.self) {
            try await maintenance.checkOpening(migrates: true)
        }
        #expect(error?.code == .inUse)
        try storage.close()
        try await maintenance.checkOpening(migrates: true)
    }

    @Test func everythingIsErasedAfterTheSlotsAreReleased() async throws {
        let slot = try await deploy()
        try await maintenance.erase { slots in
            #expect(slots == [slot])
            #expect(exists)
            // No service can start meanwhile.
            #expect(throws: BucketStorageError.self) { try SQLiteBucketStorage(path: path) }
        }
        #expect(!exists)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(""))
        #expect(names == ["buckets.db.lock"])
        let error = await #expect(throws: BucketStorageError.self) { try await maintenance.erase { _ in } }
        #expect(error?.message == "There is no bucket storage at \(path).")
    }

    /// A kill before the first page was written leaves an empty file with a journal.
    @Test func whatAKilledServiceHasLeftIsErasedWithIt() async throws {
        try Data().write(to: URL(filePath: path))
        try Data(repeating: 1, count: 512).write(to: URL(filePath: path + "-journal"))
        try await maintenance.erase { slots in #expect(slots.isEmpty) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("")) == ["buckets.db.lock"])
    }

    @Test func nothingIsErasedWhenTheSlotsAreNotReleased() async throws {
        let slot = try await deploy()
        await #expect(throws: CancellationError.self) {
            try await maintenance.erase { _ in throw CancellationError() }
        }
        #expect(try await maintenance.sourceHandles() == [slot])
    }

    @Test func aStorageIsNotMadeByLooking() async throws {
        try await maintenance.checkOpening(migrates: true)
        let error = await #expect(throws: BucketStorageError.self) {
            try await maintenance.checkOpening(migrates: false)
        }
        #expect(error?.message.hasSuffix("Run: powersync migrate") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("")).isEmpty)
    }
}
