import Foundation
import PowerSync
import PowerSyncCoreTestSupport
import Testing

/// The table of values of the documentation ("What Columns Can Hold") through the functions of the SDK: each value as a
/// parameter, as it is read back, and as `CrudEntry` has it.
@Suite(.timeLimit(.minutes(1))) struct BoundValueTests {
    private static let schema = Schema(
        Table(
            name: "items",
            columns: [.text("t"), .integer("i"), .real("r"), .integer("other")],
            trackMetadata: true,
            trackPreviousValues: TrackPreviousValuesOptions()
        )
    )

    private static func value(_ cursor: any SqlCursor) throws -> JsonValue {
        switch try cursor.getString(index: 0) {
        case "null": .null
        case "integer": .int(try cursor.getInt(index: 1))
        case "real": .double(try cursor.getDouble(index: 1))
        case "text": .string(try cursor.getString(index: 1))
        case let type: throw PowerSyncError.operationFailed(message: "The value is a \(type).")
        }
    }

    private static func parameter(_ value: JsonValue) -> (any Sendable)? {
        switch value {
        case .int(let value): value
        case .double(let value): value
        case .string(let value): value
        default: nil
        }
    }

    /// Bit for bit and byte for byte: -0.0 is another value than 0.0, and a composed letter another than its parts.
    private func expectSame(_ actual: JsonValue?, _ expected: JsonValue?, _ comment: Comment) {
        switch (actual, expected) {
        case (.double(let actual), .double(let expected)):
            #expect(actual.bitPattern == expected.bitPattern, comment)
        case (.string(let actual), .string(let expected)):
            #expect(actual.utf8.elementsEqual(expected.utf8), comment)
        default: #expect(actual == expected, comment)
        }
    }

    @Test(arguments: ColumnValue.kept) func parametersAreKept(_ example: ColumnValue) async throws {
        try await withMemoryDatabase(Self.schema) { database in
            func read(_ expression: String, _ from: String = "") async throws -> JsonValue {
                try await database.get("SELECT typeof(\(expression)), \(expression) \(from)") { try Self.value($0) }
            }
            let column = example.column
            let value = try await read(example.sql)
            try await database.execute(
                sql: "INSERT INTO items(id, \(column), _metadata) VALUES ('x', ?, ?)",
                parameters: [Self.parameter(value), example.testDescription]
            )
            try await database.execute(sql: "UPDATE items SET other = 1", parameters: [])

            // The oldest SQLite end a text at a NUL when a view reads it; what is stored and uploaded has all of it.
            if example.testDescription != "NUL" {
                expectSame(try await read(column, "FROM items"), value, "read back")
            }
            let entries = try #require(try await database.getCrudBatch()).crud
            #expect(entries.allSatisfy { $0.damage == nil })
            expectSame(entries[0].opDataTyped?[column], value == .null ? nil : value, "uploaded")
            #expect(entries[0].metadata == example.testDescription)
            if example.testDescription != "NUL" {
                expectSame(entries[1].previousValuesTyped?[column], value, "previous value")
            }
            #expect(entries[1].opDataTyped == ["other": .int(1)])
        }
    }

    @Test(arguments: ColumnValue.refused) func statementsAreRefused(_ example: ColumnValue) async throws {
        try await withMemoryDatabase(Self.schema) { database async throws in
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.execute(
                    sql: "INSERT INTO items(id, \(example.column)) VALUES ('x', \(example.sql))",
                    parameters: []
                )
            }
            let message = error?.localizedDescription ?? ""
            #expect(message.contains("items.\(example.column)") && message.contains(example.refusal))
            #expect(try await database.getCrudBatch() == nil)
        }
    }

    @Test(arguments: [Double.infinity, -.infinity]) func infiniteParametersAreRefused(_ number: Double) async throws {
        try await withMemoryDatabase(Self.schema) { database async throws in
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.execute(sql: "INSERT INTO items(id, r) VALUES ('x', ?)", parameters: [number])
            }
            #expect(error?.localizedDescription.contains("items.r: JSON cannot hold infinite numbers") == true)
            #expect(try await database.getCrudBatch() == nil)
        }
    }

    @Test func notANumberIsNull() async throws {
        try await withMemoryDatabase(Self.schema) { database in
            try await database.execute(sql: "INSERT INTO items(id, r) VALUES ('x', ?)", parameters: [Double.nan])
            #expect(try await database.get("SELECT r FROM items") { $0.getDoubleOptional(index: 0) } == nil)
            #expect(try await database.getCrudBatch()?.crud.first?.opDataTyped == [:])
        }
    }
}
