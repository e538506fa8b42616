import Synchronization

/// The sync streams that are asked for without compression, because they were compressed too much.
///
/// One read from the socket is inflated as a whole, before back-pressure can do anything: without a limit, a service or a
/// proxy could fill the memory with very few bytes. Without compression, data of any kind arrives.
final class CompressionRefusals: Sendable {
    /// How many times as long as its compressed bytes a stream may become, as a whole.
    ///
    /// Rows of ordinary data become 5 to 30 times as long; gzip itself reaches about 1,000.
    static let ratioLimit = 100

    private let urls = Mutex<Set<String>>([])

    /// Whether a stream is asked for without compression.
    func contains(_ url: String) -> Bool {
        urls.withLock { $0.contains(url) }
    }

    /// Notes that a stream was compressed too much.
    ///
    /// - Returns: The error to end it with.
    func refuse(_ url: String) -> SyncTransportError {
        urls.withLock { _ = $0.insert(url) }
        return SyncTransportError(
            .connection,
            message: "The sync stream from \(url) was compressed by more than \(Self.ratioLimit):1. "
                + "From now on it is asked for without compression."
        )
    }
}
