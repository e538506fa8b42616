import Foundation
import Testing

/// The page "Log reference" has every key of the service's log lines, every reason for which a stream ends, and no others.
///
/// What there is comes from the sources, so that a key that is new cannot be forgotten.
@Suite struct LogReferenceTests {
    private let page: String

    init() throws {
        page = try Page(path: "Sources/PowerSyncService/Documentation.docc/LogReference.md").text
    }

    private func source(_ path: String) throws -> String {
        try String(contentsOf: Page.root.appending(path: "Sources/PowerSyncServiceCore/\(path)"), encoding: .utf8)
    }

    /// The texts between backticks in the first cells of tables, under headings that a closure accepts.
    private func firstCells(where isWanted: (Substring) -> Bool) -> Set<String> {
        var section: Substring = ""
        var found: Set<String> = []
        for line in page.split(separator: "\n") {
            if line.hasPrefix("### ") { section = line.dropFirst(4) }
            guard line.hasPrefix("| `"), isWanted(section) else { continue }
            let cell = line.split(separator: "|").first ?? ""
            found.formUnion(cell.matches(of: /`([^`]+)`/).map { String($0.1) })
        }
        return found
    }

    @Test func itHasAllKeysAndNoOthers() throws {
        let keys = Set(
            try source("Logging/LogKey.swift").matches(of: /static let \w+ = "([a-z_]+)"/).map { String($0.1) }
        )
        #expect(keys.count > 60)
        #expect(firstCells { $0 != "Why a stream has ended" } == keys)
    }

    @Test func itHasAllReasonsAndNoOthers() throws {
        let text = try source("Serving/Session/StreamEnd.swift")
        let declaration = try #require(text.firstMatch(of: /(?s)enum Reason: String, CaseIterable \{(.*?)\n    \}/)).1
        let cases = declaration.matches(of: /(?m)^ +case (\w+)(?: = "([^"]+)")?$/)
        let reasons = Set(cases.map { String($0.2 ?? $0.1) })
        #expect(reasons.count == 6)
        #expect(firstCells { $0 == "Why a stream has ended" }.subtracting(["close_reason"]) == reasons)
    }
}
