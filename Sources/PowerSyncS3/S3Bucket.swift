public import Foundation

/// A bucket of an S3-compatible storage: where it is, and how its URLs look.
///
/// ```swift
/// S3Bucket(name: "photos", region: "eu-central-1")
/// S3Bucket(name: "photos", region: "us-east-1", endpoint: URL(string: "http://127.0.0.1:9000")!, addressing: .path)  // MinIO
/// ```
public struct S3Bucket: Sendable, Hashable {
    /// Where the name of the bucket is in a URL.
    public struct Addressing: Sendable, Hashable {
        private enum Value: Sendable { case virtualHost, path }

        private let value: Value

        /// `https://bucket.s3.eu-central-1.amazonaws.com/key`, the usual form of AWS.
        public static let virtualHost = Addressing(value: .virtualHost)
        /// `https://s3.example.com/bucket/key`, the usual form of storages of one's own, and for names with dots.
        public static let path = Addressing(value: .path)
    }

    /// The name of the bucket.
    public let name: String
    /// The region that signatures are for.
    public let region: String
    /// The scheme and host of the storage, with a port and a path if it has them.
    public let endpoint: URL
    /// Where the name of the bucket is in a URL.
    public let addressing: Addressing

    /// Describes a bucket.
    ///
    /// - Parameters:
    ///   - name: The name of the bucket.
    ///   - region: The region that signatures are for.
    ///   - endpoint: The scheme and host of the storage; `nil` for AWS in that region.
    ///   - addressing: Where the name of the bucket is in a URL.
    public init(name: String, region: String, endpoint: URL? = nil, addressing: Addressing = .virtualHost) {
        self.name = name
        self.region = region
        // A region that makes no URL is reported when something is to be signed.
        self.endpoint = endpoint ?? URL(string: "https://s3.\(region).amazonaws.com") ?? URL(filePath: "/")
        self.addressing = addressing
    }

    /// The `Host` of requests: without the port that the scheme implies.
    var host: String {
        var host = endpoint.host() ?? ""
        // An address of IPv6, which `host()` gives without its brackets.
        if host.contains(":"), !host.hasPrefix("[") { host = "[\(host)]" }
        if addressing == .virtualHost { host = "\(name).\(host)" }
        let impliedPort = endpoint.scheme?.lowercased() == "http" ? 80 : 443
        if let port = endpoint.port, port != impliedPort { host += ":\(port)" }
        return host.lowercased()
    }

    /// The path of an object, percent-encoded as signatures want it; that of the bucket for an empty key.
    func path(of key: String) -> String {
        var path = endpoint.path(percentEncoded: true)
        while path.hasSuffix("/") { path.removeLast() }
        if addressing == .path { path += "/" + name.percentEncoded(keeping: "") }
        return path + "/" + key.percentEncoded(keeping: "/")
    }
}

extension String {
    /// The text with each byte that RFC 3986 does not call unreserved as `%XX`, in upper case.
    ///
    /// - Parameter kept: ASCII characters that stay as well.
    /// - Returns: The encoded text.
    func percentEncoded(keeping kept: String) -> String {
        var result = ""
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            case _ where kept.utf8.contains(byte):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return result
    }
}
