import Foundation
import PowerSyncProtocol
import PowerSyncUpload
import Testing

@testable import PowerSyncBackend
@testable import PowerSyncAuth

/// Tokens for the sync service, and the keys that they are checked with.
@Suite struct SyncTokenSignerTests {
    private static let now = Date(timeIntervalSince1970: 1_767_225_600.75)
    private static let secret = Array("interop-test-key-0123456789abcdef".utf8)

    /// Which key is made.
    enum Algorithm: String, CaseIterable, Sendable {
        case hs256 = "HS256"
        case es256 = "ES256"
        case eddsa = "EdDSA"

        func key(_ id: String = "k1") throws -> SigningKey {
            switch self {
            case .hs256: try .hs256(secret: secret + Array(id.utf8), id: id)
            case .es256: .es256(id: id)
            case .eddsa: .eddsa(id: id)
            }
        }
    }

    private func signer(_ key: SigningKey, _ others: SigningKey...) -> SyncTokenSigner {
        SyncTokenSigner(key: key, otherKeys: others, audience: "sync", issuer: "backend")
    }

    /// What the sync service does with the key set, and with a shared secret.
    private func service(_ keySet: String, secret key: SigningKey? = nil) throws -> TokenVerifier {
        guard case .array(let values) = try JSONObject(parsing: keySet)["keys"] else {
            throw TokenError(.key, "no keys")
        }
        var keys = try values.map { try JSONWebKey(json: $0.text) }
        if let key { keys.append(try JSONWebKey(json: key.jwk)) }
        return TokenVerifier(keys: keys, audience: ["sync"])
    }

    @Test(arguments: Algorithm.allCases)
    func theServiceAcceptsTokens(_ algorithm: Algorithm) async throws {
        let key = try algorithm.key()
        let signer = signer(key)
        let token = try signer.token(
            userID: "u \"é\"",
            lifetime: .seconds(60),
            claims: ["role": .string("admin"), "limit": .int(9_007_199_254_740_993)],
            now: Self.now
        )
        #expect(token.expiresAt == Date(timeIntervalSince1970: 1_767_225_660))
        let service = try service(signer.keySet, secret: algorithm == .hs256 ? key : nil)
        let verified = try await service.verify(token.text, now: Self.now.timeIntervalSince1970)
        #expect(verified.userID == "u \"é\"" && verified.expiresAt == 1_767_225_660)
        #expect(verified.payload["limit"] == 9_007_199_254_740_993 && verified.payload["iss"] == "backend")
        // And so does the backend itself.
        for scheme in ["Bearer", "Token"] {
            let user = try await signer.verify(authorization: "\(scheme) \(token.text)", now: Self.now)
            #expect(user.id == "u \"é\"" && user.claims["role"] == .string("admin"))
        }
    }

    @Test(arguments: Algorithm.allCases, [-60.0, -59, 59, 60])
    func clocksMayDifferByAMinuteInBothDirections(_ algorithm: Algorithm, difference: Double) async throws {
        let key = try algorithm.key()
        let signer = signer(key)
        let service = try service(signer.keySet, secret: algorithm == .hs256 ? key : nil)
        for lifetime in [Duration.seconds(1), .seconds(3600), SyncTokenSigner.longestLifetime] {
            let token = try signer.token(
                userID: "u",
                lifetime: lifetime,
                now: Self.now.addingTimeInterval(difference)
            )
            _ = try await service.verify(token.text, now: Self.now.timeIntervalSince1970)
        }
    }

