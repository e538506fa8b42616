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
    private static let bytes = Data((0..<32).map { UInt8($0) })
    /// In rows of the seed.
    private static let marker = "of no table"

    private func database(_ fixture: SeedFixture, seed: String? = nil) -> any PowerSyncDatabaseProtocol {
        PowerSyncDatabase(
            schema: SeedFixture.schema,
            dbFilename: fixture.folder.path("app.db"),
            logger: DefaultLogger(writers: []),
            seedFile: URL(filePath: seed ?? fixture.path),
            key: { try .bytes(Self.bytes) }
        )
    }

    /// The files of the database that have a text.
    private func files(with text: String, _ fixture: SeedFixture) throws -> [String] {
        try fixture.files("app.db").filter { name in
            try Data(contentsOf: fixture.folder.url.appending(path: name)).range(of: Data(text.utf8)) != nil
        }
    }

    @Test func copyIsEncryptedBeforeItIsTheDatabase() async throws {
        let fixture = try await SeedFixture()
        let database = database(fixture)
        #expect(try await database.listIDs() == ["a1", "a2"])
        try await database.execute("INSERT INTO drafts (id, text) VALUES ('1', 'Zanzibar')")
        // The log has the newest pages.
        #expect(try fixture.files("app.db").contains("app.db-wal"))
        for text in [Self.marker, "Zanzibar", "ps_oplog", "SQLite format"] {
            #expect(try files(with: text, fixture).isEmpty, "\(text)")
        }
        try await database.close()
        #expect(try fixture.files("app.db").allSatisfy { !$0.contains("-seed") })
        #expect(try files(with: Self.marker, fixture).isEmpty)
        // The seed is as it was, and the next opening does without it.
        #expect(try Data(contentsOf: URL(filePath: fixture.path)).range(of: Data(Self.marker.utf8)) != nil)
        let again = self.database(fixture, seed: "/missing")
        #expect(try await again.listIDs() == ["a1", "a2"])
        try await again.close()
    }

    @Test(arguments: SeedingStep.allCases)
    func afterEachStepThereIsNoDatabaseOrAnEncryptedOne(_ step: SeedingStep) async throws {
        let fixture = try await SeedFixture()
        var task = WorkerTask(.seed, path: fixture.folder.path("app.db"))
        task.seeding = WorkerSeeding(from: fixture.path, death: step, key: Self.bytes)
        let worker = try WorkerProcess(argument: try task.argument())
        #expect(await worker.waitForExit() == SIGKILL)
        let isThere = try fixture.files("app.db").contains("app.db")
        #expect(isThere == [.placed, .finished].contains(step))
        // Until it is encrypted, the copy is as the seed is.
        #expect(try files(with: Self.marker, fixture) == (step == .copied ? ["app.db-seeding"] : []))
        let database = database(fixture, seed: isThere ? "/missing" : nil)
        #expect(try await database.listIDs() == ["a1", "a2"])
        try await database.close()
        #expect(try fixture.files("app.db").allSatisfy { !$0.contains("-seed") })
        #expect(try files(with: Self.marker, fixture).isEmpty)
    }
}
