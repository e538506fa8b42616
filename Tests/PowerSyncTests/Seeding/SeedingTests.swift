import Foundation
import GRDB
import PowerSyncCoreTestSupport
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// Databases that begin with a seed.
@Suite(.timeLimit(.minutes(1))) struct SeedingTests {
    private func expectRefusal(
        _ database: any PowerSyncDatabaseProtocol,
        _ words: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: PowerSyncError.self, sourceLocation: sourceLocation) {
            try await database.waitForReady()
        }
        #expect(error?.code == .cannotOpen, sourceLocation: sourceLocation)
        for word in words {
            #expect(
                error?.localizedDescription.contains(word) == true,
                "\(error?.localizedDescription ?? "")",
                sourceLocation: sourceLocation
            )
        }
    }

    // MARK: What a database begins with

    @Test func databaseHasTheRowsAndTheCheckpointOfTheSeedAndNothingOfADevice() async throws {
        let fixture = try await SeedFixture()
        let database = fixture.database("app.db")
        #expect(try await database.listIDs() == ["a1", "a2"])
        #expect(database.currentStatus.hasSynced == true)
        #expect(database.currentStatus.lastSyncedAt != nil)
        #expect(try await database.getUploadQueueStats(includeSize: false).count == 0)
        #expect(try await database.getAll("SELECT id FROM drafts") { try $0.getString(index: 0) }.isEmpty)
        let keys = try await database.getAll("SELECT key FROM ps_kv ORDER BY key") { try $0.getString(index: 0) }
        #expect(keys == ["client_id", "powersync_js_migrated_subkeys", "swift_seed"])
        // The first write of a new file.
        try await database.execute("INSERT INTO lists (id, name) VALUES ('x', 'mine')")
        #expect(try await database.getNextCrudTransaction()?.crud.map(\.clientId) == [1])
        try await database.close()
        // Until its user has connected, it can be opened again and again.
        let again = fixture.database("app.db")
        #expect(try await again.listIDs() == ["a1", "a2", "x"])
        try await again.close()
    }

    @Test func seedIsOneFileThatNamesNobodyAndIsNotChangedByUse() async throws {
        let fixture = try await SeedFixture()
        #expect(try fixture.files("seed") == ["seed.db"])
        let before = try Data(contentsOf: URL(filePath: fixture.path))
        let mode = try FileManager.default.attributesOfItem(atPath: fixture.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(before.range(of: Data(SeedFixture.user.utf8)) == nil)
        // As in the bundle of an app.
        try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: fixture.path)
        let database = fixture.database("sub/folder/app.db")
        try await database.execute("INSERT INTO lists (id, name) VALUES ('x', 'mine')")
        let copyMode = try FileManager.default.attributesOfItem(atPath: fixture.folder.path("sub/folder/app.db"))
        #expect(copyMode[.posixPermissions] as? Int == 0o600)
        try await database.close()
        #expect(try Data(contentsOf: URL(filePath: fixture.path)) == before)
        #expect(try fixture.files("seed") == ["seed.db"])
    }

    @Test func eachCopyHasAClientIDOfItsOwn() async throws {
        let fixture = try await SeedFixture()
        var ids: Set<String> = []
        for name in ["one.db", "two.db"] {
            for _ in 0..<2 {
                let database = fixture.database(name)
                ids.insert(try await database.getClientId())
                try await database.close()
            }
        }
        #expect(ids.count == 2)
        #expect(ids.allSatisfy { UUID(uuidString: $0) != nil })
        // A copy that the app has made itself is one, too; and so is the seed when it is opened in its place.
        let plain = fixture.folder.path("plain.db")
        try FileManager.default.copyItem(atPath: fixture.path, toPath: plain)
        for path in [plain, fixture.path] {
            let database = PowerSyncDatabase(
                schema: SeedFixture.schema,
                dbFilename: path,
                logger: DefaultLogger(writers: [])
            )
            #expect(try await database.listIDs() == ["a1", "a2"])
            ids.insert(try await database.getClientId())
            try await database.close()
        }
        #expect(ids.count == 4)
    }

    @Test func rowsOfTablesThatTheAppDoesNotHaveWaitForThem() async throws {
        let fixture = try await SeedFixture()
        let database = fixture.database("app.db")
        #expect(try await database.get("SELECT count(*) FROM ps_untyped") { try $0.getInt(index: 0) } == 1)
        let text = Column.text("text")
        for table in [Table(name: "other", columns: [text]), Table(name: "other", columns: [text], direct: true)] {
            try await database.updateSchema(schema: Schema(tables: SeedFixture.schema.tables + [table]))
            #expect(try await database.get("SELECT text FROM other") { try $0.getString(index: 0) } == "of no table")
        }
        try await database.close()
        let typed = fixture.database(
            "direct.db",
            schema: Schema(Table(name: "lists", columns: [.text("name")], direct: true))
        )
        #expect(try await typed.listIDs() == ["a1", "a2"])
        try await typed.close()
    }

    @Test func fileThatIsThereStaysAsItIsWhateverTheSeed() async throws {
        let fixture = try await SeedFixture()
        let first = PowerSyncDatabase(
            schema: SeedFixture.schema,
            dbFilename: fixture.folder.path("app.db"),
            logger: DefaultLogger(writers: [])
        )
        try await first.execute("INSERT INTO lists (id, name) VALUES ('x', 'mine')")
        try await first.close()
        for seed in [fixture.path, fixture.folder.path("missing.db")] {
            let database = fixture.database("app.db", seed: seed)
            #expect(try await database.listIDs() == ["x"])
            try await database.close()
        }
    }

    @Test func logOfADatabaseThatWasDeletedIsNotThatOfTheCopy() async throws {
        let fixture = try await SeedFixture()
        let old = fixture.folder.path("app.db")
        let queue = try DatabaseQueue(path: old)
        try await queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES (1)")
            try FileManager.default.copyItem(atPath: old + "-wal", toPath: old + "-kept")
        }
        try queue.close()
        try FileManager.default.removeItem(atPath: old)
        try FileManager.default.moveItem(atPath: old + "-kept", toPath: old + "-wal")
        let database = fixture.database("app.db")
        #expect(try await database.listIDs() == ["a1", "a2"])
        #expect(try await database.get("PRAGMA integrity_check") { try $0.getString(index: 0) } == "ok")
        try await database.close()
    }

    @Test func threadsThatSeedOneFileMakeOne() async throws {
        let fixture = try await SeedFixture()
        let path = fixture.folder.path("app.db")
        let failures = await withTaskGroup(of: Bool.self) { tasks in
            for _ in 0..<8 {
                tasks.addTask {
                    (try? SeedFile(path: fixture.path, user: nil).place(at: path, key: nil)) == nil
                }
            }
            return await tasks.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(failures == 0)
        #expect(try fixture.files("app.db") == ["app.db"])
        #expect(try Data(contentsOf: URL(filePath: path)) == Data(contentsOf: URL(filePath: fixture.path)))
    }

    // MARK: What is refused

    @Test func whatIsNoSeedIsRefusedWithTheWayOut() async throws {
        let fixture = try await SeedFixture()
        await expectRefusal(fixture.database("app.db", seed: "/missing.db"), "/missing.db", "powersync seed")
        let text = fixture.folder.path("text.db")
        try Data("not a database, and longer than the header of one".utf8).write(to: URL(filePath: text))
        let ordinary = fixture.folder.path("ordinary.db")
        let database = PowerSyncDatabase(
            schema: SeedFixture.schema,
            dbFilename: ordinary,
            logger: DefaultLogger(writers: [])
        )
        try await database.waitForReady()
        try await database.close()
        let opened = fixture.folder.path("opened.db")
        let copy = fixture.database("opened.db")
        try await copy.waitForReady()
        try await copy.close()
        let foreign = fixture.folder.path("foreign.db")
        let queue = try DatabaseQueue(path: foreign)
        try await queue.write { try $0.execute(sql: "CREATE TABLE t(x)") }
        try queue.close()
        for path in [text, ordinary, opened, foreign] {
            await expectRefusal(fixture.database("app.db", seed: path), path, "is no seed", "powersync seed")
        }
        #expect(try fixture.files("app.db").isEmpty)
    }

    @Test(arguments: [
        ("INSERT INTO ps_migration(id) VALUES (15)", "15"),
        (#"UPDATE ps_kv SET value = '{"version":2}' WHERE key = 'swift_seed'"#, "2"),
        ("UPDATE ps_kv SET value = 'what' WHERE key = 'swift_seed'", "later"),
    ])
    func seedOfANewerVersionIsRefused(_ change: String, version: String) async throws {
        let fixture = try await SeedFixture()
        let queue = try DatabaseQueue(path: fixture.path)
        try await queue.write { try $0.execute(sql: change) }
        try queue.close()
        await expectRefusal(fixture.database("app.db"), fixture.path, version, "Update the package")
        #expect(try fixture.files("app.db").isEmpty)
    }

    @Test func databaseInMemoryTakesNone() async throws {
        let fixture = try await SeedFixture()
        let database = PowerSyncDatabase(
            schema: SeedFixture.schema,
            dbFilename: ":memory:",
            logger: DefaultLogger(writers: []),
            seedFile: URL(filePath: fixture.path)
        )
        let error = await #expect(throws: PowerSyncError.self) { try await database.waitForReady() }
        #expect(error?.code == .notSupported)
    }

    @Test func copyThatFailsLeavesNoDatabase() async throws {
        let fixture = try await SeedFixture()
        // In the place of the folder.
        try Data().write(to: URL(filePath: fixture.folder.path("taken")))
        let database = fixture.database("taken/app.db")
        let error = await #expect(throws: PowerSyncError.self) { try await database.waitForReady() }
        #expect(error?.localizedDescription.contains(fixture.path) == true, "\(String(describing: error))")
        try FileManager.default.removeItem(atPath: fixture.folder.path("taken"))
        #expect(try await database.listIDs() == ["a1", "a2"])
        try await database.close()
    }

    @Test func seedThatIsALinkStaysAsItIs() async throws {
        let fixture = try await SeedFixture()
        let before = try Data(contentsOf: URL(filePath: fixture.path))
        let link = fixture.folder.path("link.db")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: fixture.path)
        let database = fixture.database("app.db", seed: link)
        #expect(try await database.listIDs() == ["a1", "a2"])
        try await database.close()
        #expect(try Data(contentsOf: URL(filePath: fixture.path)) == before)
    }
}
