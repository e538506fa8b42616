import Foundation
import PowerSync
import Testing

@Suite struct TransactionTests {
    @Test
    func writeTransactionCommitsAllStatements() async throws {
        try await withMemoryDatabase { database in
            try await database.writeTransaction { transaction in
                for index in 0..<200 {
                    try transaction.execute(
                        sql: "INSERT INTO users (id, name) VALUES (?, ?)",
                        parameters: ["\(index)", "user \(index)"]
                    )
                }
            }
            #expect(try await database.count("users") == 200)
        }
    }

    @Test
    func errorRollsTheWriteTransactionBack() async throws {
        struct Refusal: Error {}
        try await withMemoryDatabase { database async throws in
            await #expect(throws: Refusal.self) {
                try await database.writeTransaction { transaction in
                    try transaction.execute(sql: "INSERT INTO users (id, name) VALUES ('1', 'Ada')", parameters: [])
                    throw Refusal()
                }
            }
            #expect(try await database.count("users") == 0)
        }
    }

    @Test
    func resultsPassThroughSendableOrNot() async throws {
        final class Box { let value = 1 }
        try await withMemoryDatabase { database in
            let none = try await database.writeTransaction { _ in nil as Any? }
            #expect(none == nil)
            let box = try await database.writeTransaction { _ in Box() }
            #expect(box.value == 1)
            let pair = try await database.writeLock { _ in (1, Box()) }
            #expect(pair.0 == pair.1.value)
            let flag = try await database.readTransaction { transaction in
                try transaction.get(sql: "SELECT 1", parameters: []) { try $0.getBoolean(index: 0) }
            }
            #expect(flag)
        }
    }

    enum Kind: CaseIterable { case memory, file }

    @Test(arguments: Kind.allCases)
    func readTransactionReadsAndCannotWrite(_ kind: Kind) async throws {
        let body = { (database: any PowerSyncDatabaseProtocol) async throws in
            try await database.insertUser("Ada")
            let count = try await database.readTransaction { transaction in
                try transaction.get(sql: "SELECT count(*) FROM users", parameters: []) { try $0.getInt(index: 0) }
            }
            #expect(count == 1)
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.readTransaction { transaction in
                    _ = try transaction.execute(sql: "INSERT INTO users (id, name) VALUES ('2', 'B')", parameters: [])
                }
            }
            #expect(error?.localizedDescription.contains("attempt to write a readonly database") == true)
            try await database.insertUser("Bob")
            #expect(try await database.count("users") == 2)
        }
        switch kind {
        case .memory: try await withMemoryDatabase(testSchema, body)
        case .file: try await withFileDatabase(testSchema, body)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func readTransactionSeesTheStateOfItsStart() async throws {
        try await withFileDatabase { database in
            try await database.waitForReady()
            let hasStarted = Counter()
            let gate = Gate()
            async let count = database.readTransaction { transaction in
                hasStarted.increment()
                gate.wait()
                return try transaction.get(sql: "SELECT count(*) FROM users", parameters: []) {
                    try $0.getInt(index: 0)
                }
            }
            await hasStarted.wait(for: 1)
            try await database.insertUser("Ada")
            gate.open()
            #expect(try await count == 0)
        }
    }

    @Test
    func statementThatEndsTheTransactionLeavesTheConnectionUsable() async throws {
        try await withMemoryDatabase { database in
            try await database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
            try await database.execute("INSERT INTO t VALUES (1)")
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.writeTransaction { transaction in
                    try transaction.execute(sql: "INSERT INTO t VALUES (2)", parameters: [])
                    try transaction.execute(sql: "INSERT OR ROLLBACK INTO t VALUES (1)", parameters: [])
                }
            }
            guard case .sqliteError(1555, _, _, _, _) = error else {
                Issue.record("expected a primary key constraint, not \(String(describing: error))")
                return
            }
            #expect(try await database.count("t") == 1)
            try await database.execute("INSERT INTO t VALUES (3)")
            #expect(try await database.count("t") == 2)
        }
    }

    @Test
    func commitThatFailsIsRolledBack() async throws {
        try await withMemoryDatabase { database in
            try await database.execute("PRAGMA foreign_keys = ON")
            try await database.execute("CREATE TABLE a (id INTEGER PRIMARY KEY)")
            try await database.execute(
                "CREATE TABLE b (a INTEGER REFERENCES a (id) DEFERRABLE INITIALLY DEFERRED)"
            )
            await #expect(throws: PowerSyncError.self) {
                try await database.writeTransaction { try $0.execute(sql: "INSERT INTO b VALUES (9)", parameters: []) }
            }
            #expect(try await database.count("b") == 0)
            try await database.insertUser("Ada")
        }
    }

    @Test
    func transactionThatACallbackLeavesOpenIsRolledBack() async throws {
        let writer = CollectingLogWriter()
        try await withMemoryDatabase(logger: DefaultLogger(minSeverity: .warning, writers: [writer])) { database in
            try await database.writeLock { context in
                try context.execute(sql: "BEGIN", parameters: [])
                try context.execute(sql: "INSERT INTO users (id, name) VALUES ('1', 'Ada')", parameters: [])
            }
            #expect(try await database.count("users") == 0)
        }
        #expect(writer.messages(.warning).count == 1)
    }
}
