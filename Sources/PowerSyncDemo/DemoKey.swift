import PowerSyncBackend
import PowerSyncService

/// What the demo's backend signs tokens with, and services check them with.
struct DemoKey: Sendable {
    private static let id = "demo"
    private static let audience = "powersync-demo"
    private let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max) }

    /// Signs tokens of users, as the app's own backend does.
    func signer() throws -> SyncTokenSigner {
        SyncTokenSigner(key: try .hs256(secret: secret, id: Self.id), audience: Self.audience)
    }

    /// Lets a service accept the tokens.
    func add(to authentication: inout ClientAuthentication) {
        authentication.keys = [.hs256(secret: secret, id: Self.id)]
        authentication.audience = [Self.audience]
    }
}
