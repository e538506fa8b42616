import Foundation
import GRDB
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

    @Test func whereNothingIsStoredEverythingIsMade() async throws {
        let version = try await maintenance.version()
        #expect(version.found == nil)
        #expect(version.steps == ["The file and its tables are made."])
        #expect(try await maintenance.slotNames().isEmpty)
        #expect(!exists)
        try await maintenance.migrate()
        #expect(try await maintenance.version() == StorageVersion(found: 5, current: 5, steps: []))
        try SQLiteBucketStorage(path: path, migrates: false).close()
    }

    @Test func anOlderFileIsMigrated() async throws {
        try await LegacyStorageTests.write(path)
        let version = try await maintenance.version()
        #expect(version.found == 1)
        #expect(version.steps.map { $0.prefix(10) } == ["Version 2:", "Version 3:", "Version 4:", "Version 5:"])
        #expect(try await maintenance.slotNames() == ["s1", "s2"])
        #expect(throws: BucketStorageError.self) { try SQLiteBucketStorage(path: path, migrates: false) }
        // The refusal has changed nothing.
        #expect(try await maintenance.version() == version)
        try await maintenance.migrate()
        #expect(try await maintenance.version().isCurrent)
        #expect(try await maintenance.slotNames() == ["s1", "s2"])
        try SQLiteBucketStorage(path: path, migrates: false).close()
    }

    /// A kill while the file is made, before it has a WAL, leaves a journal that has to be rolled back.
    @Test func aFileWhoseWriterWasKilledIsOpened() async throws {
        let interrupted = try DatabaseQueue(path: folder.path("interrupted.db"))
        try interrupted.inDatabase { db in
            try db.execute(sql: "PRAGMA user_version = 0; CREATE TABLE committed (value); PRAGMA cache_size = 1; BEGIN")
            try db.execute(
                sql: """
                    WITH numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers LIMIT 500)
                    INSERT INTO committed SELECT randomblob(1000) FROM numbers
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
        #expect(try await maintenance.version().found == 5)
    }

    @Test func aNewerFileIsLeftAlone() async throws {
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
        try await LegacyStorageTests.write(path)
        try await maintenance.erase { slots in
            #expect(slots == ["s1", "s2"])
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
        try await LegacyStorageTests.write(path)
        await #expect(throws: CancellationError.self) {
            try await maintenance.erase { _ in throw CancellationError() }
        }
        #expect(try await maintenance.slotNames() == ["s1", "s2"])
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
