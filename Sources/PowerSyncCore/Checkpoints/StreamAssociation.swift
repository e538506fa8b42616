import PowerSyncProtocol
import PowerSyncSQLite

/// Which buckets of a checkpoint belong to which stream subscriptions (docs/client-sync.md "Stream subscriptions").
///
/// Subscriptions are identified by their index in ``subscriptions``. Nothing of this is stored: after a restart it is
/// unknown until the first checkpoint.
struct StreamAssociation: Sendable {
    /// The rows of the subscription table, by id.
    private(set) var subscriptions: [StreamSubscription] = []
    /// The subscription that `{"sub": n}` means.
    private var explicitIndexes: [Int?] = []
    /// The subscription that `{"default": n}` means.
    private var defaultIndexes: [Int?] = []
    /// Whether the service sends what clients get without subscribing.
    private var includesDefaults = true
    /// By index, the subscriptions that were requested, and whose stream the service does not have.
    private(set) var unknownStreams: [Int: UnknownStream] = [:]
    /// The subscriptions that were requested.
    private var requested: Set<Int> = []
    /// The subscriptions that the request, or the service, had no room for.
    private(set) var leftOut: Set<Int> = []
    /// The positions in the request of those that the service had no room for.
    private(set) var refusedPositions: Set<Int> = []

    /// An association of nothing.
    init() {}

    /// Creates an association.
    ///
    /// - Parameters:
    ///   - subscriptions: The reconciled rows.
    ///   - request: What was requested.
    ///   - streams: The streams of the checkpoint.
    init(subscriptions: [StreamSubscription], request: SubscriptionRequest, streams: [StreamDescription]) {
        self.subscriptions = subscriptions
        includesDefaults = request.includesDefaults
        let indexes = Dictionary(uniqueKeysWithValues: subscriptions.enumerated().map { ($1.id, $0) })
        explicitIndexes = request.ids.map { indexes[$0] }
        requested = Set(explicitIndexes.compactMap(\.self))
        refusedPositions = Set(streams.flatMap(\.errors).compactMap(\.refusedPosition))
        leftOut = Set(request.leftOut.compactMap { indexes[$0.id] })
        for position in refusedPositions where explicitIndexes.indices.contains(position) {
            if let index = explicitIndexes[position] { leftOut.insert(index) }
        }
        defaultIndexes = streams.map { stream in
            subscriptions.firstIndex {
                $0.isOffered && !$0.isExplicit && $0.key.name.utf8.elementsEqual(stream.name.utf8)
            }
        }
        // Many subscriptions may have one name, and looking for similar names takes time.
        var unknownNames: [ExactText: UnknownStream] = [:]
        for index in explicitIndexes.compactMap({ $0 }) where !subscriptions[index].isActive {
            let name = subscriptions[index].key.name
            let unknown = unknownNames[ExactText(name)] ?? UnknownStream(name: name, among: streams)
            unknownNames[ExactText(name)] = unknown
            unknownStreams[index] = unknown
        }
    }

    /// Whether the checkpoint has what a subscription asks for.
    ///
    /// Not if the service does not have the stream, if there was no room for the subscription, if it was made after the request, or if it
    /// was taken back.
    /// A default stream without parameters is there whether it was asked for or not.
    func isAnswered(_ index: Int) -> Bool {
        let subscription = subscriptions[index]
        if subscription.isOffered, includesDefaults { return true }
        return subscription.isExplicit && subscription.isActive && requested.contains(index)
            && !leftOut.contains(index)
    }

    /// Whether the rows of a request are those that were judged, as they were.
    func isUpToDate(with request: SubscriptionRequest) -> Bool {
        request.subscriptions.indices.allSatisfy { index in
            let (row, judged) = (request.subscriptions[index], requestedSubscription(at: index))
            return judged?.id == row.id && judged?.isExplicit == true && judged?.lastSyncedAt == row.lastSyncedAt
        }
    }

    /// The subscription at an index of the request; `nil` if there is none.
    func requestedSubscription(at index: Int) -> StreamSubscription? {
        guard explicitIndexes.indices.contains(index), let row = explicitIndexes[index] else { return nil }
        return subscriptions[row]
    }

    /// Calls a closure with the index of every subscription that a bucket with these reasons belongs to, once each.
    func forEachSubscription(_ reasons: [BucketReason], _ body: (Int) -> Void) {
        switch reasons.count {
        case 0:
            break
        case 1:
            if let index = index(for: reasons[0]) { body(index) }
        default:
            for index in Set(reasons.compactMap { index(for: $0) }) { body(index) }
        }
    }

    /// Sets when a subscription was last published.
    mutating func markSynced(_ index: Int, at now: SyncInstant) {
        subscriptions[index].lastSyncedAt = now
    }

    /// The subscriptions that were synced before, and that a complete checkpoint has nothing of, because there was no room.
    var lostIndexes: [Int] {
        leftOut.sorted().filter { subscriptions[$0].lastSyncedAt != nil && !isAnswered($0) }
    }

    /// Sets that a subscription is not synced.
    mutating func markNotSynced(_ index: Int) {
        subscriptions[index].lastSyncedAt = nil
    }

    private func index(for reason: BucketReason) -> Int? {
        switch reason {
        case .subscription(let number): explicitIndexes.indices.contains(number) ? explicitIndexes[number] : nil
        case .defaultStream(let number): defaultIndexes.indices.contains(number) ? defaultIndexes[number] : nil
        }
    }
}

extension StreamError {
    /// The position in the request of a subscription that the service has no room for; `nil` for another error.
    ///
    /// On the wire such an error has no code, but a message that contains it: `[PSYNC_S2305] Too many buckets: …`.
    var refusedPosition: Int? {
        guard case .subscription(let position) = subject, message.contains(ErrorCode.bucketLimit.rawValue) else {
            return nil
        }
        return position
    }
}
