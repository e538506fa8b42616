import PowerSyncProtocol
import Testing

@testable import PowerSyncTokens

/// Which keys of a published set are used (docs/service.md "Authentication").
@Suite struct KeySetDocumentTests {
    private static let ed25519 = #""kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#
    private static let p256 =
        #""kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0""#

    private static func ids(_ keys: String...) throws -> [String?] {
        try KeySetDocument.keys(of: #"{"keys":[\#(keys.map { "{\($0)}" }.joined(separator: ","))]}"#).map(\.id)
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

    @Test(arguments: ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":[1]}"#, "<html>", #"{"keys":[{"kty":"#])
    func whatIsNoKeySetIsAnError(_ text: String) {
        let error = #expect(throws: AuthorizationError.self) { try KeySetDocument.keys(of: text) }
        #expect(error?.code == .keySetRequest)
    }
}
