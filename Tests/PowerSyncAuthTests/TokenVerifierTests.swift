import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncAuth

/// Which tokens are accepted, and why others are not (docs/service.md "Authentication").
@Suite struct TokenVerifierTests {
    // MARK: 22.1

    struct InteropCase: CustomTestStringConvertible, Sendable {
        var name: String
        var payload: String
        var signature: String
        var header = "eyJhbGciOiJIUzI1NiIsImtpZCI6InRlc3QtMSJ9"
        var userID: String?
        var code: String?
        var testDescription: String { name }
    }

    static let interopCases = [
        InteropCase(
            name: "valid, expires after 3600 s",
            payload: "eyJzdWIiOiJ1MSIsImF1ZCI6InBvd2Vyc3luYy1kZXYiLCJpYXQiOjE3NjcyMjU2MDAsImV4cCI6MTc2NzIyOTIwMH0",
            signature: "oT-9VjpmqDXb6haNQ1ZjNoXPpuXsiZykkKIsxdqUsp4",
            userID: "u1"
        ),
        InteropCase(
            name: "no kid in header",
            payload: "eyJzdWIiOiJ1MSIsImF1ZCI6InBvd2Vyc3luYy1kZXYiLCJpYXQiOjE3NjcyMjU2MDAsImV4cCI6MTc2NzIyOTIwMH0",
            signature: "ygDQzgTEVeEwCbLrcJaxwyRozTcpb_IqJ9kJxY20U1s",
            header: "eyJhbGciOiJIUzI1NiJ9",
            code: "PSYNC_S2101"
        ),
        InteropCase(
            name: "lifetime 86401 s",
            payload: "eyJzdWIiOiJ1MSIsImF1ZCI6InBvd2Vyc3luYy1kZXYiLCJpYXQiOjE3NjcyMjU2MDAsImV4cCI6MTc2NzMxMjAwMX0",
            signature: "q6o3qzOEsJZnzcmDEemkVFai5pg9bdSfUPU8N8fQ_wA",
            code: "PSYNC_S2104"
        ),
        InteropCase(
            name: "aud: other",
            payload: "eyJzdWIiOiJ1MSIsImF1ZCI6Im90aGVyIiwiaWF0IjoxNzY3MjI1NjAwLCJleHAiOjE3NjcyMjkyMDB9",
            signature: "tho3no_gL86ngBZmdCWpmeTUiDv3cvlU1qeVYG0XgPE",
            code: "PSYNC_S2105"
        ),
        InteropCase(
            name: "no aud",
            payload: "eyJzdWIiOiJ1MSIsImlhdCI6MTc2NzIyNTYwMCwiZXhwIjoxNzY3MjI5MjAwfQ",
            signature: "bT3k377RjYnyWiOp9Kn9W6QeQ7ZAm3Q-PRqcoeMf1P4",
            code: "PSYNC_S2105"
        ),
        InteropCase(
            name: "parameters: \"x\"",
            payload:
                "eyJzdWIiOiJ1MSIsImF1ZCI6InBvd2Vyc3luYy1kZXYiLCJpYXQiOjE3NjcyMjU2MDAsImV4cCI6MTc2NzIyOTIwMCwicGFyYW1ldGVycyI6"
                + "IngifQ",
            signature: "d5XJpvOyGohdngxR9zj3KR8XvsFAHY5u9Je5Hv7OfyU",
            code: "PSYNC_S2101"
        ),
        InteropCase(
            name: "aud array, sub number",
            payload: "eyJzdWIiOjQyLCJhdWQiOlsieCIsInBvd2Vyc3luYy1kZXYiXSwiaWF0IjoxNzY3MjI1NjAwLCJleHAiOjE3NjcyMjkyMDB9",
            signature: "caVMszorBuiEdSvYNrrTmOXN8hAYT0jyOauheFVqB24",
            userID: "42"
        ),
        InteropCase(
            name: "no sub",
            payload: "eyJhdWQiOiJwb3dlcnN5bmMtZGV2IiwiaWF0IjoxNzY3MjI1NjAwLCJleHAiOjE3NjcyMjkyMDB9",
            signature: "t4ZJ5EvOGa1iGNrtb8nL7e2lXMkmEL4o-WBXbm0bmr4",
            code: "PSYNC_S2101"
        ),
        InteropCase(
            name: "expired 59 s ago",
            payload: "eyJzdWIiOiJ1MSIsImF1ZCI6InBvd2Vyc3luYy1kZXYiLCJpYXQiOjE3NjcyMjU2MDAsImV4cCI6MTc2NzIyNTY0MX0",
            signature: "A2T4i92-rc7oy6M5Ky1CDryFYVNhWv8PgdGzyIzOLQo",
            userID: "u1"
        ),
        InteropCase(
            name: "expired exactly 60 s ago",
            payload: "eyJzdWIiOiJ1MSIsImF1ZCI6InBvd2Vyc3luYy1kZXYiLCJpYXQiOjE3NjcyMjU2MDAsImV4cCI6MTc2NzIyNTY0MH0",
            signature: "QAXe5iyJ5rkWnTpFxiAkc0Kr0umPMQO_AKHTxyls35Y",
            code: "PSYNC_S2103"
        ),
    ]

