import Foundation
import GRDB
import TestSupport
import Testing

@testable import PowerSyncClient

/// A file that cannot be used.
@Suite(.timeLimit(.minutes(1))) struct UnusableFileTests {
    private func open(_ path: String) -> any PowerSyncDatabaseProtocol {
        PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: DefaultLogger(writers: []))
    }

    @Test
    func pathBelowSomethingThatIsNoDirectoryIsAnErrorUntilThatIsGone() async throws {
        try await withTemporaryDirectory { directory in
            let obstacle = directory.appending(path: "obstacle")
            try Data("not a directory".utf8).write(to: obstacle)
            let database = open(obstacle.appending(path: "a.db").path)
            for _ in 0..<2 {
                let error = await #expect(throws: PowerSyncError.self) { try await database.insertUser("Ada") }
                #expect(error?.localizedDescription.contains(obstacle.path) == true)
            }
            try FileManager.default.removeItem(at: obstacle)
            try await database.insertUser("Ada")
            #expect(try await database.count("users") == 1)
            try await database.close()
        }
    }

    @Test
    func directoryInThePlaceOfTheFileIsAnErrorUntilItIsGone() async throws {
        try await withTemporaryDirectory { directory in
            let obstacle = directory.appending(path: "a.db")
            try FileManager.default.createDirectory(at: obstacle, withIntermediateDirectories: false)
            let database = open(obstacle.path)
            let error = await #expect(throws: PowerSyncError.self) { try await database.insertUser("Ada") }
            guard case .sqliteError(let code, _, _, _, _) = error else {
                Issue.record("expected an SQLite error, not \(String(describing: error))")
                return
            }
            #expect(code & 0xff == 14)
            try FileManager.default.removeItem(at: obstacle)
            try await database.insertUser("Ada")
            try await database.close()
        }
    }

    @Test(.enabled(if: geteuid() != 0))
    func directoryWithoutPermissionIsAnErrorUntilItIsGranted() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "closed/a.db").path
            let parent = directory.appending(path: "closed").path
            try FileManager.default.createDirectory(
                atPath: parent,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o500]
            )
            let database = open(path)
            await #expect(throws: PowerSyncError.self) { try await database.insertUser("Ada") }
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: parent)
            try await database.insertUser("Ada")
            try await database.close()
        }
    }

    /// What is wrong with a file.
    enum Damage: CaseIterable {
        /// The header is not SQLite's.
        case garbage
        /// Most pages are missing.
        case truncated
        /// An implementation of the future wrote it, and left no way back.
        case newerVersion

        /// The primary result code of the error.
        var code: Int32 {
            switch self {
            case .garbage: 26
            case .truncated: 11
            case .newerVersion: 4
            }
        }

        func inflict(on path: String) throws {
            let file = URL(filePath: path)
            switch self {
            case .garbage:
                var data = try Data(contentsOf: file)
                data.replaceSubrange(0..<100, with: Data(repeating: 0x5a, count: 100))
                try data.write(to: file)
            case .truncated:
                try Data(contentsOf: file).prefix(2 * 4096 + 17).write(to: file)
            case .newerVersion:
                let queue = try DatabaseQueue(path: path)
                try queue.write { try $0.execute(sql: "INSERT INTO ps_migration (id) VALUES (99)") }
                try queue.close()
            }
        }
    }

    /// What must be the same after an attempt to open a file.
    private func content(_ path: String, _ damage: Damage) throws -> [Data] {
        guard damage == .newerVersion else { return [try Data(contentsOf: URL(filePath: path))] }
        // A readable file gets a new change counter when SQLite prepares its log; what it says must not change.
        let queue = try DatabaseQueue(path: path)
        return try queue.read { db in
            let tables = ["sqlite_master", "ps_migration", "ps_kv", "ps_crud", "ps_data__users"]
            return try tables.flatMap { table in
                try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { Data("\($0)".utf8) }
            }
        }
    }

    @Test(arguments: Damage.allCases)
    func damageIsReportedByEveryOperationAndTheFileIsLeftAlone(_ damage: Damage) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            let intact = open(path)
            for number in 0..<200 { try await intact.insertUser("user \(number)") }
            try await intact.close()
            try damage.inflict(on: path)
            let content = try content(path, damage)

            let database = open(path)
            for _ in 0..<2 {
                let error = await #expect(throws: PowerSyncError.self) { try await database.insertUser("Ada") }
                guard case .sqliteError(let code, _, let message, _, _) = error else {
                    Issue.record("expected an SQLite error, not \(String(describing: error))")
                    return
                }
                #expect(code & 0xff == damage.code, "\(code) \(message ?? "")")
                if damage == .newerVersion { #expect(message?.contains("99") == true) }
            }
            try await database.close()
            #expect(try self.content(path, damage) == content)
        }
    }
}
