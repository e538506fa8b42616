public import Foundation

/// Signs requests to a bucket: the part of an app's backend that gives clients their URLs.
///
/// ```swift
/// let signer = S3Signer(bucket: bucket, credentials: credentials)
/// router.post("attachments/sign") { request, context in
///     let wanted = try await request.decode(as: SignedURLRequest.self, context: context)
///     // … check that the user may have this file …
///     return try signer.presignedURL(method: "PUT", key: wanted.filename, validFor: .seconds(300))
/// }
/// ```
///
/// Signatures are of version 4 (AWS4-HMAC-SHA256). A storage refuses those whose time is more than 15 minutes off. Where the clock of this
/// process is, they carry the storage's time as soon as an ``S3PartsStorage`` or an ``S3AttachmentTransport`` of this process has asked
/// something of the same endpoint and was refused: a backend that only signs asks once when it starts, for example with
/// ``S3PartsStorage/abortUploads(olderThan:)``.
public struct S3Signer: Sendable {
    /// How long a presigned URL is good: 15 minutes.
    public static let defaultValidity = Duration.seconds(900)
    /// The longest that S3 accepts: seven days.
    public static let longestValidity = Duration.seconds(7 * 24 * 3600)

    /// The bucket.
    public let bucket: S3Bucket
    private let credentials: S3Credentials
    private let now: @Sendable () -> Date

    /// Creates a signer whose signatures carry the time of this process, or of the storage where that is known to be another one.
    ///
    /// - Parameters:
    ///   - bucket: The bucket.
    ///   - credentials: Keys that may access it.
    public init(bucket: S3Bucket, credentials: S3Credentials) {
        let clock = S3Clock.shared(for: bucket.endpoint)
        self.init(bucket: bucket, credentials: credentials) { clock.date }
    }

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - bucket: The bucket.
    ///   - credentials: Keys that may access it.
    ///   - now: The time that signatures carry.
    public init(bucket: S3Bucket, credentials: S3Credentials, now: @escaping @Sendable () -> Date) {
        self.bucket = bucket
        self.credentials = credentials
        self.now = now
    }

    /// A URL with which its holder may do one thing with one object for some time.
    ///
    /// - Parameters:
    ///   - method: `GET`, `HEAD`, `PUT` or `DELETE`.
    ///   - key: The key of the object, not encoded; the bucket itself when empty.
    ///   - validity: How long; at least one second and at most ``longestValidity``, others become these.
    ///   - headers: Headers that the request must have, with these values.
    ///   - query: Further parameters, not encoded.
    /// - Returns: The URL.
    /// - Throws: ``S3Error`` when bucket, endpoint or key make no URL.
    public func presignedURL(
        method: String,
        key: String,
        validFor validity: Duration = S3Signer.defaultValidity,
        headers: [String: String] = [:],
        query: [String: String] = [:]
    ) throws(S3Error) -> URL {
        let signature = S3Signature(credentials: credentials, region: bucket.region, date: now())
        let seconds = min(max(validity, .seconds(1)), S3Signer.longestValidity).components.seconds
        var headers = headers
        headers["Host"] = bucket.host
        var query = query
        query["X-Amz-Algorithm"] = S3Signature.algorithm
        query["X-Amz-Credential"] = "\(credentials.accessKeyID)/\(signature.scope)"
        query["X-Amz-Date"] = signature.timestamp
        query["X-Amz-Expires"] = "\(seconds)"
        query["X-Amz-SignedHeaders"] = S3Signature.names(of: headers)
        if let token = credentials.sessionToken { query["X-Amz-Security-Token"] = token }
        let path = bucket.path(of: key)
        query["X-Amz-Signature"] = signature.sign(
            method: method,
            path: path,
            query: query,
            headers: headers,
            payloadHash: S3Signature.unsignedPayload
        )
        return try url(path: path, query: query)
    }

    /// The headers that sign a request: `Authorization` and what belongs to it.
    ///
    /// - Parameters:
    ///   - method: The method, in upper case.
    ///   - key: The key of the object, not encoded; the bucket itself when empty.
    ///   - headers: Further headers to sign.
    ///   - query: The parameters, not encoded.
    ///   - payloadSHA256: The digest of the body; `nil` leaves the body unsigned.
    /// - Returns: All headers of the request but `Host`, which the HTTP client makes of the URL.
    public func signedHeaders(
        method: String,
        key: String,
        headers: [String: String] = [:],
        query: [String: String] = [:],
        payloadSHA256: Data? = nil
    ) -> [String: String] {
        let signature = S3Signature(credentials: credentials, region: bucket.region, date: now())
        let payloadHash = payloadSHA256?.hexadecimal ?? S3Signature.unsignedPayload
        var result = headers
        result["x-amz-date"] = signature.timestamp
        result["x-amz-content-sha256"] = payloadHash
        if let token = credentials.sessionToken { result["x-amz-security-token"] = token }
        var signed = result
        signed["Host"] = bucket.host
        let text = signature.sign(
            method: method,
            path: bucket.path(of: key),
            query: query,
            headers: signed,
            payloadHash: payloadHash
        )
        result["Authorization"] =
            "\(S3Signature.algorithm) Credential=\(credentials.accessKeyID)/\(signature.scope),"
            + "SignedHeaders=\(S3Signature.names(of: signed)),Signature=\(text)"
        return result
    }

    /// The URL of an object, for requests with ``signedHeaders(method:key:headers:query:payloadSHA256:)``.
    ///
    /// - Parameters:
    ///   - key: The key of the object, not encoded; the bucket itself when empty.
    ///   - query: The parameters, not encoded.
    /// - Returns: The URL.
    /// - Throws: ``S3Error`` when bucket, endpoint or key make no URL.
    public func url(key: String, query: [String: String] = [:]) throws(S3Error) -> URL {
        try url(path: bucket.path(of: key), query: query)
    }

    private func url(path: String, query: [String: String]) throws(S3Error) -> URL {
        let parameters = query.isEmpty ? "" : "?" + S3Signature.encoded(query)
        let scheme = bucket.endpoint.scheme?.lowercased() ?? ""
        guard
            ["http", "https"].contains(scheme), bucket.endpoint.host() != nil,
            let url = URL(string: "\(scheme)://\(bucket.host)\(path)\(parameters)")
        else {
            throw S3Error(message: "\(bucket.endpoint) with the bucket \"\(bucket.name)\" makes no http or https URL")
        }
        return url
    }
}
