import Foundation
import GRDB
import RunningServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncOperations
@testable import PowerSyncService
@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Files of the storage that earlier builds have left, or that are of another program (docs/service.md "Bucket storage").
@Suite(.timeLimit(.minutes(1))) struct EarlierBuildTests {
    private typealias Scenario = ServiceScenario

    private let folder: TemporaryFolder
    private let path: String
    private let maintenance: SQLiteStorageMaintenance

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("buckets.db")
        maintenance = SQLiteStorageMaintenance(path: path)
    }

    private func write(_ statements: String) async throws {
        let database = try DatabaseQueue(path: path)
        try await database.write { db in try db.execute(sql: statements) }
        try database.close()
    }

    /// Checks that nobody can use the file, and that none of those who look changes it.
    private func expectRefusal(
        _ message: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let before = try Data(contentsOf: URL(filePath: path))
        let attempts: [() async throws -> Void] = [
            { try SQLiteBucketStorage(path: path).close() },
            { try SQLiteBucketStorage(path: path, migrates: false).close() },
            { _ = try await maintenance.version() },
            { try await maintenance.checkOpening(migrates: true) },
            { try await maintenance.migrate() },
        ]
        for attempt in attempts {
            let error = await #expect(throws: BucketStorageError.self, sourceLocation: sourceLocation) {
                try await attempt()
            }
            #expect(error?.code == .unsupportedVersion, sourceLocation: sourceLocation)
            #expect(error?.message == message, sourceLocation: sourceLocation)
        }
        #expect(try Data(contentsOf: URL(filePath: path)) == before, sourceLocation: sourceLocation)
        let error = #expect(throws: BucketStorageError.self, sourceLocation: sourceLocation) {
            try SQLiteBucketStorage(path: path, use: .maintenance)
        }
        #expect(error?.message == message, sourceLocation: sourceLocation)
    }

    @Test(arguments: 1...5)
    func aStorageOfAnEarlierBuildIsRefused(version: Int) async throws {
        try await EarlierBuild.write(path, version: version)
        try await expectRefusal(
            """
            The bucket storage at \(path) was written by an earlier build, and this one cannot use it: run powersync teardown; \
            then everything is copied from the source again.
            """
        )
    }

    /// Builds before had version 1, too, under other marks.
    @Test(arguments: ["0x50534253", "0x5053424B", "0x50534249"])
    func aFileWithTheMarkOfABuildBeforeIsRefused(mark: String) async throws {
        try await EarlierBuild.write(path, version: 1)
        try await write("PRAGMA application_id = \(mark)")
        try await expectRefusal(
            """
            The bucket storage at \(path) was written by an earlier build, and this one cannot use it: run powersync teardown; \
            then everything is copied from the source again.
            """
        )
        #expect(try await maintenance.sourceHandles() == ["s1", "s2"])
    }

    @Test(arguments: ["", "PRAGMA user_version = 1", "PRAGMA user_version = 1; PRAGMA application_id = 7"])
    func aDatabaseOfAnotherProgramIsRefusedAndNotDeleted(marks: String) async throws {
        try await write("CREATE TABLE customers (id); INSERT INTO customers VALUES (7); \(marks)")
        try await expectRefusal(
            """
            \(path) is a database, but not a bucket storage: use another file; or delete it with its -wal and -shm if nobody needs \
            it, and everything is copied from the source.
            """
        )
        let error = await #expect(throws: BucketStorageError.self) {
            try await maintenance.erase { _ in Issue.record("released") }
        }
        #expect(error?.code == .unsupportedVersion)
        let customers = try await DatabaseQueue(path: path).read { db in
            try Int.fetchAll(db, sql: "SELECT id FROM customers")
        }
        #expect(customers == [7])
    }

    /// What was never taken for a version: it would be counted from there.
    @Test(arguments: [0, -1, -5])
    func aMarkWithoutAVersionIsNone(version: Int) async throws {
        try await EarlierBuild.write(path, version: version)
        try await write("PRAGMA application_id = \(SQLiteStorageSchema.applicationID)")
        let error = await #expect(throws: BucketStorageError.self) { try await maintenance.version() }
        #expect(error?.code == .unsupportedVersion)
    }

    @Test func anEmptyFileBecomesAStorageWithTheMark() async throws {
        try Data().write(to: URL(filePath: path))
        #expect(try await maintenance.version().found == nil)
        try SQLiteBucketStorage(path: path).close()
        // What another program has left without tables is nothing, too.
        let other = folder.path("other.db")
        let database = try DatabaseQueue(path: other)
        try await database.write { db in try db.execute(sql: "PRAGMA user_version = 5") }
        try database.close()
        try SQLiteBucketStorage(path: other).close()
        for file in [path, other] {
            let marks = try await DatabaseQueue(path: file).read { db in
                try ["application_id", "user_version"].map { try Int64.fetchOne(db, sql: "PRAGMA \($0)") }
            }
            #expect(marks == [0x5053_424A, 1])
        }
    }

    @Test func aTeardownDeletesTheStorageOfAnEarlierBuild() async throws {
        try await EarlierBuild.write(path)
        let configuration = Scenario.configuration(in: folder)
        let plan = try await SyncService.teardownPlan(of: configuration)
        #expect(plan.slots == ["s1", "s2"])
        try await SyncService.tearDown(configuration, logger: Scenario.logger) { #expect($0 == plan) }
        #expect(!FileManager.default.fileExists(atPath: path))
        // A new service begins with nothing, and works.
        try await Scenario.run(in: folder) { _ in }
    }
}

/// What earlier builds have written, as far as it is still looked at.
enum EarlierBuild {
    /// Writes a file with two streams that have a slot, and one that has none any more.
    static func write(_ path: String, version: Int = 5) async throws {
        let database = try DatabaseQueue(path: path)
        try await database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE op_sequence (id INTEGER PRIMARY KEY CHECK (id = 1), last_op_id INTEGER NOT NULL);
                    CREATE TABLE sync_rules (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        state TEXT NOT NULL,
                        slot_name TEXT NOT NULL UNIQUE
                    );
                    INSERT INTO sync_rules (state, slot_name)
                    VALUES ('TERMINATED', 's0'), ('ACTIVE', 's1'), ('PROCESSING', 's2');
                    PRAGMA user_version = \(version);
                    """
            )
        }
        try database.close()
    }
}
