import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// Rows that are read for some parts of a config (docs/service.md "What a deployment keeps").
@Suite(.timeLimit(.minutes(1))) struct AdditionTests {
    private static let config = """
        config: {edition: 3}
        streams:
          a: {query: "SELECT id, name FROM docs"}
          b: {query: "SELECT id, size FROM docs"}
          c: {query: "SELECT * FROM notes WHERE grp IN (SELECT grp FROM docs WHERE uid = auth.user_id())"}
        """

    private func row(_ id: String, name: String, size: Int64, group: String) -> SourceRow {
        ["id": .text(id), "name": .text(name), "size": .integer(size), "uid": "u", "grp": .text(group)]
    }

    @Test(arguments: TestedStorage.distinct)
    func whatIsStoredForOtherPartsStays(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let docs = try await scenario.table("docs")
        try await scenario.save(.insert(row("1", name: "x", size: 1, group: "g")), of: docs)
        try await scenario.commit()

        let others = Self.config.replacing("  b: {query: \"SELECT id, size FROM docs\"}\n", with: "")
        let b = try plan(others).parts(addedBy: scenario.stream.plan)
        var builder = scenario.writer.recordBuilder(of: docs, addingTo: b)
        let read = [
            row("1", name: "y", size: 2, group: "h"), row("2", name: "z", size: 3, group: "i"),
            // The same again makes no operation.
            row("1", name: "y", size: 2, group: "h"),
        ]
        let records = read.map { builder.evaluate(.update($0)) }
        #expect(try await scenario.writer.save(records).isEmpty)
        try await scenario.commit()
        let (bucketA, bucketB) = ("a|0[]", "b|0[]")
        #expect(try await scenario.rows(bucketA) == ["docs/1": #"{"id":"1","name":"x"}"#])
        let ofB = ["docs/1": #"{"id":"1","size":2}"#, "docs/2": #"{"id":"2","size":3}"#]
        #expect(try await scenario.rows(bucketB) == ofB)
        #expect(try await scenario.summary(bucketA).count == 1)
        #expect(try await scenario.summary(bucketB).count == 3)
        #expect(try await scenario.lookUp(#"0["u"]"#) == [ParameterRow(values: [.text("g")])])

        // A change has all parts again.
        try await scenario.save(.update(row("1", name: "y", size: 2, group: "h")), of: docs)
        try await scenario.commit()
        #expect(try await scenario.rows(bucketA) == ["docs/1": #"{"id":"1","name":"y"}"#])
        #expect(try await scenario.summary(bucketB).count == 3)
        #expect(try await scenario.lookUp(#"0["u"]"#) == [ParameterRow(values: [.text("h")])])
        try await scenario.save(.delete(key: ["1"]), .delete(key: ["2"]), of: docs)
        try await scenario.commit()
        #expect(try await scenario.rows(bucketA).isEmpty)
        #expect(try await scenario.rows(bucketB).isEmpty)
        #expect(try await scenario.lookUp(#"0["u"]"#).isEmpty)
    }
}
