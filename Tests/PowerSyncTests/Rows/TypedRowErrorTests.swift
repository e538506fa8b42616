import Foundation
import PowerSync
import Testing

/// Rows that are not what a type says.
@Suite(.timeLimit(.minutes(1))) struct TypedRowErrorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let sql: String
        let code: TypedRowError.Code
        let read: @Sendable (any PowerSyncDatabaseProtocol) async throws -> Void
        let testDescription: String

        init<Value: Decodable & Sendable>(_ value: String, _ type: Value.Type, _ code: TypedRowError.Code) {
            let sql = "SELECT 1 AS w, \(value) AS v"
            (self.sql, self.code, testDescription) = (sql, code, "\(value) as \(type)")
            read = { _ = try await $0.getAll(sql, as: Cell<Value>.self) }
        }
    }

    private struct Cell<Value: Decodable & Sendable>: Decodable, Sendable { let v: Value }

    private enum Size: String, Codable { case small, large }

    static let cases = [
        Case("NULL", String.self, .unexpectedNull),
        Case("NULL", Int.self, .unexpectedNull),
        Case("NULL", Date.self, .unexpectedNull),
        Case("NULL", [Int].self, .unexpectedNull),
        Case("NULL", Size.self, .unexpectedNull),
        Case("5", String.self, .typeMismatch),
        Case("'5'", Int.self, .typeMismatch),
        Case("'5'", Double.self, .typeMismatch),
        Case("x'00'", String.self, .typeMismatch),
        Case("'yes'", Bool.self, .typeMismatch),
        Case("2", Bool.self, .outOfRange),
        Case("1.5", Int.self, .outOfRange),
        Case("9e999", Int.self, .outOfRange),
        Case("9223372036854775808.0", Int64.self, .outOfRange),
        Case("128", Int8.self, .outOfRange),
        Case("-1", UInt64.self, .outOfRange),
        Case("-1", UInt.self, .outOfRange),
        Case("9007199254740993", Double.self, .outOfRange),
        Case("1e300", Float.self, .outOfRange),
        Case("9e999", Date.self, .outOfRange),
        Case("9e999", Decimal.self, .outOfRange),
        Case("'tomorrow'", Date.self, .malformedValue),
        Case("'2026-02-29'", Date.self, .malformedValue),
        Case("x'00'", Date.self, .typeMismatch),
        Case("'0f8fad5b'", UUID.self, .malformedValue),
        Case("5", UUID.self, .typeMismatch),
        Case("'not base64!'", Data.self, .malformedValue),
        Case("5", Data.self, .typeMismatch),
        Case("''", URL.self, .malformedValue),
        Case("5", URL.self, .typeMismatch),
        Case("'1,5'", Decimal.self, .malformedValue),
        Case("'12x'", Decimal.self, .malformedValue),
        Case("'0.\(String(repeating: "1", count: 45))'", Decimal.self, .outOfRange),
        Case("'1e-200'", Decimal.self, .outOfRange),
        Case("'-1e99999999999999999999'", Decimal.self, .outOfRange),
        Case("'medium'", Size.self, .malformedValue),
        Case("'[1,'", [Int].self, .malformedValue),
        Case("'[300]'", [Int8].self, .outOfRange),
        Case("x'00'", JsonValue.self, .typeMismatch),
    ]

    @Test(arguments: cases)
    func mismatchesTellQueryRowColumnAndValue(_ test: Case) async throws {
        try await withMemoryDatabase { database in
            let error = await #expect(throws: TypedRowError.self) { try await test.read(database) }
            #expect(error?.code == test.code)
            #expect(error?.sql == test.sql)
            #expect(error?.row == 1)
            #expect(error?.column == "v")
            #expect(error?.value?.isEmpty == false)
            #expect(error?.type?.isEmpty == false)
            #expect(error?.table == nil)
        }
    }

    @Test func theTextIsForPeople() async throws {
        struct Task: Decodable, Sendable { let title: String, done: Bool }
        let sql = "SELECT title, done FROM (SELECT 'a' AS title, 1 AS done UNION ALL SELECT 'b', 'yes')"
        try await withMemoryDatabase { database in
            let error = await #expect(throws: TypedRowError.self) { try await database.getAll(sql, as: Task.self) }
            #expect(error?.description == "Row 2, column 'done': text 'yes' is no Bool (\(sql))")
            #expect(error?.localizedDescription == error?.description)
            let long = await #expect(throws: TypedRowError.self) {
                try await database.get(
                    "SELECT 't' AS title, '\(String(repeating: "é", count: 5_000))' AS done",
                    as: Task.self
                )
            }
            #expect(long?.value == "text '\(String(repeating: "é", count: 40))…'")
        }
    }

    @Test func aMissingColumnTellsWhichThereAre() async throws {
        struct Task: Decodable, Sendable { let name: String }
        try await withMemoryDatabase { database in
            let error = await #expect(throws: TypedRowError.self) {
                try await database.get("SELECT 1 AS a, 2 AS b", as: Task.self)
            }
            #expect(error?.code == .missingColumn)
            #expect(error?.column == "name")
            #expect(error?.message == "there is no such column among 'a', 'b'")
        }
    }

    @Test func theRowIsThatOfTheResult() async throws {
        try await withMemoryDatabase { database in
            let sql =
                "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT nullif(i, 700) FROM n"
            let error = await #expect(throws: TypedRowError.self) { try await database.getAll(sql, as: Int.self) }
            #expect(error?.row == 700)
            let again = await #expect(throws: TypedRowError.self) { try await database.getAll(sql, as: Int.self) }
            #expect(again?.row == 700)
        }
    }
}
