import Foundation
import PowerSync
import Testing

@Suite struct BatchTests {
    private static let insert = "INSERT INTO notes (id, text) VALUES (?, ?)"

    private func withNotes(_ body: (any PowerSyncDatabaseProtocol) async throws -> Void) async throws {
        try await withFileDatabase { database in
            try await database.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text)")
            try await body(database)
        }
    }

    @Test func everySetRunsAndChangesAddUp() async throws {
        try await withNotes { database in
            let sets: [[(any Sendable)?]] = [[1, "a"], [2, nil], [3, "c"]]
            #expect(try await database.executeBatch(sql: Self.insert, parameterSets: sets) == 3)
            let changes = try await database.executeBatch(
                sql: "UPDATE notes SET text = 'x' WHERE id <= ?",
                parameterSets: [[1], [2], [0]]
            )
            #expect(changes == 3)
        }
    }

    @Test(arguments: [[2], [2, "b", "c"]] as [[any Sendable]])
    func tooFewAndTooManyValuesNameTheirSet(_ set: [any Sendable]) async throws {
        try await withNotes { database in
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.executeBatch(sql: Self.insert, parameterSets: [[1, "a"], set])
            }
            let text = error?.localizedDescription ?? ""
            #expect(text.contains("Parameter set 1 ") && text.contains("has 2 parameters"), "\(text)")
            let count = try await database.count("notes")
            #expect(count == 0)
        }
    }

    @Test func valuesOfOneSetAreNotThoseOfTheNext() async throws {
        try await withNotes { database in
            try await database.executeBatch(sql: Self.insert, parameterSets: [[1, "a"], [2, nil]])
            let texts = try await database.getAll("SELECT text FROM notes ORDER BY id") {
                $0.getStringOptional(index: 0)
            }
            #expect(texts == ["a", nil])
        }
    }

    @Test
    func writesOfABatchAreOneTransactionOfTheUploadQueue() async throws {
        try await withMemoryDatabase { database in
            try await database.executeBatch(
                sql: "INSERT INTO users (id, name) VALUES (uuid(), ?)",
                parameterSets: [["Ada"], ["Bob"]]
            )
            #expect(try await database.getNextCrudTransaction()?.crud.count == 2)
            #expect(try await database.count("users") == 2)
        }
    }

    @Test
    func errorUndoesTheBatchAndNamesTheSet() async throws {
        try await withNotes { database in
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.executeBatch(sql: Self.insert, parameterSets: [[1, "a"], [2, "b"], [1, "c"]])
            }
            guard case .operationFailed(let message, let underlying as PowerSyncError)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(message?.contains("Parameter set 2 ") == true)
            guard case .sqliteError(1555, _, _, _, let sql) = underlying else {
                Issue.record("\(underlying)")
                return
            }
            #expect(sql == Self.insert)
            let count = try await database.count("notes")
            #expect(count == 0)
            // The connection is as before.
            #expect(try await database.executeBatch(sql: Self.insert, parameterSets: [[1, "a"]]) == 1)
        }
    }

    @Test func valueThatCannotBeBoundNamesItsSet() async throws {
        struct Stranger {}
        try await withNotes { database in
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.executeBatch(sql: Self.insert, parameterSets: [[1, "a"], [2, Stranger()]])
            }
            #expect(error?.localizedDescription.contains("Parameter set 1 ") == true)
            let count = try await database.count("notes")
            #expect(count == 0)
        }
    }

    @Test func statementThatDoesNotCompileNamesNoSet() async throws {
        try await withNotes { database in
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.executeBatch(sql: "INSERT INTO nowhere VALUES (?)", parameterSets: [[1]])
            }
            #expect(error?.localizedDescription.contains("no such table: nowhere") == true)
            #expect(error?.localizedDescription.contains("Parameter set") == false)
        }
    }

    @Test func batchWithoutSetsDoesNothing() async throws {
        try await withNotes { database in
            let changes = try await database.executeBatch(sql: Self.insert, parameterSets: [])
            #expect(changes == 0)
        }
    }
}
