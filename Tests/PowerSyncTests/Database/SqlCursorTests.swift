import Foundation
import PowerSync
import Testing

@Suite struct SqlCursorTests {
    private static let sql = "SELECT 'Ada' AS name, 36 AS age, 1.5 AS score, 1 AS flag, '110' AS digits, NULL AS absent"

    @Test
    func valuesAreReadByNameAndByIndex() async throws {
        try await withMemoryDatabase { database in
            try await database.get(Self.sql) { cursor throws in
                #expect(try cursor.getString(name: "name") == "Ada")
                #expect(try cursor.getString(index: 0) == "Ada")
                #expect(try cursor.getInt(name: "age") == 36)
                #expect(try cursor.getInt64(index: 1) == 36)
                #expect(try cursor.getDouble(name: "score") == 1.5)
                #expect(try cursor.getDouble(index: 2) == 1.5)
                #expect(try cursor.getBoolean(name: "flag"))
                #expect(try cursor.getBoolean(index: 3))
                #expect(try cursor.getInt(name: "digits") == 110)
                #expect(cursor.columnCount == 6)
                #expect(cursor.columnNames["absent"] == 5)
            }
        }
    }

    @Test
    func optionalGettersGiveNilForNULLByIndexAlsoOutOfRange() async throws {
        try await withMemoryDatabase { database in
            try await database.get(Self.sql) { cursor throws in
                #expect(try cursor.getStringOptional(name: "absent") == nil)
                #expect(try cursor.getIntOptional(name: "absent") == nil)
                #expect(cursor.getDoubleOptional(index: 5) == nil)
                #expect(cursor.getBooleanOptional(index: 5) == nil)
                #expect(cursor.getInt64Optional(index: 6) == nil)
                #expect(cursor.getStringOptional(index: -1) == nil)
                #expect(try cursor.getStringOptional(name: "name") == "Ada")
            }
        }
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let read: @Sendable (any SqlCursor) throws -> Void
    }

    static let failures = [
        Failure(testDescription: "SqlCursorError:columnNotFound:other") { _ = try $0.getString(name: "other") },
        Failure(testDescription: "SqlCursorError:columnNotFound:other") { _ = try $0.getIntOptional(name: "other") },
        Failure(testDescription: "SqlCursorError:nullValueFound:absent") { _ = try $0.getString(name: "absent") },
        Failure(testDescription: "SqlCursorError:nullValueFound:absent") { _ = try $0.getBoolean(name: "absent") },
        Failure(testDescription: "SqlCursorError:nullValueFound:5") { _ = try $0.getDouble(index: 5) },
        Failure(testDescription: "SqlCursorError:nullValueFound:invalid index 6") { _ = try $0.getInt(index: 6) },
    ]

    @Test(arguments: failures)
    func errorsNameTheColumn(_ failure: Failure) async throws {
        try await withMemoryDatabase { database in
            let error = await #expect(throws: SqlCursorError.self) {
                try await database.get(Self.sql) { try failure.read($0) }
            }
            #expect(error?.localizedDescription == failure.testDescription)
        }
    }

    @Test func lastOfRepeatedNamesCounts() async throws {
        try await withMemoryDatabase { database async throws in
            #expect(try await database.get("SELECT 1 AS a, 2 AS a") { try $0.getInt(name: "a") } == 2)
        }
    }

    @Test func cursorHasNoColumnsAfterItsQuery() async throws {
        struct Leak: @unchecked Sendable { let cursor: any SqlCursor }
        try await withMemoryDatabase { database in
            let leak = Shared<Leak?>(nil)
            try await database.get("SELECT 'x' AS a") { cursor in
                leak.value = Leak(cursor: cursor)
            }
            let cursor = try #require(leak.value).cursor
            #expect(cursor.getStringOptional(index: 0) == nil)
            #expect(throws: SqlCursorError.self) { try cursor.getString(index: 0) }
        }
    }
}
