package import PowerSyncProtocol

/// What a client asks for, as far as it decides about buckets (docs/sync-config.md "Requests to buckets").
package struct SyncPlanRequest: Sendable, Equatable {
    /// The payload of the verified token; the only source of `auth.*`.
    package var tokenPayload: JSONObject
    /// Connection parameters, chosen by the client.
    package var parameters: JSONObject
    /// Subscriptions.
    package var streams: StreamingSyncRequest.Streams

    /// Creates a request.
    package init(
        tokenPayload: JSONObject,
        parameters: JSONObject = JSONObject(),
        streams: StreamingSyncRequest.Streams = StreamingSyncRequest.Streams()
    ) {
        self.tokenPayload = tokenPayload
        self.parameters = parameters
        self.streams = streams
    }
}
