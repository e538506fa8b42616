import Logging
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// Reads the change stream of a slot, and looks at the catalogue when tables may have changed.
///
/// The stream does not tell everything: a table that is dropped says nothing, and one that is rewritten neither. So the
/// catalogue is compared with the descriptors after every announcement of a table, and once a minute.
struct PostgresChangeReader: ChangeReader {
    /// The most messages that are taken at once.
    static let maximumMessages = 24_000
    /// How often a marker is written at most.
    static let markerInterval = Duration.seconds(60)
    /// For how long the server may send nothing at all before the stream is opened again; after half of it, it is asked for a sign of
    /// life.
    static let silenceLimit = markerInterval * 2
    /// How long to wait before telling the caller that there is no news.
    static let patience = Duration.seconds(2)
    private let source: PostgresSource
    private let stream: WALStream
    private let slotName: String
    private let plan: SyncPlan
    /// The tables that are followed.
    private let followed: Set<SourceTableDescriptor>
    /// Their columns, by which their rows are read.
    private let layouts: [SourceTableDescriptor: [PostgresTable.Column]]
    /// The tables that the plan reads.
    private let described: Set<SourceTableDescriptor>
    /// Those that are left out.
    private var leftOut: Set<SourceTableDescriptor> { described.subtracting(followed) }
    private let position: SourcePosition
    private var continuity: LogContinuity
    /// Whether the server is told what it may forget.
    private var isAcknowledging: Bool
    private var assembly: ChangeAssembly
    private var hasAnswered = false
    /// Since the last look at the catalogue.
    private var sinceCatalogue: Stopwatch
    /// Since the last message, or marker.
    private var sinceNews: Stopwatch
    /// Since the first marker that was written after the last message.
    private var sinceMarker: Stopwatch?
    /// The frames that had come when the server was heard last, and the time since then.
    private var frames: UInt64 = 0
    private var sinceFrame: Stopwatch
    /// Since the server was asked for one.
    private var sinceAsked: Stopwatch?

    /// Creates a reader.
    init(
        source: PostgresSource,
        stream: WALStream,
        slotName: String,
        position: SourcePosition,
        start: WALPosition,
        required: [MarkedPosition],
        plan: SyncPlan,
        followed: Set<SourceTableDescriptor>,
        described: Set<SourceTableDescriptor>,
        tables: [FollowedTable],
        nextTransaction: TransactionID
    ) {
        self.source = source
        self.stream = stream
        self.slotName = slotName
        self.position = position
        self.plan = plan
        self.followed = followed
        layouts = Dictionary(tables.map { ($0.descriptor, $0.table.columns) }) { first, _ in first }
        self.described = described
        continuity = LogContinuity(required)
        isAcknowledging = required.isEmpty
        assembly = ChangeAssembly(tables, after: start, nextTransaction: nextTransaction)
        sinceCatalogue = Stopwatch(source.clock)
        sinceNews = Stopwatch(source.clock)
        sinceFrame = Stopwatch(source.clock)
    }

    var silence: Duration? {
        // It is on its way through the log of the server.
        guard let elapsed = sinceMarker?.elapsed, elapsed >= Self.markerInterval else { return nil }
        return elapsed
    }

    mutating func next() async throws -> [SourceMessage] {
        guard hasAnswered else {
            if try await hasOtherTables(among: described) { return [.tablesChanged] }
            hasAnswered = true
            return [.commit(position.lsn)]
        }
        let call = Stopwatch(source.clock)
        while true {
            source.rowView.endIfOld()
            if try await hasOtherTables() { return [.tablesChanged] }
            let version = stream.version
            let messages = try await taken()
            guard !messages.isEmpty else {
                guard try await waitForNews(after: version) else { return [] }
                continue
            }
            sinceNews.restart()
            sinceMarker = nil
            // What comes before the announcement of a table is of the tables as they were, and is not read again as of others.
            var before: [SourceMessage] = []
            for message in messages {
                if let other = continuity.add(message) { throw source.contradicts(other, position.history) }
                if case .relation = message, !assembly.mayHaveOtherTables, assembly.tableOfUnassignable == nil {
                    before = assembly.take()
                }
                try assembly.add(message)
            }
            if !isAcknowledging, continuity.isShown {
                isAcknowledging = true
                source.beginAcknowledging(on: stream, of: slotName)
            }
            if try await hasOtherTables() { return before + [.tablesChanged] }
            let assembled = before + assembly.take()
            if !assembled.isEmpty || call.elapsed >= Self.patience { return assembled }
        }
    }

