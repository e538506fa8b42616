import Foundation
import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// What differs on purpose from the established service, as the page says (SyncConfigReference "Differences from the established
/// service").
@Suite struct EstablishedDifferencesTests {
    private func value(_ expression: String, _ a: SQLValue = nil, _ b: SQLValue = nil) throws -> String {
        let plan = try plan(query: "SELECT id, \(expression) AS r FROM t")
        let data = plan.evaluate(
            ["id": "1", "a": a, "b": b],
            of: SourceTableName(schema: "main", name: "t"),
            bucketPrefix: ""
        ).first?.data
        return data.map { String($0.dropFirst(#"{"id":"1","r":"#.count).dropLast()) } ?? "error"
    }

    private func codes(_ query: String) -> [String] {
        SyncConfig.parse(config(TestStream("s", query))).diagnostics.map(\.code)
    }

    @Test(arguments: [
        ("IS TRUE", ["0", "1", "1", "0", "1", "0"]), ("IS NOT TRUE", ["1", "0", "0", "1", "0", "1"]),
        ("IS FALSE", ["0", "0", "0", "1", "0", "1"]), ("IS NOT FALSE", ["1", "1", "1", "0", "1", "0"]),
    ])
    func truthIsThatOfAConditionForAllValues(test: String, results: [String]) throws {
        let values: [SQLValue] = [nil, 2, 0.5, 0, "1x", "x"]
        for (value, result) in zip(values, results) {
            #expect(try self.value("a \(test)", value) == result, "\(value)")
        }
    }

    @Test func theFirstDecisionEndsAnExpression() throws {
        #expect(try value("a = 1 OR b ->> 'x' = 1", 1, "oops") == "1")
        #expect(try value("a = 1 AND b ->> 'x' = 1", 2, "oops") == "0")
        #expect(try value("CASE WHEN a = 1 THEN 2 ELSE b ->> 'x' END", 1, "oops") == "2")
        #expect(try value("a = 1 OR b ->> 'x' = 1", 2, "oops") == "error")
    }

    @Test func twoTestsOfOneArrayMustBothHold() throws {
        let plan = try plan(query: "SELECT * FROM t WHERE 'x' IN t.tags AND 'y' IN t.tags")
        #expect(plan.bucketNames("t", ["id": 1, "tags": #"["x","y"]"#]) == ["1#s|0[]"])
        #expect(plan.bucketNames("t", ["id": 1, "tags": #"["x"]"#]).isEmpty)
        #expect(plan.bucketNames("t", ["id": 1, "tags": #"["y","z"]"#]).isEmpty)
    }

    @Test func anAliasBeforeAStarCountsInADefinitionEvenIfItIsNull() throws {
        let plan = try plan("bucket_definitions: {s: {data: [\"SELECT a AS x, * FROM t\"]}}")
        #expect(plan.synced("t", ["id": "1", "a": nil, "x": 5]) == [#"1#s[] t/1 {"x":null,"id":"1","a":null}"#])
    }

    @Test func twoComparisonsOfOneColumnMustBothHoldInADefinition() async throws {
        let plan = try plan(
            """
            bucket_definitions:
              s:
                parameters: SELECT id AS l FROM lists WHERE owner = request.user_id() AND owner = request.jwt() ->> 'boss'
                data: [SELECT * FROM todos WHERE list = bucket.l]
            """
        )
        let index = ParameterStore(plan, ["lists": [["id": "l1", "owner": "u1"], ["id": "l2", "owner": "u2"]]])
        #expect(try await plan.bucketNames(token: ["sub": "u1", "boss": "u1"], index: index) == [#"1#s["l1"]"#])
        #expect(try await plan.bucketNames(token: ["sub": "u1", "boss": "u2"], index: index).isEmpty)
    }

    private static let point = "0101000000000000000000F03F0000000000000440"

    @Test func wholeCoordinatesHaveNoFraction() throws {
        #expect(
            try value("st_asgeojson(a)", .text(Self.point)) == #""{\"type\":\"Point\",\"coordinates\":[1,2.5]}""#
        )
    }

    @Test func twoColumnsOfOneRowMayHaveAnElementInCommon() throws {
        let plan = try plan(query: "SELECT * FROM t WHERE a && b")
        #expect(!plan.bucketNames("t", ["id": 1, "a": "[1,2]", "b": "[2,3]"]).isEmpty)
        #expect(plan.bucketNames("t", ["id": 1, "a": "[1,2]", "b": "[3]"]).isEmpty)
    }

    @Test func escapesAreReadInTextsThatSaySo() throws {
        #expect(try value(#"E'a\nb\u00e4'"#) == #""a\nbä""#)
        #expect(try value(#"'a\nb'"#) == #""a\\nb""#)
    }

    @Test(arguments: [
        "SELECT id, CASE END AS r FROM t", "SELECT id, CASE a END AS r FROM t", "SELECT id FROM t /* never ends",
        "SELECT id, U&'x' AS r FROM t", "SELECT U&\"id\" FROM t",
    ])
    func isRefused(_ query: String) {
        #expect(!SyncConfig.parse(config(TestStream("s", query))).isUsable)
    }

    @Test func modifiersOfDatesAreThoseOfSQLite() throws {
        #expect(try value("unixepoch(a, '+1 day', 'start of month')", "2024-02-29 12:00") == "1709251200")
        #expect(try value("datetime(a, 'unixepoch', '+30 minutes')", 0) == #""1970-01-01 00:30:00""#)
    }

    @Test func onlyTheDefaultConnectionHasTables() throws {
        let row: SourceRow = ["id": 1]
        #expect(try !plan(query: #"SELECT id FROM "default.main".t"#).bucketNames("t", row).isEmpty)
        #expect(try plan(query: #"SELECT id FROM "other.main".t"#).bucketNames("t", row).isEmpty)
    }

    @Test func whatCannotBeReplacedIsLeftOut() throws {
        let plan = try plan(query: "SELECT *, masked AS email FROM users")
        #expect(plan.synced("users", ["id": 1, "email": "a@b.c"]) == [#"1#s|0[] users/1 {"id":1}"#])
    }

    @Test func constantsThatCanNeverWorkAreRefused() {
        #expect(codes("SELECT * FROM t WHERE a = NULL") == ["filter.null"])
        #expect(codes("SELECT id, json_extract(a, 'x') AS r FROM t") == ["sql.json_path"])
    }

    @Test func thePageListsThem() throws {
        let page = try ReferencePageTests().page
        let section = try #require(page.components(separatedBy: "### Differences from the established service").last)
        for text in [
            "IS [NOT] TRUE", "`CASE`", "IN tags AND", "a AS x, *", "owner = request.user_id()", "st_asgeojson",
            "a && b", "E'…'", "CASE END",
            "U&'…'", "modifiers of `unixepoch`", "\"other.public\".t", "masked AS email", "`line`", "`regclass`",
        ] {
            #expect(section.contains(text), "\(text)")
        }
    }
}
