import Foundation
import PowerSyncSyncConfig
import Testing

/// What documentation of sync configs shows, as tests of configs: each has its expected buckets and rows.
@Suite struct ExampleConfigTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Fixtures/SyncConfigs")

    static let names = [
        "array-expansion", "bucket-definitions", "by-day", "client-versions", "common-tables",
        "connection-parameters", "definition-parameters", "editions", "editions-null", "global-data", "joined-pairs",
        "json-arrays", "membership", "own-keys", "own-rows", "priorities", "roles-and-claims",
        "schemas-and-partitions", "shared-or-owned", "subqueries-and-joins", "subscription-parameters",
        "time-windows", "transformations",
    ]

    @Test(arguments: names) func exampleGivesItsRows(name: String) async throws {
        let text = try String(contentsOf: Self.folder.appending(path: "\(name).yaml"), encoding: .utf8)
        let test = ConfigTest(parsing: text)
        guard case .inline(let config) = test.config else {
            Issue.record("\(name) has no config: \(test.findings)")
            return
        }
        let result = await test.run(config: config)
        #expect(result.isAccepted, "\(result.diagnostics)")
        #expect(result.testFindings.isEmpty && result.rowProblems.isEmpty)
        #expect(!result.cases.isEmpty)
        for test in result.cases { #expect(test.failures.isEmpty, "\(test.name)") }
        #expect(result.isSuccess)
    }

    @Test func noExampleIsForgotten() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(files.sorted() == Self.names.map { "\($0).yaml" }.sorted())
    }
}
