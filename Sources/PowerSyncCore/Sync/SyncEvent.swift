package import PowerSyncProtocol

/// What the driver of a sync iteration tells the ``SyncEngine`` (docs/client-sync.md "Iterations").
package enum SyncEvent: Sendable {
    /// Begins an iteration; tears down the one that is running.
    case start(SyncStart)
    /// Ends the iteration, if there is one.
    case stop
    /// The service accepted the request: status 200 and a known media type.
    case streamOpened
    /// The response ended without an error.
    case streamEnded
    /// A line of the response.
    case line(ReceivedLine)
    /// New credentials are available; the iteration restarts with them.
    case tokenRefreshed
    /// The upload queue was drained, and a write checkpoint was stored if one was needed.
    case uploadCompleted
    /// The service has answered a keepalive of a connection on which it sends no periodic lines: the occasion for what
    /// such a line would cause.
    case keepaliveAnswered
    /// A subscription was stored, and the request may stay what it is for a while.
    case subscriptionStored(StreamStatus)
    /// The application's stream handles or the subscription table changed.
    case subscriptionsChanged

    /// Whether the iteration that runs is over with the event, whatever became of it.
    var replacesIteration: Bool {
        switch self {
        case .start, .stop: true
        case .streamOpened, .streamEnded, .line, .tokenRefreshed, .uploadCompleted, .keepaliveAnswered,
            .subscriptionStored, .subscriptionsChanged:
            false
        }
    }
}

/// What an iteration is started with.
package struct SyncStart: Sendable {
    /// Connection parameters, sent to the service.
    package var parameters: JSONObject
    /// Whether streams with `auto_subscribe: true` are wanted.
    package var includeDefaultStreams: Bool
    /// Sent to the service, which logs it.
    package var appMetadata: [String: String]

    /// Creates the payload of a start event.
    package init(
        parameters: JSONObject = JSONObject(),
        includeDefaultStreams: Bool = true,
        appMetadata: [String: String] = [:]
    ) {
        self.parameters = parameters
        self.includeDefaultStreams = includeDefaultStreams
        self.appMetadata = appMetadata
    }
}
