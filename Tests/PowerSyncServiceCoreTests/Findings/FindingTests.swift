import Foundation
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncSyncConfig
import Testing

/// Findings as they are printed: code, place, message and remedy are joined here only.
@Suite struct FindingTests {
    private static let refused = Finding(
        .error,
        .source,
        code: .sourceQuery,
        place: .init(table: SourceTableName(schema: "public", name: "lists")),
        "Role sync may not read public.lists.",
        remedy: "GRANT SELECT ON public.lists TO sync;"
    )

    @Test func peopleGetTwoLines() {
        #expect(
            "\(Self.refused)" == """
                error: Role sync may not read public.lists. [PSYNC_S1120]
                  GRANT SELECT ON public.lists TO sync;
                """
        )
        #expect("\(Finding(.ok, .ports, "port 8080 is free"))" == "ok: port 8080 is free")
    }

    @Test func aLogGetsOne() {
        #expect(
            Self.refused.sentence
                == "[PSYNC_S1120] Role sync may not read public.lists. GRANT SELECT ON public.lists TO sync;"
        )
        #expect(Finding(.warning, .storage, "The disk is full.").sentence == "The disk is full.")
    }

    @Test func toolsGetThePartsApart() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(
            String(decoding: try encoder.encode(Self.refused), as: UTF8.self) == #"""
                {"area":"source","code":"PSYNC_S1120","level":"error","message":"Role sync may not read public.lists.",\#
                "remedy":"GRANT SELECT ON public.lists TO sync;","table":"public.lists"}
                """#
        )
        let certificate = Finding(.ok, .certificate, place: .init(location: "tls.pem"), "valid until tomorrow")
        #expect(
            String(decoding: try encoder.encode(certificate), as: UTF8.self)
                == #"{"area":"certificate","level":"ok","message":"valid until tomorrow","place":"tls.pem"}"#
        )
    }

    @Test(
        arguments: [
            (Finding.Place(), ""), (.init(key: "port"), "port"), (.init(location: "a.yaml"), "a.yaml"),
            (.init(location: "a.yaml", line: 4), "a.yaml:4"),
            (.init(location: "a.yaml", line: 4, column: 7), "a.yaml:4:7"),
            (.init(location: "a.yaml", line: 4, key: "port"), "a.yaml:4: port"),
            (.init(table: SourceTableName(schema: "public", name: "lists")), ""),
        ]
    )
    func places(place: Finding.Place, text: String) {
        #expect("\(place)" == text)
    }

    @Test func aFindingOfTheCompilerKeepsItsParts() throws {
        let text = "config: {edition: 3}\nstreams:\n  a: {query: SELECT * FORM lists}"
        let diagnostic = try #require(SyncConfig.parse(text).diagnostics.first)
        let finding = Finding(diagnostic, file: "sync.yaml")
        #expect(finding.severity == .error)
        #expect(finding.area == .syncConfig)
        #expect(finding.code?.rawValue == diagnostic.code)
        #expect(finding.place == .init(location: "sync.yaml", line: diagnostic.line, column: diagnostic.column))
        #expect(finding.message == diagnostic.message)
        #expect(finding.remedy == diagnostic.hint)
    }

    @Test func severitiesHaveAnOrder() {
        #expect(Finding.Severity.allCases.sorted() == [.ok, .warning, .error])
        let findings = [Finding(.warning, .source, "a"), Finding(.error, .source, "b"), Finding(.ok, .source, "c")]
        #expect(findings.errorsFirst.map(\.message) == ["b", "a", "c"])
        #expect(findings.hasErrors && ![Finding(.warning, .source, "a")].hasErrors)
    }
}