    private func taken() async throws -> [PgoutputMessage] {
        do {
            return try stream.take(Self.maximumMessages).map { try PgoutputMessage(decoding: $0) }
        } catch {
            throw await source.explain(error, of: slotName, position.history)
        }
    }

    /// Whether the catalogue is to be read, and has other tables than the caller knows.
    private mutating func hasOtherTables() async throws -> Bool {
        if let table = assembly.tableOfUnassignable {
            // Otherwise the same table would be followed from the same position on, to the same change.
            if try await followed.isSubset(of: source.tables(for: plan)) { source.copyAgain(table) }
            return true
        }
        guard assembly.mayHaveOtherTables || sinceCatalogue.elapsed >= catalogueInterval else { return false }
        assembly.mayHaveOtherTables = false
        sinceCatalogue.restart()
        assembly.nextTransaction = try await source.pool.withConnection { try await source.nextTransaction($0) }
        let found = try await source.describedTables(for: plan)
        guard try await !hasOtherTables(among: Set(found.map(\.descriptor))) else { return true }
        // Columns that no stream reads have come, gone or changed: the same tables, whose rows are read in another way.
        for (descriptor, table) in found {
            if let columns = layouts[descriptor], columns != table.columns { return true }
        }
        source.catalogueLooks.advance()
        return false
    }

    /// The time between two looks at the catalogue.
    private var catalogueInterval: Duration {
        let interval = source.settings.heartbeatInterval
        return leftOut.isEmpty ? interval : min(interval, PostgresSource.obstacleInterval)
    }

    /// Whether the tables are others than those that are followed, and those that are left out and cannot be read now, either.
    private func hasOtherTables(among tables: Set<SourceTableDescriptor>) async throws -> Bool {
        guard followed.isSubset(of: tables), tables.isSubset(of: described.union(followed)) else { return true }
        for table in tables.subtracting(followed) where try await source.obstacle(to: table) == nil { return true }
        return false
    }

    /// Checks that the server is heard: what stands between it and this process may forget a connection without a word to either.
    ///
    /// A server that decodes a large transaction of which it sends nothing neither sends nor reads meanwhile, for minutes, and would begin
    /// again if the stream were opened again. But it gives up connections that it does not hear (``PostgresSource/senderTimeout``).
    ///
    /// - Throws: ``PostgresError`` with code `timeout` when it is not, although it was asked, and has given the slot up.
    private mutating func checkIsHeard() async throws {
        let frames = stream.frames
        guard frames == self.frames else {
            self.frames = frames
            sinceFrame.restart()
            sinceAsked = nil
            return
        }
        if let sinceAsked {
            guard sinceAsked.elapsed >= Self.silenceLimit / 2 else { return }
            let seconds = sinceFrame.elapsed.components.seconds
            guard try await !source.isInUse(slotName, by: stream.process) else {
                self.sinceAsked = Stopwatch(source.clock)
                source.logger.warning(
                    "The server has sent nothing for a while, and is still decoding for the slot: the reader waits for it",
                    metadata: [LogKey.slot: "\(slotName)", LogKey.silence: .stringConvertible(seconds)]
                )
                return
            }
            throw PostgresError(
                .timeout,
                "the server has sent nothing for \(seconds) s, although it was asked for a sign of life. Look at proxies and firewalls "
                    + "between it and the service: some forget connections. The stream is opened again.",
                activity: WALStream.activity
            )
        }
        if sinceFrame.elapsed >= Self.silenceLimit / 2 {
            sinceAsked = Stopwatch(source.clock)
            stream.ask()
        }
    }

    /// Waits for messages.
    ///
    /// - Returns: `false` when there are none.
    private mutating func waitForNews(after version: UInt64) async throws -> Bool {
        try await checkIsHeard()
        if sinceNews.elapsed >= max(source.settings.heartbeatInterval, Self.markerInterval) {
            // A log of which this database writes nothing would be kept for ever.
            sinceNews.restart()
            try await source.emitMarker()
            sinceMarker = sinceMarker ?? Stopwatch(source.clock)
        }
        let patience = min(
            Self.patience,
            max(.milliseconds(1), catalogueInterval - sinceCatalogue.elapsed)
        )
        return try await firstOf { [stream] in
            try await stream.wait(after: version)
            return true
        } or: { [clock = source.clock] in
            try await clock.sleep(for: patience)
            return false
        }
    }
}