    @Test(arguments: interopCases)
    func interopTokensGetTheirResult(_ test: InteropCase) async throws {
        let token = "\(test.header).\(test.payload).\(test.signature)"
        if let code = test.code {
            #expect(await TestVerifier.failure(token)?.code.rawValue == code)
        } else {
            let verified = try await TestVerifier.verifier().verify(token, now: TestVerifier.now)
            #expect(verified.userID == test.userID)
        }
    }

    @Test func aTokenWithoutKeyIDIsAcceptedByAWildcardKey() async throws {
        let test = try #require(Self.interopCases.first { $0.name == "no kid in header" })
        let wildcard = JSONWebKey(id: nil, algorithm: .hs256, material: .symmetric(TestVerifier.secret))
        let token = "\(test.header).\(test.payload).\(test.signature)"
        let verified = try await TestVerifier.verifier([TestVerifier.key, wildcard]).verify(
            token,
            now: TestVerifier.now
        )
        #expect(verified.userID == "u1")
    }

    // MARK: Presentation

    @Test(arguments: [
        "garbage", "a.b", "a.b.c.d", "..", "!.!.!", "W10.W10.", "eyJhbGciOiJIUzI1NiJ9.W10.",
        "eyJhbGciOiJIUzI1NiJ9.e30.=",
        "eyJhbGciOiJIUzI1NiJ9._w.AA",
    ])
    func malformedTokensAreRejected(_ token: String) async {
        #expect(await TestVerifier.failure(token) == .malformedToken)
    }

    @Test(
        arguments: [
            ("none", "it is no signature"), ("None", "\"None\"; accepted are HS256"), ("HS257", "PS512, ES256"),
            ("ES256K", "curve secp256k1"), ("Ed448", "curve Ed448"), ("", "\"\"; accepted"), (1, "a number; accepted"),
            (nil, "missing; accepted"), (["HS256"], "a list; accepted"), ("PS256\u{0}", "accepted are"),
        ] as [(ExactJSON?, String)]
    )
    func otherAlgorithmsAreRejected(_ algorithm: ExactJSON?, _ reason: String) async {
        var header: JSONObject = ["kid": "test-1"]
        header["alg"] = algorithm
        let failure = await TestVerifier.failure(TestToken(header: header).signed(with: TestVerifier.key))
        #expect(failure?.code.rawValue == "PSYNC_S2101")
        #expect(failure?.description.contains("not allowed") == true)
        #expect(failure?.description.contains(reason) == true, "\(failure?.description ?? "")")
    }

    // MARK: Claims

    struct ClaimCase: CustomTestStringConvertible, Sendable {
        var changes: [String: ExactJSON?]
        var code: String?
        var description = ""
        var testDescription: String { changes.map { "\($0.key): \($0.value?.text ?? "missing")" }.sorted().joined() }
    }

    @Test(arguments: [
        ClaimCase(changes: ["exp": .some(nil), "aud": .some(nil)], code: "PSYNC_S2101", description: "\"exp\""),
        ClaimCase(changes: ["iat": .some(nil)], code: "PSYNC_S2101", description: "\"iat\""),
        ClaimCase(changes: ["nbf": 1_767_225_760]),
        ClaimCase(changes: ["nbf": 1_767_225_761], code: "PSYNC_S2101", description: "\"nbf\""),
        ClaimCase(changes: ["aud": 1], code: "PSYNC_S2105", description: "Unexpected \"aud\" claim value: 1"),
        ClaimCase(changes: ["aud": ["x", "y"]], code: "PSYNC_S2105", description: "[\"x\",\"y\"]"),
        ClaimCase(
            changes: ["exp": 1_767_315_600],
            code: "PSYNC_S2104",
            description: "Token must expire in a maximum of 86400 seconds, got 90000s"
        ),
        ClaimCase(changes: ["exp": 1_767_312_000]),
        ClaimCase(changes: ["parameters": .null]),
        ClaimCase(changes: ["parameters": ["a": 1]]),
        ClaimCase(
            changes: ["parameters": [1]],
            code: "PSYNC_S2101",
            description: "Payload parameters must be an object"
        ),
        ClaimCase(changes: ["iss": "anybody"]),
        ClaimCase(changes: ["exp": 1_767_225_640.5]),
    ])
    func claimsAreChecked(_ test: ClaimCase) async {
        var token = TestToken()
        for (name, value) in test.changes { token.payload[name] = value }
        let failure = await TestVerifier.failure(token.signed(with: TestVerifier.key))
        #expect(failure?.code.rawValue == test.code)
        #expect(failure?.description.contains(test.description) ?? true)
    }

