import PowerSyncProtocol
import Testing

@testable import PowerSyncAuth

/// The forms of keys (docs/service.md "Authentication").
@Suite struct JSONWebKeyTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var members: [String: String]
        var wrongMember: String
        var isUnsupported = false
        var testDescription: String {
            members.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        }
    }

    @Test(arguments: [
        Case(members: [:], wrongMember: "kty"),
        Case(members: ["kty": "XYZ"], wrongMember: "kty"),
        Case(members: ["kty": "oct", "k": "AAAA"], wrongMember: "alg"),
        Case(members: ["kty": "oct", "alg": "RS256", "k": "AAAA"], wrongMember: "alg"),
        Case(members: ["kty": "oct", "alg": "HS256"], wrongMember: "k"),
        Case(members: ["kty": "oct", "alg": "HS256", "k": "not base64!"], wrongMember: "k"),
        Case(members: ["kty": "RSA", "n": "AAAA", "e": "AQAB"], wrongMember: "kid"),
        Case(members: ["kty": "RSA", "kid": "a", "e": "AQAB"], wrongMember: "n"),
        Case(members: ["kty": "RSA", "kid": "a", "n": "AAAA"], wrongMember: "e"),
        Case(members: ["kty": "EC", "alg": "ES256", "crv": "P-384", "x": "AA", "y": "AA"], wrongMember: "alg"),
        Case(
            members: ["kty": "EC", "alg": "ES256K", "crv": "secp256k1", "x": "AA", "y": "AA"],
            wrongMember: "crv",
            isUnsupported: true
        ),
        Case(members: ["kty": "EC", "alg": "ES256K", "x": "AA", "y": "AA"], wrongMember: "alg", isUnsupported: true),
        Case(members: ["kty": "EC", "alg": "ES256", "crv": "P-224", "x": "AA", "y": "AA"], wrongMember: "crv"),
        Case(members: ["kty": "RSA", "kid": "a", "alg": "XS256", "n": "AAAA", "e": "AQAB"], wrongMember: "alg"),
        Case(
            members: ["kty": "OKP", "alg": "EdDSA", "crv": "Ed448", "x": "AA"],
            wrongMember: "crv",
            isUnsupported: true
        ),
        Case(members: ["kty": "OKP", "alg": "EdDSA", "crv": "Ed25519"], wrongMember: "x"),
    ])
    func wrongKeysNameTheMember(_ test: Case) {
        #expect {
            _ = try JSONWebKey(members: test.members)
        } throws: { error in
            let error = error as? JSONWebKeyError
            return error?.member == test.wrongMember && error?.isUnsupported == test.isUnsupported
        }
    }

    @Test func paddedSecretsAreAccepted() throws {
        let key = try JSONWebKey(members: ["kty": "oct", "alg": "HS256", "k": "AQ=="])
        guard case .symmetric(let secret) = key.material else {
            Issue.record("not a shared secret")
            return
        }
        #expect(secret == [1])
    }

    @Test(arguments: ["AQI", "AQJ", "AQK", "AQL", "AQL="])
    func secretsWithSpareBits(_ text: String) throws {
        let key = try JSONWebKey(members: ["kty": "oct", "alg": "HS256", "k": text])
        guard case .symmetric(let secret) = key.material else {
            Issue.record("not a shared secret")
            return
        }
        #expect(secret == [1, 2])
    }

    @Test func keysAreReadFromJSON() throws {
        let key = try JSONWebKey(json: #"{"kty":"oct","alg":"HS512","kid":"a","k":"AQID","use":"sig","x5c":[]}"#)
        #expect(key.id == "a")
        #expect(key.algorithm == .hs512)
        #expect(throws: JSONWebKeyError.self) { try JSONWebKey(json: "[]") }
    }

    @Test func numbersThatAreNoPointAreFoundAtStart() async throws {
        let key = try JSONWebKey(members: [
            "kty": "EC", "alg": "ES256", "crv": "P-256", "x": Base64URL.encode(Array(repeating: 1, count: 32)),
            "y": Base64URL.encode(Array(repeating: 1, count: 32)),
        ])
        await #expect(throws: JSONWebKeyError.self) { try await key.checkMaterial() }
    }

    @Test(
        arguments: [
            ("", []), ("AQ", [1]), ("AQI", [1, 2]), ("AQID", [1, 2, 3]), ("-_8", [0xfb, 0xff]), ("A", nil), ("A=", nil),
            ("AQ==", nil), ("+/8", nil), ("AÄ", nil), ("AR", nil), ("AX", nil), ("AQJ", nil), ("AQL", nil),
            ("_w", [0xff]),
            ("_x", nil), ("AQIDBB", nil),
        ] as [(String, [UInt8]?)]
    )
    func base64URLIsStrict(_ text: String, _ bytes: [UInt8]?) {
        #expect(Base64URL.decode(text) == bytes)
        if let bytes { #expect(Base64URL.encode(bytes) == text) }
    }
}
