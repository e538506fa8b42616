/// The body of `POST /sync/stream` (docs/protocol.md "The sync request").
package struct StreamingSyncRequest: Sendable, Equatable {
    /// A bucket that the client has, with the position to continue from.
    package struct BucketPosition: Sendable, Equatable {
        /// The bucket.
        package var name: BucketName
        /// The last op id that the client stored.
        package var after: OpID

        /// Creates a position.
        package init(name: BucketName, after: OpID) {
            self.name = name
            self.after = after
        }
    }

    /// The streams part of the request.
    package struct Streams: Sendable, Equatable {
        /// Whether streams with `auto_subscribe: true` are wanted.
        package var includeDefaults: Bool
        /// Explicit subscriptions; replies refer to them by index.
        package var subscriptions: [Subscription]

        /// Creates the streams part.
        package init(includeDefaults: Bool = true, subscriptions: [Subscription] = []) {
            self.includeDefaults = includeDefaults
            self.subscriptions = subscriptions
        }
    }

    /// One explicit subscription.
    package struct Subscription: Sendable, Equatable {
        /// The name of the stream.
        package var stream: String
        /// Subscription parameters, an object or `nil`.
        package var parameters: JSONObject?
        /// Replaces the priority of the stream.
        package var overridePriority: Priority?

        /// Creates a subscription.
        package init(stream: String, parameters: JSONObject? = nil, overridePriority: Priority? = nil) {
            self.stream = stream
            self.parameters = parameters
            self.overridePriority = overridePriority
        }
    }

    /// The most explicit subscriptions that a request may list: more than fit into a body over HTTP, where that may have 1 MiB.
    ///
    /// How many of them get something is a matter of the limits of a connection.
    package static let maximumSubscriptions = 20_000
    /// The longest id of a client, in bytes: it is a UUID, and part of keys and of log lines.
    package static let maximumClientIDLength = 256

    /// The buckets that the client has.
    package var buckets: [BucketPosition]
    /// The stable id of the client's database.
    package var clientID: String?
    /// Connection parameters, chosen by the client.
    package var parameters: JSONObject
    /// Subscriptions.
    ///
    /// Old clients leave them out, which means "defaults only".
    package var streams: Streams
    /// Logged by the service, not interpreted.
    package var appMetadata: [String: String]
    /// NDJSON only: whether row data is sent as a string (`true`) or as an embedded object.
    ///
    /// Our client sends `true`.
    package var rawData: Bool

    /// Creates a request.
    package init(
        buckets: [BucketPosition] = [],
        clientID: String? = nil,
        parameters: JSONObject = JSONObject(),
        streams: Streams = Streams(),
        appMetadata: [String: String] = [:],
        rawData: Bool = true
    ) {
        self.buckets = buckets
        self.clientID = clientID
        self.parameters = parameters
        self.streams = streams
        self.appMetadata = appMetadata
        self.rawData = rawData
    }
}
