import Metrics
import PowerSyncProtocol

/// The outcome of a sync stream, in the words of its last log line and of `powersync_sync_connections_total`.
struct StreamEnd {
    /// Whether it ended well.
    enum Outcome: String, CaseIterable {
        /// The client, the service or the token ended it.
        case completed
        /// An error or a client that does not read ended it.
        case failed
        /// It did not begin: the client got an error instead of a first line.
        case refused
    }

    /// The `close_reason` of the log line.
    enum Reason: String, CaseIterable {
        /// The client has gone away, or cancelled it.
        case client = "client closing stream"
        /// The token has expired, or another sync config is active.
        case service = "service closing stream"
        /// The client has not read for too long.
        case unread = "client not reading"
        /// An error.
        case error = "stream error"
        /// The process shuts down.
        case shutdown = "process shutdown"
        /// Its task was cancelled.
        case unknown
    }

    private static let label = "powersync_sync_connections_total"
    /// The value of the label `code` without an error.
    private static let noCode = "none"

    let outcome: Outcome
    let reason: Reason

    /// Creates a description of the end of a stream that had begun.
    ///
    /// - Parameter end: The end of its lines; `nil` when its task was cancelled.
    init(_ end: LineQueue.End?) {
        (outcome, reason) =
            switch end {
            case .clientClosed: (.completed, .client)
            case .completed: (.completed, .service)
            case .shutdown: (.completed, .shutdown)
            case .unread: (.failed, .unread)
            case .failed: (.failed, .error)
            case nil: (.failed, .unknown)
            }
    }

    private init(_ outcome: Outcome, _ reason: Reason) {
        (self.outcome, self.reason) = (outcome, reason)
    }

    /// The client got an error instead of a stream.
    static let refusal = StreamEnd(.refused, .error)

    /// Counts the end of a stream.
    ///
    /// - Parameters:
    ///   - code: The code of the error, if there was one.
    ///   - transport: What the stream was sent over.
    ///   - factory: Makes the metric.
    func count(
        _ code: ErrorCode?,
        _ transport: StreamTransport,
        factory: any MetricsFactory = MetricsSystem.factory
    ) {
        counter(code, transport, factory).increment()
    }

    /// Makes the metric exist before the first stream has ended, with 0.
    static func register(factory: any MetricsFactory = MetricsSystem.factory) {
        for transport in StreamTransport.allCases {
            for reason in [Reason.client, .service, .shutdown] {
                _ = StreamEnd(.completed, reason).counter(nil, transport, factory)
            }
        }
    }

    private func counter(
        _ code: ErrorCode?,
        _ transport: StreamTransport,
        _ factory: any MetricsFactory
    ) -> Counter {
        Counter(
            label: Self.label,
            dimensions: [
                ("outcome", outcome.rawValue), ("reason", reason.rawValue), ("code", code?.rawValue ?? Self.noCode),
                ("transport", transport.rawValue),
            ],
            factory: factory
        )
    }
}
