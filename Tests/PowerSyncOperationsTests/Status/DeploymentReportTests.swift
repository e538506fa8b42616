import PowerSyncProtocol
import Testing

@testable import PowerSyncOperations

/// What `powersync validate` prints of a deployment that a running service was asked about.
@Suite struct DeploymentReportTests {
    @Test func eachStreamHasALine() {
        let report = DeploymentReport([
            "streams": .array([
                .object(["name": "lists", "change": "kept", "reason": "unchanged"]),
                .object([
                    "name": "todos", "change": "read", "reason": "the queries of its rows changed",
                    "tables": .array(["todos", "shared.tags"]),
                    "estimated_rows": .object(["public.todos": .integer(1200), "shared.tags": .integer(30)]),
                ]),
                .object(["name": "new", "change": "read", "reason": "new", "tables": .array(["unknown"])]),
                .object(["name": "settings", "change": "removed", "reason": "no longer in the config"]),
            ])
        ])
        #expect(
            report.lines == [
                "lists: kept: unchanged",
                "todos: read from todos, shared.tags (about 1230 rows): the queries of its rows changed",
                "new: read from unknown: new", "settings: removed: no longer in the config",
            ]
        )
    }

    @Test(arguments: [(0, "about 0 rows"), (1, "about 1 row"), (2, "about 2 rows")])
    func rowsAreCounted(number: Int64, words: String) {
        let stream: JSONObject = [
            "name": "a", "change": "read", "reason": "new", "tables": .array(["a"]),
            "estimated_rows": .object(["a": .integer(number)]),
        ]
        #expect(DeploymentReport(["streams": .array([.object(stream)])]).lines == ["a: read from a (\(words)): new"])
    }

    @Test func thatEverythingIsReadComesFirst() {
        let report = DeploymentReport(["everything_is_read": "no sync config is served yet", "streams": .array([])])
        #expect(report.lines == ["all tables are read: no sync config is served yet"])
    }
}
