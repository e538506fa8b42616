import PowerSyncProtocol
package import PowerSyncServiceCore

/// What a service does at one moment: what the dashboard draws, and `powersync status` prints.
///
/// Times are in seconds since 1970. What only grows is counted since the process began.
package struct ServiceSnapshot: Codable, Sendable, Equatable {
    /// When this was.
    package var time: Double
    /// The source and what is copied from it.
    package var replication: Replication
    /// The connected clients.
    package var clients: Clients
    /// What is stored.
    package var storage: Storage
    /// The last errors and warnings of the log, the one that was logged last first.
    package var errors: [LoggedError]

    /// The source and what is copied from it.
    package struct Replication: Codable, Sendable, Equatable {
        /// Where the source is, without secrets.
        package var source: String
        /// The last error, if the stream that it is of has had no success since.
        package var error: String?
        /// When it happened.
        package var errorAt: Double?
        /// How far the active stream is behind its source; `nil` until that is known, and while it is not replicated
        /// here.
        package var lagSeconds: Double?
        /// Rows that were replicated.
        package var rows: Int
        /// The bytes of their values.
        package var bytes: Int
        /// Transactions of the source.
        package var transactions: Int
        /// Rows that were left out because they have no id, by table, since the process began; `nil` when there are
        /// none.
        package var rowsWithoutID: [String: Int]?
        /// A large transaction of the source that is being read; `nil` when there is none.
        package var openTransaction: OpenTransaction?
        /// The replication streams, in the order of their ids.
        package var streams: [Stream]
    }

    /// A transaction of the source of which 10,000 changes or more have come, and not the end: clients get nothing of it before.
    package struct OpenTransaction: Codable, Sendable, Equatable {
        /// How many changes of it have come.
        package var changes: Int
        /// When it was committed, by the source's clock.
        package var committedAt: Double
    }

    /// A replication stream.
    package struct Stream: Codable, Sendable, Equatable {
        /// Its number.
        package var id: Int64
        /// `PROCESSING`, `ACTIVE`, `ERRORED` or `STOP`.
        package var state: String
        /// What operators call this version of the sync config.
        package var versionLabel: String?
        /// Under which name the source keeps its history.
        package var slot: String
        /// Whether all tables have been copied.
        package var isCopied: Bool
        /// How many tables it has records of.
        package var tables: Int
        /// How many of them have been copied.
        package var copiedTables: Int
        /// The published checkpoint.
        package var checkpoint: String?
        /// When it was made.
        package var checkpointedAt: Double?
        /// The position of the source that it has.
        package var position: String?
        /// The table that this process is copying for it; `nil` when there is none.
        package var copy: Copy?
    }

    /// A table that is being copied.
    package struct Copy: Codable, Sendable, Equatable {
        /// The table, with its schema.
        package var table: String
        /// Rows of it that have been copied, since the service began or went on.
        package var rows: Int
        /// About how many rows it has; `nil` when that is not known, or when a part of it was copied before.
        package var estimatedRows: Int64?
        /// How many tables are copied one after the other.
        package var tables: Int
        /// How many of them have been copied.
        package var copiedTables: Int

        /// About how much of the table has been copied, 0 to 99: only the end of the copy is all of it.
        package var percent: Int? {
            guard let estimatedRows, estimatedRows > 0 else { return nil }
            return min(99, Int(100 * (Double(rows) / Double(estimatedRows))))
        }
    }

    /// The connected clients.
    package struct Clients: Codable, Sendable, Equatable {
        /// Open sync streams.
        package var streams: Int
        /// Users with open streams.
        package var users: Int
        /// Operations sent, also to clients that have left.
        package var operations: Int
        /// Bytes of lines sent, before compression.
        package var bytes: Int
        /// Bytes of lines that were read and not sent yet.
        package var heldBytes: Int
        /// How many streams do what.
        package var activities: [String: Int]
        /// Those that need attention first, at most ``listLimit``.
        package var list: [Client]
    }

    /// An open sync stream.
    package struct Client: Codable, Sendable, Equatable {
        /// Counted from 1.
        package var id: UInt64
        /// The user.
        package var user: String
        /// The id of the client's database.
        package var client: String?
        /// What the client calls itself.
        package var agent: String
        /// `bson` or `ndjson`.
        package var format: String?
        /// When it connected.
        package var openedAt: Double
        /// Its buckets.
        package var buckets: Int
        /// The buckets that it downloads for the checkpoint.
        package var downloads: Int
        /// Those that are left to download.
        package var bucketsLeft: Int
        /// Operations sent.
        package var operations: Int
        /// Bytes of lines sent.
        package var bytes: Int
        /// The checkpoint that was announced last.
        package var checkpoint: String?
        /// The checkpoint that was completed last.
        package var completed: String?
        /// What it does, or waits for.
        package var activity: ClientStreamActivity
        /// Since when.
        package var activeSince: Double
    }

    /// What is stored.
    package struct Storage: Codable, Sendable, Equatable {
        /// The bytes of the files.
        package var bytes: Int64
        /// What they contain; `nil` until it has been measured.
        package var sizes: Sizes?
        /// Why nothing can be written, if so.
        package var problems: [String]
        /// Compaction; `nil` when other processes do that.
        package var compaction: Compaction?
    }

    /// Bytes of what is stored, measured once a minute.
    package struct Sizes: Codable, Sendable, Equatable {
        /// Operations of buckets.
        package var operations: Int64
        /// Entries of parameter indexes.
        package var parameters: Int64
        /// What is known of the rows of the source.
        package var rows: Int64
        /// How many buckets there are.
        package var buckets: Int
    }

    /// Compaction by this process.
    package struct Compaction: Codable, Sendable, Equatable {
        /// Whether it runs.
        package var isRunning: Bool
        /// When it ended last; `nil` when it has not run yet.
        package var endedAt: Double?
        /// Operations of which only the checksum was left.
        package var moved: Int?
        /// Operations that were replaced by one.
        package var cleared: Int?
        /// Why it failed.
        package var error: String?
    }

    /// An error or a warning of the log, and how often it was there.
    package struct LoggedError: Codable, Sendable, Equatable {
        /// `error` or `warning`.
        package var level: String
        /// What the log says, without any values.
        package var message: String
        /// What has happened; `nil` when the message says all.
        package var details: String?
        /// The code of the error catalogue.
        package var code: String?
        /// The table of the source.
        package var table: String?
        /// The number of the replication stream.
        package var stream: String?
        /// The user whose request or stream it was.
        package var user: String?
        /// What to do: a sentence, or SQL.
        package var remedy: String?
        /// When it was logged first, of those times that are counted.
        package var firstAt: Double
        /// When it was logged last.
        package var lastAt: Double
        /// How often it was logged.
        package var count: Int
    }

    /// The most clients of a snapshot; others are found by asking for them.
    package static let listLimit = 50
}

