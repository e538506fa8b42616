package import PowerSyncProtocol

/// The state of a sync stream for operators: what its session does, or waits for.
package enum ClientStreamActivity: String, Sendable, Hashable, Codable {
    /// Its first line is being made.
    case opening
    /// It reads what its client wants.
    case reading
    /// It sends.
    case sending
    /// The client has everything: it waits for a checkpoint that concerns it.
    case waitingForCheckpoint
    /// All slots of the semaphore for reads of bucket data are taken.
    case waitingForSlot
    /// The read-ahead budget is used up.
    case waitingForMemory
    /// The client does not read: back-pressure of the network.
    case waitingForClient
}

/// The progress of a sync stream.
package struct ClientStreamProgress: Sendable, Equatable {
    /// The checkpoint that was announced last; `nil` before the first.
    package var checkpoint: OpID?
    /// The one that was completed last; `nil` before the first.
    package var completed: OpID?
    /// The buckets of the client.
    package var buckets = 0
    /// The buckets that the client has to download for the checkpoint.
    package var downloads = 0
    /// The number of buckets that it does not have completely.
    package var bucketsLeft = 0
}

/// An open sync stream at one moment, for operators.
package struct ClientStreamReport: Sendable {
    /// Counted from 1 in the order in which streams were opened.
    package var id: UInt64
    /// The client of the stream.
    package var client: StreamClient
    /// The time at which the stream was opened, in seconds since 1970.
    package var openedAt: Double
    /// Operations sent.
    package var operations: Int
    /// Bytes of lines sent, before compression.
    package var bytes: Int
    /// The progress of its download.
    package var progress: ClientStreamProgress
    /// Its state.
    package var activity: ClientStreamActivity
    /// Since when, in seconds since 1970.
    package var activeSince: Double
}

/// The client that opens a sync stream.
package struct StreamClient: Sendable, Hashable {
    /// The user.
    package var userID: String
    /// The id of the client's database, if it tells.
    package var clientID: String?
    /// The client's name for itself, cut to what is shown.
    package private(set) var userAgent: String
    /// The format of the lines.
    package var format: SyncLineFormat?

    /// Creates a description.
    package init(userID: String, clientID: String? = nil, userAgent: String = "", format: SyncLineFormat? = nil) {
        self.userID = userID
        self.clientID = clientID
        self.userAgent = Self.shown(userAgent)
        self.format = format
    }

    /// The most Unicode scalars that are shown of what a client says: at most four times as many bytes.
    ///
    /// Not characters, of which one may have any number of combining marks.
    private static let textLimit = 200

    /// As much of a text of a client as is shown, in one line.
    package static func shown(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(textLimit).map { scalar in
            scalar.properties.generalCategory == .control ? "\u{FFFD}" : scalar
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
