/// The clients that were connected in the last hours and are not any more, for operators: each once, however often it came back.
package struct RecentClients: Sendable {
    /// A client that has left.
    package struct Client: Sendable, Equatable {
        /// The client, with its texts as they are shown.
        package var client: StreamClient
        /// How many of its streams have ended.
        package var streams: Int
        /// When the first of them was opened, in seconds since 1970.
        package var firstSeen: Double
        /// When the last of them ended.
        package var lastSeen: Double
        /// The operations that it was sent.
        package var operations: Int
        /// The bytes of lines that it was sent.
        package var bytes: Int
    }

    /// How long a client is remembered, in seconds: six hours.
    package static let memory = 6.0 * 3600
    /// The most clients that are remembered; of more, those that have left last.
    package static let maximumCount = 10_000

    private var clients: [StreamClient: Client] = [:]

    /// Creates a list without clients.
    package init() {}

    /// Notes that a stream has ended.
    ///
    /// - Complexity: O(1), amortised.
    package mutating func ended(
        _ client: StreamClient,
        openedAt: Double,
        operations: Int,
        bytes: Int,
        at now: Double
    ) {
        let shown = client.shown
        var entry =
            clients[shown]
            ?? Client(client: shown, streams: 0, firstSeen: openedAt, lastSeen: now, operations: 0, bytes: 0)
        entry.streams += 1
        entry.lastSeen = max(entry.lastSeen, now)
        entry.operations += operations
        entry.bytes += bytes
        clients[shown] = entry
        guard clients.count > Self.maximumCount else { return }
        // A tenth at once, so that not every stream that ends pays for it.
        forget(before: now - Self.memory)
        let excess = clients.count - Self.maximumCount * 9 / 10
        guard excess > 0 else { return }
        for client in clients.values.sorted(by: { $0.lastSeen < $1.lastSeen }).prefix(excess) {
            clients[client.client] = nil
        }
    }

    /// The clients of the last hours, those that have left last first.
    package mutating func list(at now: Double) -> [Client] {
        forget(before: now - Self.memory)
        return clients.values.sorted { ($1.lastSeen, $0.client.userID) < ($0.lastSeen, $1.client.userID) }
    }

    private mutating func forget(before time: Double) {
        clients = clients.filter { $0.value.lastSeen >= time }
    }
}

extension StreamClient {
    /// The client with as much of its texts as is shown, so that they take bounded memory.
    fileprivate var shown: StreamClient {
        StreamClient(
            userID: Self.shown(userID),
            clientID: clientID.map(Self.shown),
            userAgent: userAgent,
            format: format
        )
    }
}
