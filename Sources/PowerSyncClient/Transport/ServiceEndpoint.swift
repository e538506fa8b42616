import Foundation
import PowerSyncHTTP

/// The base URL of a sync service, checked, without a trailing slash.
///
/// ```swift
/// let endpoint = try ServiceEndpoint("https://example.com/sync-service/")
/// endpoint.url(path: "/sync/stream")  // https://example.com/sync-service/sync/stream
/// ```
package struct ServiceEndpoint: Sendable, Hashable {
    /// The URL up to and including the base path, without a trailing slash.
    private let base: String
    /// Whether requests and tokens travel unencrypted.
    package let isPlaintext: Bool

    /// Checks an endpoint.
    ///
    /// - Parameter text: An `http` or `https` URL with a host and, if need be, a port and a path. A query and a
    ///   fragment are dropped.
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` that quotes `text`.
    package init(_ text: String) throws(PowerSyncError) {
        guard
            var components = URLComponents(string: text),
            let scheme = components.scheme?.lowercased(), scheme == "http" || scheme == "https",
            let host = components.host, !host.isEmpty, components.url?.hasUsablePort == true
        else {
            throw .notServiceAddress(text)
        }
        components.scheme = scheme
        components.query = nil
        components.fragment = nil
        // A user name or password in the address would end up in logs.
        components.user = nil
        components.password = nil
        var path = components.percentEncodedPath[...]
        while path.last == "/" { path.removeLast() }
        components.percentEncodedPath = String(path)
        guard let base = components.string else {
            throw .notURL(text)
        }
        self.base = base
        isPlaintext = scheme == "http"
    }

    /// The URL of a path on the service.
    ///
    /// - Parameters:
    ///   - path: The path, with a leading slash.
    ///   - query: Names and values; values are percent-encoded here.
    /// - Returns: The URL, with a single slash before the path.
    package func url(path: String, query: KeyValuePairs<String, String> = [:]) -> String {
        guard !query.isEmpty else { return base + path }
        let items = query.map { "\($0.key)=\(ServiceEndpoint.percentEncoded($0.value))" }
        return "\(base)\(path)?\(items.joined(separator: "&"))"
    }

    /// Everything but unreserved characters (RFC 3986, 2.3) is encoded.
    private static func percentEncoded(_ value: String) -> String {
        var text = ""
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                text += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return text
    }
}

extension ServiceEndpoint: CustomStringConvertible {
    /// The base URL.
    package var description: String { base }
}