extension ServiceSnapshot.Client {
    /// Describes a stream.
    init(_ report: ClientStreamReport) {
        self.init(
            id: report.id,
            user: StreamClient.shown(report.client.userID),
            client: report.client.clientID.map(StreamClient.shown),
            agent: report.client.userAgent,
            format: report.client.format?.rawValue,
            openedAt: report.openedAt,
            buckets: report.progress.buckets,
            downloads: report.progress.downloads,
            bucketsLeft: report.progress.bucketsLeft,
            operations: report.operations,
            bytes: report.bytes,
            checkpoint: report.progress.checkpoint?.description,
            completed: report.progress.completed?.description,
            activity: report.activity,
            activeSince: report.activeSince
        )
    }
}

extension ClientStreamReport {
    /// Whether a search finds the stream: by user, client or program.
    func matches(_ search: String) -> Bool {
        let search = search.lowercased()
        return [client.userID, client.clientID ?? "", client.userAgent].contains { $0.lowercased().contains(search) }
    }

    /// Streams that need attention come first, then those that do something, then those that wait for news.
    var rank: Int {
        switch activity {
        case .waitingForClient, .waitingForMemory, .waitingForSlot: 0
        case .opening, .reading, .sending: 1
        case .waitingForCheckpoint: 2
        }
    }
}

/// A part of the list of connected clients.
struct ClientList: Codable, Sendable {
    /// How many clients there are that were searched for.
    var total: Int
    /// This part of them.
    var clients: [ServiceSnapshot.Client]

    /// Searches, and sorts.
    init(_ reports: [ClientStreamReport], search: String, offset: Int, limit: Int) {
        let found = search.isEmpty ? reports : reports.filter { $0.matches(search) }
        total = found.count
        var ranks: [[ClientStreamReport]] = [[], [], []]
        for report in found { ranks[report.rank].append(report) }
        clients = ranks.joined().dropFirst(offset).prefix(limit).map { ServiceSnapshot.Client($0) }
    }
}

/// A part of the list of clients that were connected in the last hours.
struct RecentClientList: Codable, Sendable, Equatable {
    /// A client that is not connected any more, or that has come back since.
    struct Client: Codable, Sendable, Equatable {
        /// The user.
        var user: String
        /// The id of the client's database.
        var client: String?
        /// What the client calls itself.
        var agent: String
        /// How many of its streams have ended.
        var streams: Int
        /// When the first of them was opened.
        var firstSeen: Double
        /// When the last of them ended.
        var lastSeen: Double
        /// Operations sent.
        var operations: Int
        /// Bytes of lines sent.
        var bytes: Int
    }

    /// How many clients there are that were searched for.
    var total: Int
    /// This part of them.
    var clients: [Client]

    /// Searches.
    init(_ clients: [RecentClients.Client], search: String, offset: Int, limit: Int) {
        let search = search.lowercased()
        let found = clients.filter { each in
            search.isEmpty
                || [each.client.userID, each.client.clientID ?? "", each.client.userAgent]
                    .contains { $0.lowercased().contains(search) }
        }
        total = found.count
        self.clients = found.dropFirst(offset).prefix(limit).map { each in
            Client(
                user: each.client.userID,
                client: each.client.clientID,
                agent: each.client.userAgent,
                streams: each.streams,
                firstSeen: each.firstSeen,
                lastSeen: each.lastSeen,
                operations: each.operations,
                bytes: each.bytes
            )
        }
    }
}