    @Test func tokensExpire() async throws {
        let signer = signer(try Algorithm.es256.key())
        let header = "Bearer " + (try signer.token(userID: "u", lifetime: .seconds(10), now: Self.now).text)
        _ = try await signer.verify(authorization: header, now: Self.now.addingTimeInterval(69))
        let error = await #expect(throws: TokenError.self) {
            try await signer.verify(authorization: header, now: Self.now.addingTimeInterval(71))
        }
        #expect(error?.code == .refused && error?.message.contains("expired") == true)
    }

    @Test func keysCanBeExchanged() async throws {
        let (old, new) = (try Algorithm.es256.key("old"), try Algorithm.eddsa.key("new"))
        let before = signer(old, new)
        let after = signer(new, old)
        let (first, second) = (try before.token(userID: "u"), try after.token(userID: "u"))
        for signer in [before, after] {
            let service = try service(signer.keySet)
            for token in [first, second] {
                _ = try await service.verify(token.text, now: Date().timeIntervalSince1970)
                _ = try await signer.verify(authorization: "Bearer \(token.text)")
            }
        }
        await #expect(throws: TokenError.self) {
            try await signer(new).verify(authorization: "Bearer \(first.text)")
        }
    }

    @Test(arguments: Algorithm.allCases)
    func tokensOfOtherKeysAndAudiencesAreRefused(_ algorithm: Algorithm) async throws {
        let signer = signer(try algorithm.key())
        var tokens = [try self.signer(try algorithm.key("k2")).token(userID: "u").text]
        tokens.append(try SyncTokenSigner(key: try algorithm.key(), audience: "other").token(userID: "u").text)
        tokens += ["", "a.b.c", "x", try signer.token(userID: "u").text + "x"]
        for header in tokens.map({ "Bearer \($0)" }) + [nil, "", "Basic abc"] {
            let error = await #expect(throws: TokenError.self) { try await signer.verify(authorization: header) }
            #expect(error?.code == .refused)
        }
    }

    @Test func theKeySetHasPublicKeysOnly() throws {
        let keys = try Algorithm.allCases.map { try $0.key($0.rawValue) }
        let set = signer(keys[0], keys[1], keys[2]).keySet
        let object = try JSONObject(parsing: set)
        guard case .array(let values) = object["keys"] else { throw TokenError(.key, set) }
        let names = values.map { value -> [String] in
            guard case .object(let key) = value else { return [] }
            return key.members.map(\.name).sorted()
        }
        #expect(names == [["alg", "crv", "kid", "kty", "use", "x", "y"], ["alg", "crv", "kid", "kty", "use", "x"]])
        #expect(signer(keys[0]).keySet == #"{"keys":[]}"#)
        for key in keys { #expect(!"\(key)\(key.debugDescription)".contains(key.jwk)) }
        #expect(keys[0].publicJWK == nil)
    }

    @Test(arguments: Algorithm.allCases)
    func keysSurviveRestarts(_ algorithm: Algorithm) async throws {
        let key = try algorithm.key()
        let restored = try SigningKey(jwk: key.jwk)
        #expect(restored.jwk == key.jwk && restored.id == "k1")
        let token = try signer(restored).token(userID: "u")
        #expect(try await signer(key).verify(authorization: "Bearer \(token.text)").id == "u")
    }

    /// As `head -c 32 /dev/urandom | basenc --base64url` writes it, and as the service reads it.
    @Test func aSecretMayHavePadding() throws {
        let jwk = #"{"kty":"oct","kid":"a","alg":"HS256","k":"\#(Self.seed)="}"#
        let key = try SigningKey(jwk: jwk)
        #expect(key.jwk == SigningKey(try JSONWebKey(json: jwk))?.jwk)
    }

    @Test(arguments: ["HS256", "HS384", "HS512"])
    func aSecretIsForTheAlgorithmThatItNames(_ algorithm: String) async throws {
        let secret = Base64URL.encode(Array(repeating: 7 as UInt8, count: 64))
        let jwk = #"{"kty":"oct","kid":"a","alg":"\#(algorithm)","k":"\#(secret)"}"#
        let key = try SigningKey(jwk: jwk)
        #expect("\(key)".contains(algorithm))
        #expect(try SigningKey(jwk: key.jwk).jwk == key.jwk)
        let token = try signer(key).token(userID: "u")
        #expect(try await signer(key).verify(authorization: "Bearer \(token.text)").id == "u")
        // As the service reads it.
        #expect(try JSONWebKey(json: jwk).algorithm?.rawValue == algorithm)
    }

    private static let seed = Base64URL.encode(Array(repeating: 7 as UInt8, count: 32))

    @Test(arguments: ["", #","alg":null"#, #","alg":"EdDSA""#, #","alg":"Ed25519""#])
    func aKeyForEd25519MayHaveEitherName(algorithm: String) async throws {
        let key = try SigningKey(jwk: #"{"kty":"OKP","crv":"Ed25519","kid":"a","d":"\#(Self.seed)"\#(algorithm)}"#)
        let token = try signer(key).token(userID: "u")
        #expect(try await signer(key).verify(authorization: "Bearer \(token.text)").id == "u")
    }

    @Test func aKeyOfOpenSSLCanBeUsed() async throws {
        let pem = """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgB72XhdpD3YNvUJ41
            5Tx0wPgK56ItB1BXskQretD7sZ6hRANCAATfV0y4jJsHM9fZmNepvHiPQTI8qMf/
            ZKKeQpCvM3tOY/IcUiWMvLlB2qYEjVCMYTYdef36TqswsznxEnGP/odN
            -----END PRIVATE KEY-----
            """
        let signer = signer(try .es256(pem: pem, id: "pem"))
        let token = try signer.token(userID: "u")
        #expect(try await signer.verify(authorization: "Bearer \(token.text)").id == "u")
        #expect(throws: TokenError.self) { try SigningKey.es256(pem: "", id: "x") }
        #expect(throws: TokenError.self) { try SigningKey.es256(pem: String(pem.dropLast(60)), id: "x") }
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"kty":"oct","k":"AQ","kid":"a"}"#, #"{"kty":"oct","k":"%%","kid":"a"}"#,
        #"{"kty":"EC","crv":"P-256","kid":"a"}"#, #"{"kty":"EC","crv":"P-256","kid":"a","d":"AQ"}"#,
        #"{"kty":"EC","crv":"P-521","kid":"a","d":"AQ"}"#, #"{"kty":"OKP","crv":"Ed25519","kid":"a","d":"AQ"}"#,
        #"{"kty":"RSA","kid":"a","d":"AQ"}"#, #"{"kty":"OKP","crv":"Ed25519","d":"AQ"}"#,
        #"{"kty":"oct","kid":"a","alg":"ES256","k":"AQ"}"#, #"{"kty":"oct","kid":"a","alg":1,"k":"AQ"}"#,
        #"{"kty":"EC","crv":"P-256","kid":"a","alg":"ES512","d":"AQ"}"#,
        #"{"kty":"OKP","crv":"Ed25519","kid":"a","alg":"ES256","d":"\#(seed)"}"#,
    ])
    func keysThatCannotSignAreRefused(jwk: String) {
        let error = #expect(throws: TokenError.self) { try SigningKey(jwk: jwk) }
        #expect(error?.code == .key && error?.message.contains("AQ") == false)
    }

    @Test(arguments: [Duration.zero, .milliseconds(500), .seconds(86_401), .seconds(-1)])
    func lifetimesThatTheServiceRefusesAreRefused(lifetime: Duration) throws {
        let signer = signer(.es256(id: "a"))
        let error = #expect(throws: TokenError.self) { try signer.token(userID: "u", lifetime: lifetime) }
        #expect(error?.code == .lifetime)
    }

    @Test(arguments: ["sub", "aud", "iss", "iat", "exp", "nbf"])
    func claimsOfTheSignerCannotBeReplaced(claim: String) throws {
        let signer = signer(.es256(id: "a"))
        let error = #expect(throws: TokenError.self) { try signer.token(userID: "u", claims: [claim: .int(1)]) }
        #expect(error?.code == .claim)
        #expect(throws: TokenError.self) { try signer.token(userID: "u", claims: ["x": .double(.infinity)]) }
    }

    @Test func shortSecretsAreRefused() {
        #expect(throws: TokenError.self) { try SigningKey.hs256(secret: Self.secret.prefix(31), id: "a") }
    }
}
