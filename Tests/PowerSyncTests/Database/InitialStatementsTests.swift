import Foundation
import PowerSync
import PowerSyncCoreTestSupport
import TestSupport
import Testing

/// Statements of the app that run before anything else.
@Suite(.timeLimit(.minutes(1))) struct InitialStatementsTests {
    private func open(_ path: String, _ statements: [String]) -> any PowerSyncDatabaseProtocol {
        PowerSyncDatabase(
            schema: testSchema,
            dbFilename: path,
            logger: DefaultLogger(writers: []),
            initialStatements: statements
        )
    }

    /// Temporary tables belong to one connection, read-only ones included.
    private static let statements = [
        "CREATE TEMP TABLE seen (step, cache_size)",
        "INSERT INTO seen SELECT 1, cache_size FROM pragma_cache_size",
        "INSERT INTO seen SELECT max(step) + 1, 0 FROM seen; INSERT INTO seen SELECT max(step) + 1, 0 FROM seen",
    ]

    @Test(arguments: [":memory:", "test.db"])
    func theyRunInOrderOnEveryConnectionBeforeTheSDKsOwn(_ name: String) async throws {
        try await withTemporaryDirectory { directory in
            let path = name == ":memory:" ? name : directory.appending(path: name).path
            let database = open(path, Self.statements)
            let look = { @Sendable (context: any ConnectionContext) in
                try context.getAll(sql: "SELECT step, cache_size FROM seen ORDER BY rowid", parameters: []) { cursor in
                    [try cursor.getInt(index: 0), try cursor.getInt(index: 1)]
                }
            }
            for rows in [
                try await database.writeLock(callback: look), try await database.readLock(callback: look),
            ] {
                #expect(rows.map { $0[0] } == [1, 2, 3])
                // The SDK sets it to -51200 later.
                #expect(rows[0][1] != -51_200)
            }
            try await database.close()
        }
    }

    @Test(arguments: [0, 1])
    func errorInAnyOfThemFailsEveryOperationWithSQLitesText(_ place: Int) async throws {
        try await withTemporaryDirectory { directory in
            var statements = ["PRAGMA temp_store = MEMORY"]
            statements.insert("SELEKT 1", at: place)
            let database = open(directory.appending(path: "test.db").path, statements)
            let operations: [@Sendable () async throws -> Void] = [
                { try await database.waitForReady() },
                { _ = try await database.execute("SELECT 1") },
                { _ = try await database.getCrudBatch() },
                { try await database.waitForFirstSync() },
                { try await database.disconnectAndClear() },
            ]
            for operation in operations {
                let error = await #expect(throws: PowerSyncError.self) { try await operation() }
                #expect(error?.localizedDescription.contains(#"near "SELEKT": syntax error"#) == true)
            }
            #expect(database.currentStatus.hasSynced == nil)
            try await database.close()
        }
    }

    @Test(
        .enabled(if: !TestedCipher.isThere),
        arguments: [
            "PRAGMA key = 'secret'", "pragma main.key='secret'", "PRAGMA key(\"x'00'\")", "PRAGMA hexkey = '00'",
            "PRAGMA rekey = 'new'", "PRAGMA [key] = 'secret'", "-- the key\n/* of\nthe file */ PRAGMA key = 'secret';",
            "PRAGMA cache_size = 7; PRAGMA\nKEY = 'x'",
        ]
    )
    func keyIsRefusedInsteadOfBeingIgnored(_ statement: String) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let database = open(path, [statement])
            for _ in 0..<2 {
                let error = await #expect(throws: PowerSyncError.self) { try await database.execute("SELECT 1") }
                guard case .operationFailed(_, let cause as DatabaseKeyError) = error, cause.code == .noCipher else {
                    Issue.record("unexpected error \(String(describing: error))")
                    return
                }
                #expect(error?.localizedDescription.contains("SQLCipher") == true)
                #expect(error?.localizedDescription.contains("secret") == false)
            }
            try await database.close()
            let content = try? Data(contentsOf: URL(fileURLWithPath: path))
            #expect(content?.isEmpty != false, "nothing was written without encryption")
        }
    }

    @Test(arguments: [
        "PRAGMA foreign_keys = ON", "SELECT 'PRAGMA key = 1'", "CREATE TEMP TABLE key (pragma)",
        "-- PRAGMA key = 'x'\nSELECT 1",
        "PRAGMA key", "PRAGMA temp_store = MEMORY",
    ])
    func otherStatementsSetNoKey(_ statement: String) async throws {
        try await withTemporaryDirectory { directory in
            let database = open(directory.appending(path: "test.db").path, [statement])
            try await database.waitForReady()
            try await database.close()
        }
    }

    /// What an encrypted file looks like without its key.
    @Test func fileThatCannotBeReadIsReportedByTheFirstOperation() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let noise = Data((0..<8192).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13) })
            try noise.write(to: URL(fileURLWithPath: path))
            let database = open(path, [])
            for _ in 0..<2 {
                let error = await #expect(throws: PowerSyncError.self) { try await database.execute("SELECT 1") }
                guard case .sqliteError(26, _, _, _, _) = error else {
                    Issue.record("expected SQLITE_NOTADB, not \(String(describing: error))")
                    return
                }
            }
            try await database.close()
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == noise)
        }
    }
}
