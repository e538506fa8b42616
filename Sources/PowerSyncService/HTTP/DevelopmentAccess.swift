import HTTPTypes
import Hummingbird
import NIOCore
import PowerSyncProtocol

/// Allows requests to the endpoints for development: those of programs, and of web pages of this machine
/// (docs/service.md "The embedded source").
///
/// They give all rows to every client that reaches them, and every page that a developer visits reaches what listens on
/// 127.0.0.1. So pages of other places are refused, which browsers name in `Origin`; and so are names of strangers in
/// `Host`, which lead to this machine when a page of theirs asks by them (DNS rebinding). Programs send no `Origin`,
/// and reach the service by an address or a name that is known.
struct DevelopmentAccess: Sendable {
    /// The host of the configuration, which may be a name of this machine.
    var host = "localhost"

    /// Whether a path is below `/dev/`.
    static func owns(_ path: String) -> Bool { RoutePath(path).isAtOrBelow("dev") }

    /// Whether the value of an `Origin` header is that of a page of this machine: any port of `localhost`, of a name
    /// below it, or of a loopback address, with `http` or `https`.
    static func isLocal(origin: String) -> Bool {
        let origin = origin.lowercased()
        let scheme = ["http://", "https://"].first { origin.hasPrefix($0) }
        guard let scheme, let host = RequestHost(String(origin.dropFirst(scheme.count))) else { return false }
        return host.isLoopback
    }

    /// Whether the value of a `Host` header leads here without a name server of strangers: an IP address, a name of the
    /// loopback interface, or ``host``.
    func accepts(host authority: String) -> Bool {
        guard let requested = RequestHost(authority) else { return false }
        return requested.isLoopback || requested.address != nil || requested.name == host.lowercased()
    }

    /// Checks where a request comes from, and by which name.
    ///
    /// - Throws: ``ErrorEnvelope`` with status 403.
    func check(_ request: Request) throws(ErrorEnvelope) {
        if let origin = request.headers[.origin], !Self.isLocal(origin: origin) { throw .foreignOrigin }
        if let authority = request.head.authority, !accepts(host: authority) { throw .foreignHost }
    }
}

/// A host with or without a port: `localhost:5173`, `127.0.0.1`, `[::1]:8080`.
private struct RequestHost {
    /// In lower case, without brackets, port and the dot of the root.
    let name: String
    /// The name as an IP address, in its usual form; `nil` for other names.
    let address: String?

    /// Reads a host; `nil` when the text is none.
    init?(_ text: String) {
        let text = text.lowercased()
        let isBracketed = text.hasPrefix("[")
        let end: String.Index? = isBracketed ? text.firstIndex(of: "]") : text.firstIndex(of: ":") ?? text.endIndex
        guard let end else { return nil }
        var name = text[..<end]
        var port = text[end...]
        if isBracketed {
            name.removeFirst()
            port.removeFirst()
        }
        guard port.isEmpty || port.hasPrefix(":") && port.dropFirst().utf8.allSatisfy(Self.isDigit) else { return nil }
        if name.hasSuffix(".") { name.removeLast() }
        guard !name.isEmpty, name.utf8.allSatisfy({ isBracketed ? Self.isAddressByte($0) : Self.isNameByte($0) }) else {
            return nil
        }
        self.name = String(name)
        address = (try? SocketAddress(ipAddress: self.name, port: 0))?.ipAddress
        if isBracketed, address == nil { return nil }
    }

    /// Whether it is this machine, for itself.
    var isLoopback: Bool {
        if let address { return address == "::1" || address.hasPrefix("127.") }
        return name == "localhost" || name.hasSuffix(".localhost")
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_")].contains(byte)
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            || [UInt8(ascii: "."), UInt8(ascii: ":")].contains(byte)
    }
}

extension ErrorEnvelope {
    /// 403: a web page of another place asks an endpoint for development.
    static let foreignOrigin = ErrorEnvelope(
        code: .generic,
        status: 403,
        description: "Endpoints for development are for programs, and for web pages of this machine",
        name: "AuthorizationError",
        details: "The origin is not localhost, no name below it, and no loopback address."
    )

    /// 403: an endpoint for development is asked by the name of a stranger.
    static let foreignHost = ErrorEnvelope(
        code: .generic,
        status: 403,
        description: "Endpoints for development are not for every host name",
        name: "AuthorizationError",
        details: "Use localhost, an IP address, or the host of the configuration."
    )
}
