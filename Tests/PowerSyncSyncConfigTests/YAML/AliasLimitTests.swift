import PowerSyncSyncConfig
import Testing

/// What aliases of YAML stand for is limited before much work is done with it.
@Suite struct AliasLimitTests {
    @Test func textsThatAliasesRepeatAreCountedEachTime() {
        func text(aliases: Int) -> String {
            let note = String(repeating: "x", count: 100_000)
            let uses = Array(repeating: "*n", count: aliases).joined(separator: ", ")
            return """
                config: {edition: 3}
                streams: {s: {query: SELECT * FROM t}}
                event_definitions: {e: {payloads: [&n \(note), \(uses)]}}
                """
        }
        #expect(findings(text(aliases: 45)) == ["1:1 yaml.expansion"])
        #expect(!findings(text(aliases: 3)).contains("1:1 yaml.expansion"))
    }

    @Test func fewAliasesAreAllowed() {
        let text = """
            config: {edition: 3}
            streams:
              a: {query: &q "SELECT id, 2 *n::text AS x, '?: y' AS z FROM t"}
              b: {query: *q}
              c: {queries: [*q, *q]}
              d:
                query: *q
            """
        #expect(findings(text).isEmpty)
    }
}
