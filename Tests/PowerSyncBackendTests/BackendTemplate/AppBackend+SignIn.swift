import HTTPTypes
import Hummingbird
import PowerSyncBackend

/// Who sends a request.
extension AppBackend {
    /// The user of a request for a token: `Authorization: Bearer NAME`, whatever the name is.
    ///
    /// Replace it before anybody else reaches the back end: look up the session of the app, or check the token of your identity
    /// provider, and return `nil` for nobody.
    static func signedInUser(_ request: Request) async throws -> BackendUser? {
        guard let value = request.headers[.authorization], value.hasPrefix("Bearer ") else { return nil }
        let name = value.dropFirst("Bearer ".count)
        return name.isEmpty ? nil : BackendUser(id: String(name))
    }
}