    /// A token whose payload is written as it is.
    static func signed(payload: String) throws -> String {
        let header = TestToken().header.text
        let input = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(Array(payload.utf8)))"
        let signature = try #require(TestVerifier.key.sign(Array(input.utf8))?.signature)
        return "\(input).\(Base64URL.encode(signature))"
    }

    @Test func numbersThatNoDoubleCanHoldAreInfinite() async throws {
        let text = try Self.signed(payload: #"\#(TestToken().payload.text.dropLast()),"n":1e400}"#)
        #expect(
            try await TestVerifier.verifier().verify(text, now: TestVerifier.now).payload["n"] == .double(.infinity)
        )
    }

    @Test func writeCheckpointKeysAreUnambiguous() {
        func key(_ user: String, _ client: String?) -> String {
            VerifiedToken(payload: ["sub": .string(user)], expiresAt: 0).writeCheckpointKey(clientID: client)
        }
        #expect(key("a", "b/c") == "a/b/c")
        let keys = [
            key("a", "b/c"), key("a/b", "c"), key("a/b/c", nil), key("a%2Fb", "c"), key("a", "b"), key("a/b", nil),
        ]
        #expect(Set(keys).count == keys.count, "\(keys)")
    }

    @Test func withoutAudienceEveryTokenIsRejected() async {
        let verifier = TokenVerifier(keys: [TestVerifier.key], audience: [])
        #expect(
            await TestVerifier.failure(TestToken().signed(with: TestVerifier.key), verifier)?.code.rawValue
                == "PSYNC_S2105"
        )
    }

    // MARK: Hostile values

    @Test(
        arguments: [1e9, 2e9, 1e10, 1e18, 9.3e18, 1e19, 1e20, 1e100, 1e308, .infinity, -1, -1e19, -1e308, -.infinity],
        [0, 3600, 86_400, 1e19] as [Double]
    )
    func timesOfEverySize(_ issuedAt: Double, _ lifetime: Double) async throws {
        var token = TestToken()
        token.payload["iat"] = .double(issuedAt)
        token.payload["exp"] = .double(issuedAt + lifetime)
        guard
            let found = try? await TestVerifier.verifier().verify(
                token.signed(with: TestVerifier.key),
                now: TestVerifier.now
            )
        else {
            return
        }
        // What is accepted ends in a time that can be waited for.
        #expect(found.expiresAt <= TestVerifier.now + 86_400 + 120)
    }

    @Test(
        arguments: [
            "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "1e400",
            "1\(String(repeating: "0", count: 400))", "-9223372036854775809", "-18446744073709551616", "-1e400",
        ],
        [true, false]
    )
    func timesAsTheyAreWritten(_ time: String, isAlsoIssuedThen: Bool) async throws {
        let issuedAt = isAlsoIssuedThen ? time : "1767225600"
        let payload = #"{"sub":"u1","aud":"powersync-dev","iat":\#(issuedAt),"exp":\#(time)}"#
        let token = try Self.signed(payload: payload)
        let failure = await TestVerifier.failure(token)
        let expected: ErrorCode = time.hasPrefix("-") ? .tokenExpired : .tokenLifetime
        #expect(failure?.code == expected, "\(time)")
    }

    @Test func aTokenFromTheFutureLivesNoLongerThanOthers() async {
        var token = TestToken()
        token.payload["iat"] = .double(TestVerifier.now + 30 * 86_400)
        token.payload["exp"] = .double(TestVerifier.now + 30 * 86_400 + 60)
        #expect(await TestVerifier.failure(token.signed(with: TestVerifier.key))?.code == .tokenLifetime)
        // A clock that is a little ahead does no harm.
        token.payload["iat"] = .double(TestVerifier.now + 30)
        token.payload["exp"] = .double(TestVerifier.now + 30 + 86_400)
        #expect(await TestVerifier.failure(token.signed(with: TestVerifier.key)) == nil)
    }

    @Test func criticalExtensionsAreNotUnderstood() async {
        let header: JSONObject = ["alg": "HS256", "kid": "test-1", "crit": ["b64"], "b64": false]
        let token = TestToken(header: header).signed(with: TestVerifier.key)
        #expect(await TestVerifier.failure(token)?.code == .authentication)
    }
}
