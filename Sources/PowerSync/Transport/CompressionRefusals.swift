import NIOConcurrencyHelpers
import PowerSyncHTTP

/// The sync streams that are asked for without compression, because they were compressed too much.
///
/// One read from the socket is inflated as a whole, before back-pressure can do anything: without a limit, a service or a
/// proxy could fill the memory with very few bytes. Without compression, data of any kind arrives.
final class CompressionRefusals: Sendable {
    private let urls = NIOLockedValueBox<Set<String>>([])

    /// Whether a stream is asked for without compression.
    func contains(_ url: String) -> Bool {
        urls.withLockedValue { $0.contains(url) }
    }

    /// Notes that a stream was compressed too much.
    ///
    /// - Returns: The error to end it with.
    func refuse(_ url: String) -> SyncTransportError {
        urls.withLockedValue { _ = $0.insert(url) }
        return SyncTransportError(
            .connection,
            message:
                "The sync stream from \(url) was compressed by more than \(HTTPExchangeRequest.compressionRatioLimit):1. "
                + "From now on it is asked for without compression."
        )
    }
}
