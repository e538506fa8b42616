import PowerSyncBackend
import PowerSyncService

func makeSigningKey() {
    let key = SigningKey.es256(id: "2026-11")
    print(key.jwk)  // A secret, for the backend.
    print(key.publicJWK ?? "")  // For client_auth.jwks.keys of the service.
}

func syncToken(for user: String, of organisation: String, key: String) throws -> String {
    let signer = SyncTokenSigner(key: try SigningKey(jwk: key), audience: "https://sync.example.com")
    return try signer.token(userID: user, claims: ["organisation": .string(organisation)]).text
}

func accept(_ publicKey: String, in configuration: inout ServiceConfiguration) throws {
    let key = try ClientKey.jwk(json: publicKey)
    configuration.authentication.keys = [key]
    configuration.authentication.audience = ["https://sync.example.com"]
}
