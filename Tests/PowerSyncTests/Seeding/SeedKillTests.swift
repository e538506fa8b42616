import Foundation
import LocalDatabaseWorker
import PowerSyncClient
import PowerSyncCoreTestSupport
import TestSupport
import Testing

/// Processes that end while they make a database of a seed.
@Suite(.timeLimit(.minutes(1))) struct SeedKillTests {
    @Test(arguments: SeedingStep.allCases)
    func afterEachStepThereIsNoDatabaseOrAWholeOne(_ step: SeedingStep) async throws {
        let fixture = try await SeedFixture()
        let path = fixture.folder.path("app.db")
        var task = WorkerTask(.seed, path: path)
        task.seeding = WorkerSeeding(from: fixture.path, death: step)
        let worker = try WorkerProcess(argument: try task.argument())
        #expect(await worker.waitForExit() == SIGKILL)
        let isThere = FileManager.default.fileExists(atPath: path)
        #expect(isThere == [.placed, .finished].contains(step))
        let hasCopy = FileManager.default.fileExists(atPath: path + "-seeding")
        #expect(hasCopy == [.copied, .copyFinished, .placed].contains(step))
        // The seed is not needed any more where the file is whole.
        let database = fixture.database("app.db", seed: isThere ? "/missing" : nil)
        #expect(try await database.listIDs() == ["a1", "a2"])
        #expect(try await database.get("PRAGMA integrity_check") { try $0.getString(index: 0) } == "ok")
        #expect(try await UUID(uuidString: database.getClientId()) != nil)
        try await database.close()
        #expect(try fixture.files("app.db").allSatisfy { !$0.contains("-seed") })
    }

    @Test func nextOpeningWithoutASeedTidiesUp() async throws {
        let fixture = try await SeedFixture()
        let path = fixture.folder.path("app.db")
        var task = WorkerTask(.seed, path: path)
        task.seeding = WorkerSeeding(from: fixture.path, death: .copied)
        let worker = try WorkerProcess(argument: try task.argument())
        #expect(await worker.waitForExit() == SIGKILL)
        let database = PowerSyncDatabase(
            schema: SeedFixture.schema,
            dbFilename: path,
            logger: DefaultLogger(writers: [])
        )
        #expect(try await database.listIDs().isEmpty)
        try await database.close()
        #expect(try fixture.files("app.db").allSatisfy { !$0.contains("-seed") })
    }
}

/// Seeds of databases with a key, over SQLCipher: `scripts/test-sqlite sqlcipher`.
@Suite(.enabled(if: TestedCipher.isThere), .timeLimit(.minutes(1))) struct EncryptedSeedTests {
    @Test func copyIsEncryptedBeforeItIsTheDatabase() async throws {
        let fixture = try await SeedFixture()
        let path = fixture.folder.path("app.db")
        let bytes = Data((0..<32).map { UInt8($0) })
        let database = PowerSyncDatabase(
            schema: SeedFixture.schema,
            dbFilename: path,
            logger: DefaultLogger(writers: []),
            seedFile: URL(filePath: fixture.path),
            key: { try .bytes(bytes) }
        )
        #expect(try await database.listIDs() == ["a1", "a2"])
        try await database.close()
        let content = try Data(contentsOf: URL(filePath: path))
        #expect(content.range(of: Data("of no table".utf8)) == nil)
        #expect(try fixture.files("app.db") == ["app.db"])
    }
}
