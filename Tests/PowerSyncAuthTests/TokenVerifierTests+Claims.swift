import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncAuth

/// Each claim with each kind of value: what is accepted, and what is said of the rest.
extension TokenVerifierTests {
    /// A value of a claim, as it is written.
    enum ClaimValue: String, CaseIterable {
        case missing, null, text, number, fraction, exponent, milliseconds, list, object, boolean
        case beyondDoubles, beyond64Bits, anotherBeyond64Bits, hugeNumber

        var json: String? {
            switch self {
            case .missing: nil
            case .null: "null"
            case .text: #""1767225600""#
            case .number: "1767225600"
            case .fraction: "1767225600.5"
            case .exponent: "1767225600e0"
            case .milliseconds: "1767229200000"
            case .list: "[1767225600]"
            case .object: #"{"a":1767225600}"#
            case .boolean: "true"
            case .beyondDoubles: "9007199254740993"
            case .beyond64Bits: "12345678901234567890"
            case .anotherBeyond64Bits: "12345678901234567891"
            case .hugeNumber: "1e400"
            }
        }
    }

    /// What becomes of a token.
    enum Outcome: Equatable {
        case accepted(userID: String)
        case refused(String, saying: String)
    }

    /// The only values of each claim that are accepted, with the user whom they make, and what is said of the others.
    private static func outcome(_ claim: String, _ value: ClaimValue) -> Outcome {
        func refused(_ code: ErrorCode, _ words: String) -> Outcome { .refused(code.rawValue, saying: words) }
        let kinds: [ClaimValue: String] = [
            .null: "null", .text: "a text", .list: "a list", .object: "an object", .boolean: "true or false",
        ]
        switch (claim, value) {
        case ("exp", .missing), ("iat", .missing), ("sub", .missing):
            return refused(.authentication, "missing a required claim \"\(claim)\"")
        case ("aud", .missing): return refused(.tokenAudience, "missing a required claim \"aud\"")
        case ("nbf", .missing), ("parameters", .missing), ("parameters", .null), ("parameters", .object): break
        case ("exp", let value) where kinds[value] != nil, ("iat", let value) where kinds[value] != nil,
            ("nbf", let value) where kinds[value] != nil:
            return refused(.authentication, "\"\(claim)\" is \(kinds[value] ?? ""), and has to be a number")
        case ("exp", .number), ("exp", .fraction), ("exp", .exponent): return refused(.tokenExpired, "JWT has expired")
        case ("exp", .milliseconds): return refused(.tokenLifetime, "\"exp\" seems to be in milliseconds")
        case ("exp", _): return refused(.tokenLifetime, "must expire in a maximum of 86400 seconds, got ")
        case ("nbf", .milliseconds):
            return refused(
                .authentication,
                "\"nbf\" is 1767229200000, and the clock of the service is at 1767225701; \"nbf\" seems"
            )
        case ("nbf", .beyondDoubles), ("nbf", .beyond64Bits), ("nbf", .anotherBeyond64Bits), ("nbf", .hugeNumber):
            return refused(.authentication, "JWT is not valid yet: \"nbf\" is ")
        case ("sub", .text), ("sub", .number), ("sub", .milliseconds), ("sub", .beyondDoubles):
            return .accepted(userID: (value.json ?? "").filter { $0 != "\"" })
        case ("sub", let value):
            return refused(.authentication, "\"sub\" is \(kinds[value] ?? "a number that is no integer of 64 bits")")
        case ("aud", .list): return refused(.tokenAudience, "Unexpected \"aud\" claim value: [1767225600]")
        case ("aud", let value):
            return refused(.tokenAudience, "Unexpected \"aud\" claim value: \(value == .null ? "null" : "")")
        case ("parameters", let value):
            return refused(.authentication, "parameters must be an object, and are \(kinds[value] ?? "a number")")
        default: break
        }
        return .accepted(userID: "u1")
    }

    @Test(arguments: ["exp", "iat", "nbf", "sub", "aud", "parameters"], ClaimValue.allCases)
    func everyKindOfValue(_ claim: String, _ value: ClaimValue) async throws {
        var members = [
            "sub": #""u1""#, "aud": #""powersync-dev""#, "iat": "1767225600", "exp": "1767229200",
        ]
        members[claim] = value.json
        let payload =
            "{\(members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ","))}"
        // After all times of the table that are near.
        let now = 1_767_225_701.0
        let token = try Self.signed(payload: payload)
        switch Self.outcome(claim, value) {
        case .accepted(let userID):
            let verified = try await TestVerifier.verifier().verify(token, now: now)
            #expect(verified.userID == userID)
            #expect(verified.writeCheckpointKey(clientID: "c1") == "\(userID)/c1")
        case .refused(let code, let words):
            let failure = await #expect(throws: AuthorizationError.self) {
                _ = try await TestVerifier.verifier().verify(token, now: now)
            }
            #expect(failure?.code.rawValue == code, "\(failure?.description ?? "")")
            #expect(failure?.description.contains(words) == true, "\(failure?.description ?? "")")
        }
    }

    @Test(arguments: [
        "0", "-1", "9007199254740992", "9007199254740993", "9223372036854775807", "-9223372036854775808",
    ])
    func numbersOf64BitsAreUsersOfTheirOwn(_ number: String) async throws {
        let payload = #"{"sub":\#(number),"aud":"powersync-dev","iat":1767225600,"exp":1767229200}"#
        let token = try Self.signed(payload: payload)
        #expect(try await TestVerifier.verifier().verify(token, now: TestVerifier.now).userID == number)
    }

    @Test func halfACharacterIsUFFFDInWhatAClaimSays() async throws {
        let payload =
            #"{"sub":"u1","name":"Ann \ud83d","parameters":{"x":["\ude00"]},"aud":"powersync-dev","iat":1767225600,"exp":1767229200}"#
        let verified = try await TestVerifier.verifier().verify(
            try Self.signed(payload: payload),
            now: TestVerifier.now
        )
        #expect(verified.payload["name"] == "Ann \u{fffd}")
        #expect(verified.payload["parameters"] == ["x": ["\u{fffd}"]])
    }

    @Test(arguments: [
        #""sub":"u\ud83d","aud":"powersync-dev""#, #""sub":"u1","aud":"powersync-dev\ud83d""#,
        #""sub":"u1","aud":["powersync-dev","\ude00"]"#, #""sub":"u1","aud":"powersync-dev","n\ud83d":1"#,
        #""sub":"u1","aud":"powersync-dev","parameters":{"n\ud83d":1}"#,
    ])
    func halvesInWhatIdentifies(_ claims: String) async throws {
        let token = try Self.signed(payload: "{\(claims),\"iat\":1767225600,\"exp\":1767229200}")
        let failure = await TestVerifier.failure(token)
        #expect(failure?.code == .authentication)
        #expect(failure?.description.contains("half a surrogate pair") == true)
    }
}
