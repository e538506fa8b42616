import Crypto
import Foundation

/// A signature of AWS, version 4, for S3.
///
/// ```
/// canonical request:  method \n path \n query, sorted \n headers, lower case, sorted, one a line \n \n names;of;headers \n payload hash
/// text to sign:       AWS4-HMAC-SHA256 \n 20130524T000000Z \n 20130524/us-east-1/s3/aws4_request \n hex(SHA256(canonical request))
/// key:                HMAC(HMAC(HMAC(HMAC("AWS4" + secret, date), region), "s3"), "aws4_request")
/// signature:          hex(HMAC(key, text to sign))
/// ```
///
/// For S3 the path is encoded once and not normalised.
struct S3Signature {
    static let algorithm = "AWS4-HMAC-SHA256"
    static let unsignedPayload = "UNSIGNED-PAYLOAD"

    let credentials: S3Credentials
    let region: String
    /// `20130524T000000Z`.
    let timestamp: String

    init(credentials: S3Credentials, region: String, date: Date) {
        self.credentials = credentials
        self.region = region
        timestamp = S3Signature.timestamp(of: date)
    }

    /// `20130524/us-east-1/s3/aws4_request`.
    var scope: String { "\(timestamp.prefix(8))/\(region)/s3/aws4_request" }

    /// Signs a request.
    ///
    /// - Parameters:
    ///   - method: The method, in upper case.
    ///   - path: The path, percent-encoded.
    ///   - query: The parameters, not encoded.
    ///   - headers: The headers to sign, with `Host`; names in any case.
    ///   - payloadHash: The digest of the body in hexadecimal digits, or ``unsignedPayload``.
    /// - Returns: The signature, in hexadecimal digits.
    func sign(
        method: String,
        path: String,
        query: [String: String],
        headers: [String: String],
        payloadHash: String
    ) -> String {
        let lines = S3Signature.canonical(headers).map { "\($0.name):\($0.value)\n" }.joined()
        let request = [
            method, path, S3Signature.encoded(query), lines, S3Signature.names(of: headers), payloadHash,
        ].joined(separator: "\n")
        let text = [
            S3Signature.algorithm, timestamp, scope, SHA256.hash(data: Data(request.utf8)).hexadecimal,
        ].joined(separator: "\n")
        var key = SymmetricKey(data: Data("AWS4\(credentials.secretAccessKey)".utf8))
        for part in [String(timestamp.prefix(8)), region, "s3", "aws4_request"] {
            key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Data(part.utf8), using: key))
        }
        return HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key).hexadecimal
    }

    /// The parameters as they are signed and sent.
    static func encoded(_ query: [String: String]) -> String {
        query.map { ($0.key.percentEncoded(keeping: ""), $0.value.percentEncoded(keeping: "")) }
            .sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
            .map { "\($0.0)=\($0.1)" }
            .joined(separator: "&")
    }

    /// `host;range;x-amz-date`.
    static func names(of headers: [String: String]) -> String {
        canonical(headers).map(\.name).joined(separator: ";")
    }

    private static func canonical(_ headers: [String: String]) -> [(name: String, value: String)] {
        headers.map { header in
            // Spaces around a value and repeated ones do not count.
            (name: header.key.lowercased(), value: header.value.split(separator: " ").joined(separator: " "))
        }.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    private static func timestamp(of date: Date) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        return String(
            format: "%04d%02d%02dT%02d%02d%02dZ",
            parts.year ?? 0,
            parts.month ?? 0,
            parts.day ?? 0,
            parts.hour ?? 0,
            parts.minute ?? 0,
            parts.second ?? 0
        )
    }
}

extension Sequence<UInt8> {
    /// Two lower-case digits for each byte.
    var hexadecimal: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
