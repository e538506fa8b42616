/// What sends HTTP requests: those for sync streams and write checkpoints, uploads to a backend, and the files of attachments.
///
/// There are two, `nio` and `urlSession(_:)`; without a choice it is `standard`.
public struct PowerSyncHTTPClient: Sendable {
    /// Sends requests.
    package let exchange: any HTTPExchange

    /// Creates a client.
    package init(_ exchange: any HTTPExchange) {
        self.exchange = exchange
    }
}

extension PowerSyncHTTPClient: Hashable {
    /// Whether both share their connections.
    public static func == (lhs: PowerSyncHTTPClient, rhs: PowerSyncHTTPClient) -> Bool {
        lhs.exchange === rhs.exchange
    }

    /// Hashes what connections are shared by.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(exchange))
    }
}
