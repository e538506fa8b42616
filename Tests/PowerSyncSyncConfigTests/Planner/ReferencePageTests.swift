import Foundation
import Testing

@testable import PowerSyncSyncConfig

/// The reference of the language names everything that there is.
@Suite struct ReferencePageTests {
    let page: String

    init() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        page = try String(
            contentsOf: root.appending(
                path: "Sources/PowerSyncService/Documentation.docc/SyncConfigReference.md"
            ),
            encoding: .utf8
        )
    }

    @Test func everyFindingIsOnThePage() {
        #expect(DiagnosticCode.allCases.filter { !page.contains("`\($0.rawValue)`") } == [])
    }

    @Test func everyFunctionIsOnThePage() {
        #expect(SQLFunction.names.filter { !page.contains("`\($0)(") && !page.contains("`\($0)`") } == [])
    }

    @Test func warningsAreCalledSo() throws {
        let findings = try #require(page.split(separator: "### Findings").last)
        for line in findings.split(separator: "\n") where line.hasPrefix("| `") {
            let codes = DiagnosticCode.allCases.filter { line.contains("`\($0.rawValue)`") }
            guard !codes.isEmpty else { continue }
            let saysWarning = line.contains("warning")
            #expect(codes.allSatisfy { ($0.severity == .warning) == saysWarning }, "\(line)")
        }
    }
}
