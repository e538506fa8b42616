import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// The largest buckets of each stream of the sync config.
struct StreamUsage: Codable, Sendable, Equatable {
    /// A stream, or a bucket definition.
    struct Stream: Codable, Sendable, Equatable {
        /// Its name.
        var name: String
        /// How many of the buckets that were looked at it has.
        var buckets: Int
        /// Their operations.
        var operations: Int64
        /// The bytes of their contents; `nil` when those of one are not known.
        var bytes: Int64?
        /// The largest of them, at most ``StreamUsage/shownBuckets``.
        var largest: [Bucket]
    }

    /// A bucket.
    struct Bucket: Codable, Sendable, Equatable {
        /// Its name.
        var name: String
        /// Its operations.
        var operations: Int64
        /// The bytes of what they contain; `nil` when it is not known.
        var bytes: Int64?
        /// How many rows a client has of it; `nil` when they were not counted.
        var rows: Int?
    }

    /// The streams, those with the most operations first.
    var streams: [Stream]
    /// How many buckets were looked at: those with the most operations.
    var buckets: Int
    /// How many there are.
    var total: Int

    /// The most buckets that are looked at.
    static let maximumBuckets = 1000
    /// The most buckets of a stream that are shown.
    static let shownBuckets = 5
    /// The most operations of which rows are counted, over all buckets that are shown.
    static let maximumOperations: Int64 = 100_000

    /// Puts buckets together by their streams.
    ///
    /// - Parameters:
    ///   - list: Buckets, those with the most operations first.
    ///   - plan: The sync config that they are of.
    init(_ list: BucketList, _ plan: SyncPlan) {
        // The longest first: a name may begin with another one.
        let definitions = plan.buckets.map(\.name).sorted { $0.utf8.count > $1.utf8.count }
        var streams: [String: Stream] = [:]
        for bucket in list.buckets {
            // Behind the number of the config: `1#lists|0["anna"]`.
            let rest = bucket.name.drop { $0 != "#" }.dropFirst()
            let definition = definitions.first { rest.hasPrefix("\($0)[") }
            let name = definition.map { Self.stream(ofDefinition: $0, plan) } ?? bucket.name
            var stream = streams[name] ?? Stream(name: name, buckets: 0, operations: 0, bytes: 0, largest: [])
            stream.buckets += 1
            stream.operations += bucket.operations
            stream.bytes = stream.bytes.flatMap { bytes in bucket.bytes.map { bytes + $0 } }
            if stream.largest.count < Self.shownBuckets {
                stream.largest.append(Bucket(name: bucket.name, operations: bucket.operations, bytes: bucket.bytes))
            }
            streams[name] = stream
        }
        self.streams = streams.values.sorted { ($1.operations, $0.name) < ($0.operations, $1.name) }
        buckets = list.buckets.count
        total = list.total
    }

    /// No buckets.
    private init() {
        (streams, buckets, total) = ([], 0, 0)
    }

    /// The stream of a definition `lists|0`; a legacy definition has its own name.
    private static func stream(ofDefinition name: String, _ plan: SyncPlan) -> String {
        plan.streams.map(\.name).filter { name == $0 || name.hasPrefix("\($0)|") }
            .max { $0.utf8.count < $1.utf8.count } ?? name
    }

    /// Looks at the buckets of the active stream; before there is one, there are none.
    ///
    /// - Throws: An error of the storage.
    init(of environment: SyncSession.Environment) async throws {
        let storage = environment.storage
        guard let stream = try await storage.activeStream() else {
            self.init()
            return
        }
        let list = try await storage.buckets(of: stream.id, search: "", offset: 0, limit: Self.maximumBuckets)
        self.init(list, stream.plan)
        var checkpoints = storage.checkpoints(of: stream).makeAsyncIterator()
        guard let checkpoint = try await checkpoints.next() else { return }
        var left = Self.maximumOperations
        var counted: Set<BucketName> = []
        for bucket in streams.flatMap(\.largest) where bucket.operations <= left {
            left -= bucket.operations
            counted.insert(BucketName(bucket.name))
        }
        let rows = try await LiveRows(of: Array(counted), at: checkpoint, environment)
        for index in streams.indices {
            for place in streams[index].largest.indices {
                let name = BucketName(streams[index].largest[place].name)
                if counted.contains(name) { streams[index].largest[place].rows = rows.size(of: name).rows }
            }
        }
    }
}

/// What takes space and who was there: the answer of `POST /api/admin/v1/usage`.
struct ServiceUsage: Codable, Sendable, Equatable {
    /// The largest buckets of each stream.
    var buckets: StreamUsage
    /// The clients that were connected in the last six hours, those that have left last first, at most ``maximumClients``.
    var recentClients: RecentClientList

    /// The most clients of an answer.
    static let maximumClients = 1000

    private enum CodingKeys: String, CodingKey {
        case buckets
        case recentClients = "recent_clients"
    }

    /// Looks at a service.
    init(of looks: SnapshotSource) async throws {
        buckets = try await StreamUsage(of: looks.sessions)
        recentClients = looks.recent(search: "", offset: 0, limit: Self.maximumClients)
    }
}
