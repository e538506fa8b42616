import AsyncHTTPClient
import NIOConcurrencyHelpers

/// The clients that send calls and streams, of which one at a time is for new requests.
///
/// A connection that is being made belongs to the pool of its client, not to a request. When the request is given up, the next one to
/// the same host would wait for it instead of making its own, for as long as a connection may take, though it goes nowhere: the
/// network has changed, or the other side does not answer. So the next one gets a new client, with a pool of its own.
final class CallClients: Sendable {
    /// A client, shut down when neither a request nor the body of an answer uses it any more.
    final class Client: Sendable {
        let http: HTTPClient
        private let isOwn: Bool

        fileprivate init(_ http: HTTPClient, isOwn: Bool) {
            self.http = http
            self.isOwn = isOwn
        }

        deinit {
            if isOwn { http.shutdown { _ in } }
        }
    }

    private let make: (@Sendable () -> HTTPClient)?
    private let newest: NIOLockedValueBox<Client>

    /// Creates clients.
    ///
    /// - Parameter make: Makes one that is not shut down by anybody else.
    init(_ make: @escaping @Sendable () -> HTTPClient) {
        self.make = make
        newest = NIOLockedValueBox(Client(make(), isOwn: true))
    }

    /// Has one client for everything, which somebody else shuts down.
    init(only client: HTTPClient) {
        make = nil
        newest = NIOLockedValueBox(Client(client, isOwn: false))
    }

    /// What sends the next request.
    ///
    /// Who takes it holds it until the answer has been read.
    var current: Client { newest.withLockedValue { $0 } }

    /// A request was given up before it was answered; perhaps its connection was still being made.
    ///
    /// - Parameter client: What has sent it. What others send with it goes on.
    func gaveUp(on client: Client) {
        guard let make else { return }
        newest.withLockedValue { newest in
            // Others may have given up before.
            if newest === client { newest = Client(make(), isOwn: true) }
        }
    }
}
