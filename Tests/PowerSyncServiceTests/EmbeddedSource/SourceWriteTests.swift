import GRDB
import PowerSyncProtocol
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Writes of clients.
@Suite struct SourceWriteTests {
    private func rows(_ scenario: SourceScenario) async throws -> [String] {
        try await scenario.source.pool.read { db in
            try Row.fetchAll(db, sql: "SELECT id, owner, name FROM lists ORDER BY id").map { row in
                row.map { "\($0.1)" }.joined(separator: " ")
            }
        }
    }

    @Test func writesAreAppliedInOrder() async throws {
        let scenario = try SourceScenario()
        try await scenario.source.apply([
            SourceWrite(.put, table: "lists", id: "a", values: ["owner": "u1", "name": "A", "id": "ignored"]),
            SourceWrite(.put, table: "lists", id: "b", values: ["owner": "u1"]),
            SourceWrite(.put, table: "lists", id: "a", values: ["name": "AA"]),
            SourceWrite(.patch, table: "lists", id: "b", values: ["name": "B"]),
            SourceWrite(.patch, table: "lists", id: "missing", values: ["name": "M"]),
            SourceWrite(.patch, table: "lists", id: "b"),
            SourceWrite(.put, table: "lists", id: "c"),
            SourceWrite(.put, table: "lists", id: "c"),
            SourceWrite(.put, table: "lists", id: "d"),
            SourceWrite(.delete, table: "lists", id: "d", values: ["name": "ignored"]),
        ])
        #expect(try await rows(scenario) == [#""a" "u1" "AA""#, #""b" "u1" "B""#, #""c" NULL NULL"#])
    }

    @Test func jsonValuesBecomeSQLiteValues() async throws {
        let scenario = try SourceScenario(schema: ["CREATE TABLE lists (id TEXT PRIMARY KEY, a, b, c, d, e)"])
        try await scenario.source.apply([
            SourceWrite(
                .put,
                table: "lists",
                id: "x",
                values: ["a": true, "b": 9_007_199_254_740_993, "c": 0.5, "d": nil, "e": [1, "ü"]]
            )
        ])
        let row = try scenario.source.pool.read { db -> Row? in try Row.fetchOne(db, sql: "SELECT * FROM lists") }
        let expected: Row = [
            "id": "x", "a": 1, "b": 9_007_199_254_740_993, "c": 0.5, "d": nil, "e": #"[1,"ü"]"#,
        ]
        #expect(row == expected)
    }

    struct Wrong: CustomTestStringConvertible {
        var write: SourceWrite
        var code: SourceWriteError.Code
        var mentions: String
        var testDescription: String { "\(code): \(mentions)" }
    }

    @Test(arguments: [
        Wrong(write: SourceWrite(.put, table: "nope", id: "a"), code: .unknownTable, mentions: "“nope”"),
        Wrong(write: SourceWrite(.put, table: "_ps_log", id: "a"), code: .unknownTable, mentions: "“_ps_log”"),
        Wrong(
            write: SourceWrite(.patch, table: "lists", id: "a", values: ["colour": "red"]),
            code: .unknownColumn,
            mentions: "“colour”"
        ),
        Wrong(
            write: SourceWrite(.put, table: "lists", id: "a", values: ["x\" = 1; --": 1]),
            code: .unknownColumn,
            mentions: "x\" = 1"
        ),
        Wrong(write: SourceWrite(.put, table: "other", id: "a"), code: .unsupportedTable, mentions: "“other”"),
        Wrong(
            write: SourceWrite(.put, table: "strict", id: "a", values: ["n": nil]),
            code: .rejected,
            mentions: "NOT NULL"
        ),
        Wrong(
            write: SourceWrite(.put, table: "strict", id: "a", values: ["n": 1, "g": 1]),
            code: .rejected,
            mentions: "“strict”"
        ),
        Wrong(
            write: SourceWrite(.put, table: "numbers", id: "not a number"),
            code: .rejected,
            mentions: "“numbers”"
        ),
    ])
    func wrongWriteIsNamedAndNothingIsApplied(_ wrong: Wrong) async throws {
        let scenario = try SourceScenario(schema: [
            SourceScenario.lists,
            "CREATE TABLE other (key TEXT PRIMARY KEY)",
            "CREATE TABLE strict (id TEXT PRIMARY KEY, n NOT NULL, g AS (n + 1))",
            "CREATE TABLE numbers (id INTEGER PRIMARY KEY)",
        ])
        let right = SourceWrite(.put, table: "lists", id: "first", values: ["name": "N"])
        await #expect {
            try await scenario.source.apply([right, wrong.write, right])
        } throws: { error in
            guard let error = error as? SourceWriteError else { return false }
            return error.code == wrong.code && error.index == 1 && error.message.contains(wrong.mentions)
        }
        #expect(try await rows(scenario).isEmpty)
    }
}
