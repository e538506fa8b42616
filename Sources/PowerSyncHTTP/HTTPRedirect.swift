import Foundation
package import NIOHTTP1

/// An answer that refers to another address, where a request with a token is not sent.
///
/// ```swift
/// HTTPRedirect(status: 302, headers: ["Location": "https://login.example.com/?next=a"], of: url)?.sentence
/// // It redirects to https://login.example.com, which is not followed: …
/// ```
package struct HTTPRedirect: Sendable, Hashable {
    /// The statuses that refer to the address of a `Location` header (RFC 9110, 15.4).
    private static let statuses: Set = [301, 302, 303, 307, 308]
    /// The most bytes of a target.
    private static let targetLimit = 300

    /// The scheme, the host and the port: `https://login.example.com:8443`; `nil` when the answer names no address.
    ///
    /// Without path and query, which may hold secrets.
    package let target: String?

    /// Looks whether an answer redirects; `nil` for another answer.
    ///
    /// - Parameters:
    ///   - status: The status of the answer.
    ///   - headers: The fields of its head.
    ///   - url: The address of the request, to which a `Location` may be relative.
    package init?(status: Int, headers: HTTPHeaders, of url: String) {
        guard Self.statuses.contains(status) else { return nil }
        target = headers.first(name: "Location").flatMap { location in
            URL(string: location, relativeTo: URL(string: url)).flatMap(Self.origin)
        }
    }

    /// What happened and what to do about it, for messages.
    package var sentence: String {
        guard let target else { return "It redirects, but names no address to go to." }
        return """
            It redirects to \(target), which is not followed: a token is only sent to the address that was configured. \
            If \(target) is right, configure it instead.
            """
    }

    private static func origin(of url: URL) -> String? {
        guard let scheme = url.scheme?.lowercased(), ["http", "https", "ws", "wss"].contains(scheme),
            let host = url.host(percentEncoded: true), !host.isEmpty
        else { return nil }
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let origin = "\(scheme)://\(name)\(url.port.map { ":\($0)" } ?? "")"
        return origin.utf8.count <= targetLimit ? origin : nil
    }
}
