import Foundation
import GRDB
import PowerSync
import PowerSyncCoreTestSupport
import PowerSyncGRDB
import Testing

/// The table of values of the documentation ("What Columns Can Hold") through GRDB: each value as an argument of a statement, as
/// it is read back, and as `CrudEntry` has it.
@Suite(.timeLimit(.minutes(1))) struct StatementValueTests {
    private static let columns = ["t": "title", "i": "done", "r": "weight"]

    private func expectSame(_ actual: DatabaseValue?, _ expected: DatabaseValue) {
        switch (actual?.storage, expected.storage) {
        case (.double(let actual), .double(let expected)): #expect(actual.bitPattern == expected.bitPattern)
        case (.string(let actual), .string(let expected)): #expect(actual.utf8.elementsEqual(expected.utf8))
        default: #expect(actual == expected)
        }
    }

    private func expectSame(_ actual: JsonValue?, _ expected: DatabaseValue) {
        switch (actual, expected.storage) {
        case (.double(let actual), .double(let expected)): #expect(actual.bitPattern == expected.bitPattern)
        case (.string(let actual), .string(let expected)): #expect(actual.utf8.elementsEqual(expected.utf8))
        case (.int(let actual), .int64(let expected)): #expect(Int64(actual) == expected)
        // An insert names only columns that have a value.
        case (nil, .null): break
        default: Issue.record("\(String(describing: actual)) is uploaded for \(expected)")
        }
    }

    @Test(arguments: ColumnValue.kept) func argumentsAreKept(_ example: ColumnValue) async throws {
        let harness = try PoolHarness()
        _ = try await harness.database.getCrudBatch()
        let column = try #require(Self.columns[example.column])
        let sql = example.sql
        let value = try await harness.pool.write { db in
            let value = try #require(try DatabaseValue.fetchOne(db, sql: "SELECT \(sql)"))
            try db.execute(sql: "INSERT INTO todos(id, \(column)) VALUES ('x', ?)", arguments: [value])
            try db.execute(sql: "UPDATE todos SET list_id = 'l'")
            return value
        }
        // The oldest SQLite end a text at a NUL when a view reads it; what is stored and uploaded has all of it.
        if example.testDescription != "NUL" {
            let read = try await harness.pool.read {
                try DatabaseValue.fetchOne($0, sql: "SELECT \(column) FROM todos")
            }
            expectSame(read, value)
        }
        let entries = try #require(try await harness.database.getCrudBatch()).crud
        expectSame(entries[0].opDataTyped?[column], value)
        #expect(entries[1].opDataTyped == ["list_id": .string("l")])
        #expect(entries.allSatisfy { $0.damage == nil })
    }

    @Test(arguments: ColumnValue.refused) func statementsAreRefused(_ example: ColumnValue) async throws {
        let harness = try PoolHarness()
        _ = try await harness.database.getCrudBatch()
        let column = try #require(Self.columns[example.column])
        let sql = example.sql
        let error = await #expect(throws: DatabaseError.self) {
            try await harness.pool.write { db in
                try db.execute(sql: "INSERT INTO todos(id, \(column)) VALUES ('x', \(sql))")
            }
        }
        #expect(error?.message?.contains("todos.\(column): ") == true)
        #expect(error?.message?.contains(example.refusal) == true)
        #expect(try await harness.database.getCrudBatch() == nil)
    }
}
