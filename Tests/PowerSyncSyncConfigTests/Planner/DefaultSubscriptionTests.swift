import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// A stream that clients get without subscribing, and that gives them nothing then.
@Suite struct DefaultSubscriptionTests {
    /// Conditions, and whether the default subscription can have rows.
    static let conditions: [(condition: String, hasRows: Bool)] = [
        ("a = subscription.parameter('x')", false), ("a IN subscription.parameter('x')", false),
        ("a = auth.user_id() AND b = subscription.parameter('x')", false),
        ("a = upper(subscription.parameter('x'))", false),
        ("a = subscription.parameter('x') || auth.user_id()", false), ("tags && subscription.parameter('x')", false),
        ("a = auth.user_id() AND subscription.parameter('x') = 'on'", false),
        ("a = auth.user_id() AND auth.parameter('y') = subscription.parameter('x')", false),
        ("a = auth.user_id() AND subscription.parameters() IS NOT NULL", false),
        ("a = auth.user_id() AND subscription.parameter('x')", false),
        ("a IN (SELECT id FROM u WHERE b = subscription.parameter('x') AND c = auth.user_id())", false),
        ("a IN (SELECT id FROM u WHERE c = auth.user_id()) AND a = subscription.parameter('x')", false),
        ("a = subscription.parameter('x') OR b = subscription.parameter('y')", false),
        ("a = subscription.parameter('x') OR b = auth.user_id()", true),
        ("a = ifnull(subscription.parameter('x'), 'none')", true),
        ("a = auth.user_id() AND subscription.parameter('x') IS NULL", true),
        ("a = auth.user_id() AND NOT (subscription.parameter('x') = 1)", true), ("a = auth.user_id()", true),
        ("a = coalesce(subscription.parameter('x'), auth.user_id())", true), ("a = connection.parameter('x')", true),
        ("a = auth.user_id() AND iif(subscription.parameter('x'), 0, 1)", true),
    ]

    private func codes(_ yaml: String) -> [String] {
        SyncConfig.parse(yaml).diagnostics.map(\.code).filter { $0 == "stream.no_default" }
    }

    @Test(arguments: conditions) func aRequiredParameterIsReported(condition: String, hasRows: Bool) async throws {
        let options = ["auto_subscribe: true", "accept_potentially_dangerous_queries: true"]
        let yaml = config(TestStream("s", "SELECT * FROM t WHERE \(condition)", options: options))
        #expect(codes(yaml) == (hasRows ? [] : ["stream.no_default"]))
        // It is a warning, and the hint holds: nothing is said of a stream that clients subscribe to.
        let result = SyncConfig.parse(yaml.replacing("auto_subscribe: true", with: "auto_subscribe: false"))
        #expect(result.isUsable && result.diagnostics.allSatisfy { $0.code != "stream.no_default" })
        // What is said is so.
        let plan = try plan(yaml)
        let index = ParameterStore(plan, ["u": [["id": "k", "b": "v", "c": "u1"]]])
        let token: JSONObject = ["sub": "u1", "y": "v"]
        let names = try await plan.bucketNames(token: token, parameters: ["x": "v"], index: index)
        #expect(names.isEmpty == !hasRows)
    }

    @Test func eachQueryIsJudgedByItself() throws {
        let yaml = config(
            TestStream(
                "s",
                "SELECT * FROM t WHERE a = auth.user_id()",
                "SELECT * FROM u WHERE a = auth.user_id() AND b = subscription.parameter('x')"
            )
        )
        let finding = try #require(SyncConfig.parse(yaml).diagnostics.first)
        #expect("\(finding.line):\(finding.column) \(finding.code)" == "9:58 stream.no_default")
        #expect(finding.message.contains("did not subscribe") && finding.hint?.contains("auto_subscribe") == true)
    }
}
