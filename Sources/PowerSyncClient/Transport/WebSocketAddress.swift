import Foundation

/// Where a WebSocket for sync lines is opened (docs/protocol.md "Endpoints").
///
/// ```swift
/// WebSocketAddress(try ServiceEndpoint("https://example.com/sync-service"))?.url
/// // wss://example.com/sync-service/sync/stream
/// ```
struct WebSocketAddress: Sendable, Hashable {
    /// The name or the IP address; IPv6 without brackets.
    let host: String
    /// The port.
    let port: Int
    /// What goes into the request line.
    let path: String
    /// The value of the `Host` header.
    let authority: String
    /// Whether the connection is encrypted.
    let isSecure: Bool

    /// The URL, for messages and logs.
    var url: String { "\(isSecure ? "wss" : "ws")://\(authority)\(path)" }

    /// The address for an endpoint; `nil` when its URL has no host.
    init?(_ endpoint: ServiceEndpoint) {
        guard
            let components = URLComponents(string: endpoint.url(path: "/sync/stream")),
            let host = components.percentEncodedHost, !host.isEmpty
        else { return nil }
        isSecure = !endpoint.isPlaintext
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        self.host = isBracketed ? String(host.dropFirst().dropLast()) : host
        port = components.port ?? (isSecure ? 443 : 80)
        path = components.percentEncodedPath
        let name = isBracketed || !host.contains(":") ? host : "[\(host)]"
        authority = components.port.map { "\(name):\($0)" } ?? name
    }
}
