import Foundation
import LocalDatabaseWorker
import PowerSync
import PowerSyncClient
import PowerSyncCoreTestSupport
import TestSupport
import Testing

/// Processes that end while they change the key of a file, over SQLCipher: `scripts/test-sqlite sqlcipher`.
@Suite(.enabled(if: TestedCipher.isThere), .timeLimit(.minutes(5))) struct KeyChangeKillTests {
    /// In no file that SQLite itself makes.
    private static let marker = "Zanzibar"
    private static let schema = Schema(Table(name: "lists", columns: [.text("name")]))

    /// The key that a file has and the one that it gets.
    struct Keys: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let old: Data?
        let new: Data?

        static let all = [
            Keys(testDescription: "encrypts", old: nil, new: key(7)),
            Keys(testDescription: "changes", old: key(7), new: key(5)),
            Keys(testDescription: "decrypts", old: key(7), new: nil),
        ]

        private static func key(_ factor: Int) -> Data { Data((0..<32).map { UInt8($0 * factor % 256) }) }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let keys: Keys
        let step: KeyChangeStep
        var testDescription: String { "\(keys.testDescription), \(step)" }
    }

    static let steps = Keys.all.flatMap { keys in KeyChangeStep.allCases.map { Case(keys: keys, step: $0) } }

    private func open(_ path: String, _ key: Data?) -> any PowerSyncDatabaseProtocol {
        let logger = DefaultLogger(writers: [])
        guard let key else { return PowerSyncDatabase(schema: Self.schema, dbFilename: path, logger: logger) }
        return PowerSyncDatabase(schema: Self.schema, dbFilename: path, logger: logger) { try .bytes(key) }
    }

    /// What the file has, as the app and the upload queue see it.
    private func content(_ path: String, _ key: Data?) async throws -> [String] {
        let database = open(path, key)
        let sql = "SELECT id || name FROM lists UNION ALL SELECT id || data FROM ps_crud"
        let content = try await database.getAll(sql) { try $0.getString(index: 0) }
        #expect(try await database.get("PRAGMA integrity_check") { try $0.getString(index: 0) } == "ok")
        try await database.close()
        return content
    }

    private func fill(_ path: String, _ key: Data?) async throws {
        let database = open(path, key)
        try await database.writeTransaction { transaction in
            for number in 0..<200 {
                try transaction.execute(
                    sql: "INSERT INTO lists (id, name) VALUES (?, ?)",
                    parameters: ["id\(number)", "\(Self.marker) \(number)"]
                )
            }
        }
        try await database.close()
    }

    /// The file is what it was or what it is to be, the next opening leaves nothing beside it, and the change can be made again.
    private func check(
        _ path: String,
        in directory: URL,
        _ keys: Keys,
        isChanged: Bool,
        _ before: [String]
    ) async throws {
        let key = isChanged ? keys.new : keys.old
        #expect(try await content(path, key) == before)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(!names.contains { $0.contains("rekey") }, "\(names)")
        let isPlain = try Data(contentsOf: URL(filePath: path)).range(of: Data(Self.marker.utf8)) != nil
        #expect(isPlain == (key == nil))
        guard !isChanged else { return }
        let (old, new) = try (keys.old.map { try DatabaseKey.bytes($0) }, keys.new.map { try DatabaseKey.bytes($0) })
        try await DatabaseKey.change(ofFile: path, from: old, to: new)
        #expect(try await content(path, keys.new) == before)
    }

    @Test(arguments: steps.one(in: 2)) func afterEachStepTheFileIsOneOrTheOther(_ example: Case) async throws {
        let keys = example.keys
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            try await fill(path, keys.old)
            let before = try await content(path, keys.old)
            #expect(before.count == 400)
            var task = WorkerTask(.changeKey, path: path)
            task.keyChange = WorkerKeyChange(from: keys.old, to: keys.new, death: example.step)
            let worker = try WorkerProcess(argument: try task.argument())
            #expect(await worker.waitForExit() == SIGKILL)
            // Before the next opening tidies up.
            let plain = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { name in
                try Data(contentsOf: directory.appending(path: name)).range(of: Data(Self.marker.utf8)) != nil
            }
            if keys.new != nil { #expect(plain.allSatisfy { !$0.contains("rekey") }, "\(plain)") }
            if keys.old != nil, keys.new != nil { #expect(plain.isEmpty, "\(plain)") }
            let isThere = FileManager.default.fileExists(atPath: path + "-rekey")
            #expect(isThere == [.copyBegun, .copied, .copyClosed].contains(example.step))
            try await check(path, in: directory, keys, isChanged: example.step == .replaced, before)
        }
    }

    /// Where the copy grows beyond the largest size of a file, in the middle of a page too, the change fails.
    @Test(arguments: Keys.all, [1, 2, 3])
    func whereTheCopyCannotGrowTheFileIsTheOldOne(_ keys: Keys, eighths: Int) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            try await fill(path, keys.old)
            let before = try await content(path, keys.old)
            let size = try #require(
                try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
            )
            // In blocks of 512 bytes.
            let limit = (size / 512 - 1) * eighths / 8
            var task = WorkerTask(.changeKey, path: path)
            task.keyChange = WorkerKeyChange(from: keys.old, to: keys.new)
            let worker = try WorkerProcess(argument: try task.argument(), by: "ulimit -c 0; ulimit -f \(limit); exec")
            #expect(await worker.waitForExit() != 0)
            try await check(path, in: directory, keys, isChanged: false, before)
        }
    }
}
