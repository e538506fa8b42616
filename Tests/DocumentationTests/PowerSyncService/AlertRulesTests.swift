import Foundation
import Testing

/// The metrics and labels on the page "Alert rules" are those that the service has.
@Suite struct AlertRulesTests {
    private let page: Page

    init() throws {
        page = try Page(path: "Sources/PowerSyncService/Documentation.docc/AlertRules.md")
    }

    private static func sources() throws -> String {
        try Page.files(in: "Sources", withExtension: "swift").map { try String(contentsOf: $0, encoding: .utf8) }
            .joined(separator: "\n")
    }

    @Test func everyMetricExists() throws {
        let names = Set(page.text.matches(of: /\bpowersync_[a-z_]+/).map { String($0.0) })
        let sources = try Self.sources()
        #expect(names.count >= 7)
        #expect(names.filter { !sources.contains("\"\($0)\"") }.sorted() == [])
    }

    @Test func everyLabelExists() throws {
        let labels = Set(page.text.matches(of: /[{,]([a-z]+)(?:=|!=|=~)"/).map { String($0.1) }).union(["slot"])
        let sources = try Self.sources()
        #expect(labels.isSuperset(of: ["outcome", "code", "status", "kind"]))
        // The job is what the scraper says.
        #expect(labels.subtracting(["job"]).filter { !sources.contains("(\"\($0)\", ") }.sorted() == [])
    }

    @Test func everyRuleIsExplained() throws {
        let rules = page.text.matches(of: /- alert: (\w+)/).map { String($0.1) }
        #expect(rules.count >= 10)
        #expect(rules.filter { !page.text.contains("| `\($0)` |") } == [])
    }
}
