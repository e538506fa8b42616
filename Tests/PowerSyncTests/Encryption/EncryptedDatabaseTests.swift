import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSync
import PowerSyncCoreTestSupport
import PowerSyncTesting
import TestSupport
import Testing

/// Encrypted files, over SQLCipher: `scripts/test-sqlite sqlcipher`.
@Suite(.enabled(if: TestedCipher.isThere), .timeLimit(.minutes(1))) struct EncryptedDatabaseTests {
    /// In no file that SQLite itself makes.
    private static let marker = "Zanzibar"

    private static let schema = Schema(
        Table(name: "lists", columns: [.text("name")], trackPreviousValues: TrackPreviousValuesOptions()),
        Table(name: "notes", columns: [.text("body")], localOnly: true),
        Table(name: "words", columns: [.text("text")], indexes: [.fullText(columns: ["text"])]),
        Table(name: "prices", columns: [.text("name"), .integer("cents")], direct: true)
    )

    private static let bytes = Data((0..<32).map { UInt8($0 * 7 % 256) })
    private static let salted = Data((0..<48).map { UInt8($0 * 5 % 256) })

    private func open(
        _ path: String,
        _ key: (@Sendable () throws -> DatabaseKey)? = { try .bytes(bytes) }
    ) -> any PowerSyncDatabaseProtocol {
        let logger = DefaultLogger(writers: [])
        guard let key else { return PowerSyncDatabase(schema: Self.schema, dbFilename: path, logger: logger) }
        return PowerSyncDatabase(schema: Self.schema, dbFilename: path, logger: logger, key: key)
    }

    private func fill(_ database: any PowerSyncDatabaseProtocol) async throws {
        try await database.writeTransaction { transaction in
            for (sql, count) in [
                ("INSERT INTO lists (id, name) VALUES (?, ?)", 300), ("INSERT INTO notes (id, body) VALUES (?, ?)", 3),
                ("INSERT INTO words (id, text) VALUES (?, ?)", 30), ("INSERT INTO prices (id, name) VALUES (?, ?)", 30),
            ] {
                for number in 0..<count {
                    try transaction.execute(sql: sql, parameters: ["id\(number)", "\(Self.marker) \(number)"])
                }
            }
        }
        try await database.execute("UPDATE lists SET name = name || ' again' WHERE id < 'id2'")
        try await database.execute("DELETE FROM words WHERE id = 'id1'")
    }

    /// What the app sees, and what is under it.
    private func content(_ database: any PowerSyncDatabaseProtocol) async throws -> [String] {
        try await database.readLock { context in
            let queries = [
                "SELECT id || name FROM lists", "SELECT id || body FROM notes", "SELECT id || name FROM prices",
                "SELECT id || '/' || tx_id || '/' || data FROM ps_crud",
                "SELECT rowid || data FROM ps_data__words",
                "SELECT group_concat(id) FROM words_fts WHERE words_fts MATCH 'zanzibar'",
                "SELECT key || value FROM ps_kv",
            ]
            return try queries.flatMap { sql in
                try context.getAll(sql: sql, parameters: []) { $0.getStringOptional(index: 0) ?? "" }
            }
        }
    }

    private func expectFailure(
        _ code: DatabaseKeyError.Code,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () async throws -> Void
    ) async {
        let error = await #expect(throws: PowerSyncError.self, sourceLocation: sourceLocation) { try await body() }
        guard case .operationFailed(_, let cause as DatabaseKeyError) = error else {
            Issue.record("unexpected error \(String(describing: error))", sourceLocation: sourceLocation)
            return
        }
        #expect(cause.code == code, sourceLocation: sourceLocation)
        #expect(error?.code == .cannotOpen, sourceLocation: sourceLocation)
    }

    /// The files in a folder that have a text.
    private func files(with text: String, in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
            try Data(contentsOf: folder.appending(path: name)).range(of: Data(text.utf8)) != nil
        }
    }

    @Test(arguments: [
        "secret", "it's \"quoted\" \\ -- ; /* %", " ", "日本語🔑", String(repeating: "long ", count: 200_000), "x'00'",
    ])
    func rowsComeBackWithTheKeyAlone(_ passphrase: String) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let first = open(path) { try .passphrase(passphrase) }
            try await first.execute(sql: "INSERT INTO lists (id, name) VALUES ('a', ?)", parameters: [Self.marker])
            try await first.close()
            let second = open(path) { try .passphrase(passphrase) }
            let names = try await second.getAll(sql: "SELECT name FROM lists", parameters: []) {
                try $0.getString(index: 0)
            }
            #expect(names == [Self.marker])
            try await second.close()
            await expectFailure(.wrongKey) {
                let third = open(path) { try .passphrase(passphrase + "?") }
                defer { Task { try await third.close() } }
                _ = try await third.execute("SELECT 1")
            }
            #expect(try files(with: Self.marker, in: directory).isEmpty)
        }
    }

    @Test(arguments: [true, false])
    func noFileHasPlainText(leavesHeaderPlain: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let key: @Sendable () throws -> DatabaseKey = {
                try .bytes(Self.salted, leavesHeaderPlain: leavesHeaderPlain)
            }
            let database = open(path, key)
            try await fill(database)
            // The log has the pages: the file is not written before a checkpoint.
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(names.contains("test.db-wal"))
            #expect(try files(with: Self.marker, in: directory).isEmpty)
            #expect(try files(with: "ps_crud", in: directory).isEmpty)
            let before = try await content(database)
            try await database.close()
            #expect(try files(with: Self.marker, in: directory).isEmpty)
            let header = try Data(contentsOf: URL(filePath: path)).prefix(15)
            #expect((header == Data("SQLite format 3".utf8)) == leavesHeaderPlain)
            let again = open(path, key)
            #expect(try await content(again) == before)
            try await again.close()
        }
    }

    @Test func aWrongKeyAPlainFileAndAMissingKeyAreToldApart() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "encrypted.db").path
            let plain = directory.appending(path: "plain.db").path
            for database in [open(path), open(plain, nil)] {
                try await fill(database)
                try await database.close()
            }
            // One after the other: databases of a file share its connections.
            let (wrong, other) = (open(path) { try .bytes(Self.salted) }, open(plain))
            for _ in 0..<2 {
                await expectFailure(.wrongKey) { _ = try await wrong.execute("SELECT 1") }
                await expectFailure(.notEncrypted) { _ = try await other.execute("SELECT 1") }
            }
            for database in [wrong, other] { try await database.close() }
            let none = open(path, nil)
            let error = await #expect(throws: PowerSyncError.self) { try await none.execute("SELECT 1") }
            guard case .sqliteError(26, _, _, _, _) = error else {
                Issue.record("expected SQLITE_NOTADB, not \(String(describing: error))")
                return
            }
            try await none.close()
        }
    }

    @Test func theKeyIsAskedForOncePerOpening() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let calls = CallCounter()
            let database = open(path) {
                calls.count()
                return try .bytes(Self.bytes)
            }
            try await fill(database)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { _ = try await content(database) } }
                try await group.waitForAll()
            }
            // A further handle shares the connections.
            let other = open(path) {
                calls.count()
                return try .bytes(Self.bytes)
            }
            #expect(try await content(other) == content(database))
            #expect(calls.value == 1)
            try await other.close()
            try await database.close(deleteDatabase: true)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        }
    }

    /// What SQLite sorts and temporary tables are in no file.
    @Test(arguments: [
        [], ["PRAGMA temp_store = FILE"], ["PRAGMA cache_size = 100; PRAGMA temp_store = 1;"],
        ["CREATE TEMP TABLE session (a)"],
    ])
    func temporaryFilesAreInMemoryWhateverTheAppSets(_ statements: [String]) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let database = PowerSyncDatabase(
                schema: Self.schema,
                dbFilename: path,
                logger: DefaultLogger(writers: []),
                initialStatements: statements,
                key: { try .bytes(Self.bytes) }
            )
            // A key of the app's own does the same.
            let own = PowerSyncDatabase(
                schema: Self.schema,
                dbFilename: directory.appending(path: "own.db").path,
                logger: DefaultLogger(writers: []),
                initialStatements: [Self.keyPragma] + statements
            )
            let look = { @Sendable (context: any ConnectionContext) in
                try context.get(sql: "PRAGMA temp_store", parameters: []) { try $0.getInt(index: 0) }
            }
            for database in [database, own] {
                try await database.execute("INSERT INTO lists (id) VALUES ('1')")
                #expect(try await database.writeLock(callback: look) == 2)
                #expect(try await database.readLock(callback: look) == 2)
                // Temporary tables of these statements stay.
                let count = try await database.readLock { context in
                    try context.get(
                        sql: "SELECT count(*) FROM sqlite_temp_schema WHERE name = 'session'",
                        parameters: []
                    ) {
                        try $0.getInt(index: 0)
                    }
                }
                #expect(count == (statements.contains { $0.contains("session") } ? 1 : 0))
                try await database.close()
            }
            #expect(try files(with: "SQLite format", in: directory).isEmpty)
        }
    }

    // MARK: Connections of the app

    /// What an app gives its own connections.
    private static let keyPragma =
        "PRAGMA key = \"x'\(bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())'\""

    @Test func connectionsBesideThoseOfTheAppHaveTheKey() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let open = {
                OpenedPowerSyncDatabase(
                    schema: Self.schema,
                    pool: PlainPool(path: path, first: Self.keyPragma),
                    identifier: path,
                    logger: DefaultLogger(writers: []),
                    key: { try .bytes(Self.bytes) }
                )
            }
            let database = open()
            try await fill(database)
            let before = try await content(database)
            #expect(before.count > 600)
            #expect(try await database.getCrudBatch()?.crud.isEmpty == false)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).contains("test.db-wal"))
            for text in [Self.marker, "ps_crud", "SQLite format"] {
                #expect(try files(with: text, in: directory).isEmpty, "\(text)")
            }
            try await database.close()
            #expect(try files(with: Self.marker, in: directory).isEmpty)
            let again = open()
            #expect(try await content(again) == before)
            try await again.close()
        }
    }

    @Test func connectionsBesideThoseOfTheAppSayWhenTheirKeyIsAnother() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let first = open(path)
            try await first.execute("INSERT INTO lists (id) VALUES ('1')")
            try await first.close()
            let database = OpenedPowerSyncDatabase(
                schema: Self.schema,
                pool: PlainPool(path: path, first: Self.keyPragma),
                identifier: path,
                logger: DefaultLogger(writers: []),
                key: { try .bytes(Self.salted) }
            )
            for _ in 0..<2 { await expectFailure(.wrongKey) { try await database.waitForReady() } }
            try await database.close()
            let again = open(path)
            #expect(try await again.get("SELECT id FROM lists") { try $0.getString(index: 0) } == "1")
            try await again.close()
        }
    }

    // MARK: Changing the key

    /// From no key to one, to another one, and back.
    @Test func aChangedKeyKeepsEverything() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let first = open(path, nil)
            try await fill(first)
            let before = try await content(first)
            #expect(before.count > 300)
            try await first.close()
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
            let keys: [DatabaseKey?] = [
                nil, try .passphrase("it's secret"), try .bytes(Self.bytes),
                try .bytes(Self.salted, leavesHeaderPlain: true), try .bytes(Self.salted), nil,
            ]
            for (old, new) in zip(keys, keys.dropFirst()) {
                try await DatabaseKey.change(ofFile: path, from: old, to: new)
                #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["test.db"])
                #expect(try files(with: Self.marker, in: directory).isEmpty == (new != nil))
                let database = if let new { open(path, { new }) } else { open(path, nil) }
                #expect(try await content(database) == before)
                try await database.close()
            }
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o640)
        }
    }

    @Test func aChangeIsRefusedForAFileThatIsInUseOrHasAnotherKey() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let database = open(path)
            try await fill(database)
            let change: @Sendable (DatabaseKey?, DatabaseKey?) async throws -> Void = { old, new in
                try await DatabaseKey.change(ofFile: path, from: old, to: new)
            }
            let key = try DatabaseKey.bytes(Self.bytes)
            let inUse = await #expect(throws: PowerSyncError.self) { try await change(key, nil) }
            #expect(inUse?.code == .fileInUse)
            let before = try await content(database)
            try await database.close()
            await expectFailure(.wrongKey) { try await change(try .passphrase("other"), nil) }
            await expectFailure(.wrongKey) { try await change(nil, try .passphrase("other")) }

            // A connection that is not the SDK's, as that of another process.
            var configuration = Configuration()
            configuration.prepareDatabase { try $0.execute(sql: Self.keyPragma) }
            let other = try DatabasePool(path: path, configuration: configuration)
            try await other.write { try $0.execute(sql: "CREATE TABLE mine (id)") }
            await #expect(throws: PowerSyncError.self) { try await change(key, nil) }
            try other.close()
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["test.db"])
            let again = open(path)
            #expect(try await content(again) == before)
            try await again.close()

            let plain = directory.appending(path: "plain.db").path
            let unencrypted = open(plain, nil)
            try await fill(unencrypted)
            try await unencrypted.close()
            await expectFailure(.notEncrypted) { try await DatabaseKey.change(ofFile: plain, from: key, to: nil) }
        }
    }

    /// What a process leaves that dies while it copies the file.
    @Test func whatAnInterruptedChangeHasLeftIsRemoved() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let database = open(path)
            try await fill(database)
            let before = try await content(database)
            try await database.close()
            let leave = {
                for suffix in ["-rekey", "-rekey-journal"] {
                    try Data("\(Self.marker)".utf8).write(to: URL(filePath: path + suffix))
                }
            }
            try leave()
            let next = open(path)
            #expect(try await content(next) == before)
            #expect(try files(with: Self.marker, in: directory).isEmpty)
            try await next.close()
            try leave()
            try await DatabaseKey.change(ofFile: path, from: .bytes(Self.bytes), to: .bytes(Self.salted))
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["test.db"])
        }
    }
}

private final class CallCounter: Sendable {
    private let calls = NIOLockedValueBox(0)

    var value: Int { calls.withLockedValue { $0 } }

    func count() { calls.withLockedValue { $0 += 1 } }
}
