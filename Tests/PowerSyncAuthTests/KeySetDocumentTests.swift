import PowerSyncProtocol
import Testing

@testable import PowerSyncAuth

/// Which keys of a published set are used (docs/service.md "Authentication").
@Suite struct KeySetDocumentTests {
    private static let ed25519 = #""kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#
    private static let p256 =
        #""kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0""#

    private static func ids(_ keys: String...) throws -> [String?] {
        try document(keys).keys.map(\.id)
    }

    private static func document(_ keys: [String]) throws -> KeySetDocument {
        try KeySetDocument(json: #"{"keys":[\#(keys.map { "{\($0)}" }.joined(separator: ","))]}"#)
    }

    @Test func publicKeysForSignaturesAreUsed() throws {
        #expect(
            try Self.ids(
                #""kid":"a",\#(Self.ed25519)"#,
                #""kid":"b","use":"sig","key_ops":["sign","verify"],"alg":"ES256",\#(Self.p256)"#,
                #"\#(Self.p256)"#
            ) == ["a", "b", nil]
        )
    }

    @Test func othersAreLeftOut() throws {
        #expect(
            try Self.ids(
                #""kid":"secret","kty":"oct","alg":"HS256","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY""#,
                #""kid":"encryption","use":"enc",\#(Self.p256)"#,
                #""kid":"derivation","key_ops":["deriveKey"],\#(Self.p256)"#,
                #""kid":"nothing in it","kty":"EC","crv":"P-256""#,
                #""kid":"another curve","kty":"EC","crv":"secp256k1","x":"AA","y":"AA""#,
                #""kid":"another algorithm","alg":"RS256",\#(Self.p256)"#,
                #""kid":"use is no text","use":1,\#(Self.p256)"#,
                #""kid":"good",\#(Self.ed25519)"#
            ) == ["good"]
        )
    }

    struct LeftOut: CustomTestStringConvertible, Sendable {
        var key: String
        /// How the key is named, and a part of the reason.
        var expected: [String]
        var testDescription: String { key }
    }

    @Test(arguments: [
        LeftOut(
            key: #""kid":"a","kty":"EC","crv":"secp256k1","alg":"ES256K","x":"AA","y":"AA""#,
            expected: ["a (ES256K): ", "secp256k1"]
        ),
        LeftOut(
            key: #""kid":"a","kty":"EC","crv":"secp256k1","x":"AA","y":"AA""#,
            expected: ["a (secp256k1): ", "no library"]
        ),
        LeftOut(
            key: #""kid":"a","kty":"OKP","crv":"Ed448","alg":"EdDSA","x":"AA""#,
            expected: ["a (EdDSA): ", "Ed448"]
        ),
        LeftOut(
            key: #""kid":"a","kty":"OKP","crv":"X25519","x":"AA""#,
            expected: ["a (X25519): ", "for encryption"]
        ),
        LeftOut(
            key: #""kid":"a","kty":"RSA","alg":"RSA-OAEP","n":"AA","e":"AQAB""#,
            expected: ["a (RSA-OAEP): ", "for encryption"]
        ),
        LeftOut(
            key: #""kid":"a","use":"enc","alg":"ES256",\#(p256)"#,
            expected: ["a (ES256): ", "for encryption"]
        ),
        LeftOut(key: #""kid":"a","key_ops":["deriveKey"],\#(p256)"#, expected: ["a (ES256): ", "key_ops"]),
        LeftOut(key: #""kty":"oct","alg":"HS256","k":"AA""#, expected: ["* (HS256): ", "secrets"]),
        LeftOut(key: #""kid":"a","alg":"RS256",\#(p256)"#, expected: ["a (RS256): ", "type EC"]),
        LeftOut(
            key: #""kid":"a","alg":"XS256",\#(p256)"#,
            expected: ["a (XS256): ", "known here", "PS512", "Ed25519"]
        ),
        LeftOut(key: #""kid":"a","kty":"AKP","alg":"ML-DSA-65","pub":"AA""#, expected: ["a (ML-DSA-65): ", "AKP"]),
    ])
    func leftOutKeysAreNamed(_ test: LeftOut) throws {
        let document = try Self.document([test.key, #""kid":"good",\#(Self.ed25519)"#])
        #expect(document.keys.map(\.id) == ["good"])
        let description = try #require(document.leftOut.first).description
        #expect(document.leftOut.count == 1)
        #expect(description.hasPrefix(test.expected[0]), "\(description)")
        for part in test.expected { #expect(description.contains(part), "\(description)") }
    }

    @Test func algorithmsHaveTheNamesOfTheNewerRFC() throws {
        let document = try Self.document([#""kid":"a","alg":"Ed25519",\#(Self.ed25519)"#])
        #expect(document.keys.map(\.algorithm) == [.eddsa])
    }

    @Test func aSetHasALimit() throws {
        let document = try Self.document(Array(repeating: #""kid":"a",\#(Self.ed25519)"#, count: 101))
        #expect(document.keys.count == 100 && document.leftOut.count == 1)
        #expect(document.leftOut.first?.reason.contains("more than 100 keys") == true)
    }

    @Test(arguments: ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[1]}"#, "<html>", #"{"keys":[{"kty":"#])
    func whatIsNoKeySetIsAnError(_ text: String) {
        let error = #expect(throws: AuthorizationError.self) { try KeySetDocument(json: text) }
        #expect(error?.code == .keySetRequest)
    }
}
