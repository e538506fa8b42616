/// How sync lines travel from the service to the database.
///
/// Both carry the same lines. Everything else, such as asking for write checkpoints, goes over HTTP.
public struct SyncTransportMethod: Sendable, Hashable {
    private enum Kind {
        case http, webSocket
    }

    private let kind: Kind

    /// A streamed HTTP response, compressed when the service does so: the default.
    public static let http = SyncTransportMethod(kind: .http)

    /// A WebSocket with RSocket frames, for networks whose proxies hold back streamed responses.
    ///
    /// The URL is that of the endpoint with `wss` in place of `https`, or `ws` in place of `http`.
    public static let webSocket = SyncTransportMethod(kind: .webSocket)
}

extension SyncTransportMethod: CustomStringConvertible {
    /// `http` or `webSocket`.
    public var description: String { "\(kind)" }
}
