package import Foundation

/// Everything that a sync client takes from the outside world, so that tests can replace it.
package struct SyncEnvironment: Sendable {
    /// How the service is reached.
    package var transport: any SyncTransport
    /// How it is reached by connections that ask for a WebSocket.
    package var webSocketTransport: any SyncTransport
    /// Measures delays, throttles and timeouts.
    package var clock: any Clock<Duration>
    /// The date, for time stamps in the database.
    package var now: @Sendable () -> Date
    /// Random numbers, 0 ..< 1, that vary retry delays.
    package var random: @Sendable () -> Double
    /// Ends delays after failures early; `nil` where it is not known when to.
    package var retries: (any RetryOccasions)?
    /// Whether a stream that was opened stays open for a while, whatever is subscribed to.
    ///
    /// Not where the clock stands still until a test of an app moves it, which knows nothing of that.
    package var pausesReopening: Bool

    /// Creates an environment.
    ///
    /// - Parameters:
    ///   - transport: How the service is reached.
    ///   - webSocketTransport: How it is reached by connections that ask for a WebSocket; `nil` for no difference.
    ///   - clock: Measures delays, throttles and timeouts.
    ///   - now: The date, for time stamps in the database.
    ///   - random: Random numbers, 0 ..< 1, that vary retry delays.
    ///   - retries: Ends delays after failures early; `nil` where it is not known when to.
    ///   - pausesReopening: Whether a stream that was opened stays open for a while, whatever is subscribed to.
    package init(
        transport: any SyncTransport,
        webSocketTransport: (any SyncTransport)? = nil,
        clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date = { Date() },
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
        retries: (any RetryOccasions)? = nil,
        pausesReopening: Bool = true
    ) {
        self.transport = transport
        self.webSocketTransport = webSocketTransport ?? transport
        self.clock = clock
        self.now = now
        self.random = random
        self.retries = retries
        self.pausesReopening = pausesReopening
    }

    /// The real world: HTTP or WebSocket, the system's clocks and random numbers.
    package static let live = SyncEnvironment(
        transport: HTTPTransport.shared,
        webSocketTransport: WebSocketTransport.shared
    )

    /// The time before something that failed is tried again: that of the options ±10 %, so that many clients do not come back at the
    /// same moment.
    ///
    /// - Parameter base: The delay in the middle of the range.
    /// - Returns: `base` × 0.9 … 1.1.
    package func retryDelay(around base: Duration) -> Duration { base * (0.9 + 0.2 * random()) }

    /// How the service is reached with a method.
    package func transport(for method: SyncTransportMethod) -> any SyncTransport {
        method == .webSocket ? webSocketTransport : transport
    }
}
