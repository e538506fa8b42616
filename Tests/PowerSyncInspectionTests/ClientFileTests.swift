import Foundation
import GRDB
import PowerSync
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncInspection

/// How files are opened, and what is said about those that cannot be.
@Suite(.timeLimit(.minutes(1))) struct ClientFileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func expectRefusal(
        _ code: ClientFileError.Code,
        _ words: String,
        of path: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: ClientFileError.self, sourceLocation: sourceLocation) {
            try Inspection.report(of: ClientFile(path: path))
        }
        #expect(error?.code == code, sourceLocation: sourceLocation)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")", sourceLocation: sourceLocation)
        #expect(error?.message.contains(path) == true, sourceLocation: sourceLocation)
    }

    private func write(_ bytes: some Sequence<UInt8>) throws -> String {
        let path = folder.path("file.db")
        try Data(bytes).write(to: URL(filePath: path))
        return path
    }

    @Test func whatIsNoDatabaseOfAClientIsRefused() throws {
        expectRefusal(.missing, "does not exist", of: folder.path("nowhere.db"))
        expectRefusal(.folder, "is a folder", of: folder.path(""))
        expectRefusal(.empty, "is empty", of: try write([]))
        expectRefusal(.notSQLite, "not an SQLite database", of: try write("hello".utf8))
        expectRefusal(.notSQLite, "not an SQLite database", of: try write(repeatElement(0x61, count: 8192)))
        expectRefusal(.notSQLite, "not an SQLite database", of: try write("SQLite format 3\0".utf8))
        var random = SeededGenerator(seed: 1)
        expectRefusal(
            .encrypted,
            "--key-file",
            of: try write((0..<8192).map { _ in UInt8.random(in: 0...255, using: &random) })
        )
    }

    @Test func databasesOfOtherProgramsAreRefused() throws {
        let path = folder.path("other.db")
        let queue = try DatabaseQueue(path: path)
        try queue.write { try $0.execute(sql: "CREATE TABLE lists(id)") }
        expectRefusal(.notPowerSync, "no table ps_migration", of: path)
        try queue.write {
            try $0.execute(sql: "CREATE TABLE ps_migration(id INTEGER PRIMARY KEY, down_migrations TEXT)")
        }
        expectRefusal(.notPowerSync, "ps_migration has no rows", of: path)
        try queue.write { try $0.execute(sql: "INSERT INTO ps_migration(id) VALUES (15)") }
        expectRefusal(.newerVersion, "version 15", of: path)
    }

    @Test func aLockedFileIsNamed() throws {
        let path = folder.path("locked.db")
        let queue = try DatabaseQueue(path: path)
        try queue.write { try $0.execute(sql: "CREATE TABLE ps_migration(id INTEGER PRIMARY KEY)") }
        try queue.inDatabase { db in
            try db.execute(sql: "BEGIN EXCLUSIVE")
            expectRefusal(.inUse, "locked by another process", of: path)
            try db.execute(sql: "ROLLBACK")
        }
    }

    @Test func aFileThatNobodyUsesStaysAloneAndUnchanged() async throws {
        let fixture = try await ClientFileFixture()
        let before = try fixture.files
        #expect(before.count == 1)
        #expect(try fixture.report().findings == [])
        #expect(try fixture.files == before)
    }

    @Test func aFileIsReadWhileAnAppUsesIt() async throws {
        let fixture = try await ClientFileFixture()
        let database = fixture.open()
        try await database.execute("INSERT INTO todos(id, title) VALUES ('t9', 'In the log')")
        let before = try fixture.files.filter { !$0.key.hasSuffix("-shm") }
        let report = try fixture.report()
        #expect(report.uploadQueue.writes == 1 && report.file.logBytes > 0)
        #expect(try fixture.files.filter { !$0.key.hasSuffix("-shm") } == before)
        // The app goes on.
        try await database.execute("INSERT INTO todos(id, title) VALUES ('t10', 'After it')")
        #expect(try fixture.report().uploadQueue.writes == 2)
        try await database.close()
    }

    @Test func aFileWithTheLogOfAnAppThatDiedIsReadWithIt() async throws {
        let fixture = try await ClientFileFixture()
        let database = fixture.open()
        try await database.execute("INSERT INTO todos(id, title) VALUES ('t9', 'In the log')")
        let files = try fixture.files.filter { !$0.key.hasSuffix("-shm") }
        for (name, bytes) in files { try bytes.write(to: folder.url.appending(path: name)) }
        try await database.close()
        let path = folder.path(URL(filePath: fixture.path).lastPathComponent)
        #expect(try Inspection.report(of: ClientFile(path: path)).uploadQueue.writes == 1)
        for (name, bytes) in files { #expect(try Data(contentsOf: folder.url.appending(path: name)) == bytes) }
    }

    @Test func aFileBehindASymbolicLinkIsReadWithItsLog() async throws {
        let fixture = try await ClientFileFixture()
        let database = fixture.open()
        try await database.execute("INSERT INTO todos(id, title) VALUES ('t9', 'In the log')")
        let link = folder.path("link.db")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: fixture.path)
        let file = try ClientFile(path: link)
        #expect(file.logSize > 0)
        #expect(try Inspection.report(of: file).uploadQueue.writes == 1)
        let count = try file.readCopy { try $0.integer("SELECT count(*) FROM ps_crud") }
        #expect(count == 1)
        try await database.close()
    }

    @Test func aCopyIsReadWhereSQLiteMayNotMakeItsFiles() async throws {
        let fixture = try await ClientFileFixture()
        let database = fixture.open()
        try await database.execute("INSERT INTO todos(id, title) VALUES ('t9', 'In the log')")
        let count = try ClientFile(path: fixture.path).readCopy { try $0.integer("SELECT count(*) FROM ps_crud") }
        #expect(count == 1)
        try await database.close()
    }

    @Test func aTransactionThatAProcessHasLeftBehindIsRolledBackInACopy() throws {
        let path = folder.path("hot.db")
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA cache_size = 1;
                    CREATE TABLE ps_migration(id INTEGER PRIMARY KEY, filler TEXT);
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 14)
                    INSERT INTO ps_migration SELECT i, hex(zeroblob(4000)) FROM n;
                    BEGIN; UPDATE ps_migration SET filler = hex(randomblob(4000)), id = id + 100;
                    """
            )
            // The pages are in the file already, and the old ones in the journal: as after a crash.
            for suffix in ["", "-journal"] {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: folder.path("crashed.db") + suffix)
            }
            try db.execute(sql: "ROLLBACK")
        }
        let crashed = folder.path("crashed.db")
        let before = try Data(contentsOf: URL(filePath: crashed))
        let newest = try ClientFile(path: crashed).read { try $0.integer("SELECT max(id) FROM ps_migration") }
        #expect(newest == 14)
        #expect(try Data(contentsOf: URL(filePath: crashed)) == before)
    }
}
