/// The keys that sign requests to an S3-compatible storage.
///
/// They give access to the whole bucket: keep them on servers and development machines, never in an app.
public struct S3Credentials: Sendable {
    /// The access key id.
    public let accessKeyID: String
    /// The secret access key.
    public let secretAccessKey: String
    /// The session token of temporary credentials.
    public let sessionToken: String?

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - accessKeyID: The access key id.
    ///   - secretAccessKey: The secret access key.
    ///   - sessionToken: The session token of temporary credentials.
    public init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
    }
}

extension S3Credentials: CustomStringConvertible {
    /// The access key id; the secrets are left out.
    public var description: String { "S3Credentials(accessKeyID: \(accessKeyID))" }
}
