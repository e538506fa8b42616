import Foundation
import PowerSync
import Testing

/// Names are compared by their bytes, as SQLite does.
@Suite struct SchemaNamesTests {
    private static let composed = "\u{e9}"
    private static let decomposed = "e\u{301}"

    @Test func composedAndDecomposedNamesAreDifferent() async throws {
        let table = Table(
            name: Self.composed,
            columns: [.text(Self.composed), .integer(Self.decomposed)],
            indexes: [
                .ascending(name: Self.composed, column: Self.decomposed),
                .ascending(name: Self.decomposed, column: Self.composed),
            ]
        )
        let schema = Schema(table, Table(name: Self.decomposed, columns: [.text("a")]))
        try schema.validate()
        let json = String(decoding: try JSONEncoder().encode(table), as: UTF8.self)
        #expect(json.components(separatedBy: #""type":"integer""#).count == 3)
        try await withMemoryDatabase(schema) { database in
            let view = "\"\(Self.composed)\""
            try await database.execute("INSERT INTO \(view) VALUES ('1', 'text', 7)")
            let plan = try await database.getAll(
                "EXPLAIN QUERY PLAN SELECT * FROM \(view) WHERE \"\(Self.decomposed)\" = 7"
            ) { try $0.getString(name: "detail") }
            #expect(plan.contains { $0.contains("USING INDEX") })
            #expect(try await database.count("\"\(Self.decomposed)\"") == 0)
        }
    }

    @Test func indexOverAnotherSpellingIsFound() {
        let table = Table(
            name: "t",
            columns: [.text(Self.composed)],
            indexes: [.ascending(name: "i", column: Self.decomposed)]
        )
        #expect(throws: TableError.self) { try table.validate() }
        #expect(throws: PowerSyncError.self) { try JSONEncoder().encode(table) }
    }

    @Test(arguments: [".", "\"", "#", "]", " "])
    func markThatCombinesWithAnIllegalCharacterDoesNotHideIt(_ character: String) {
        #expect(throws: TableError.self) {
            try Table(name: "t", columns: [.text("a\(character)\u{301}")]).validate()
        }
    }
}
