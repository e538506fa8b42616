import Logging
import MySQLBinlog
import NIOCore
import PowerSyncMySQLConnection
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// Reads the log, and looks at the catalogue when tables may have changed.
///
/// The log says that something was done to a table, and the catalogue what the table is now. So the catalogue is compared with the
/// descriptors after every statement that may concern one, before the next event is read, and once a minute.
struct MySQLChangeReader: ChangeReader {
    /// How long to wait before telling the caller that there is no news.
    static let patience = Duration.seconds(2)
    /// How often boundaries are delivered at most, of transactions that no stream reads.
    static let boundaryInterval = Duration.milliseconds(100)
    /// How long nothing may come from the server, which sends a sign of life every 10 s.
    static let silenceLimit = Duration.seconds(20)

    private let source: MySQLSource
    private let queue: BinlogQueue
    private let handle: String
    private let plan: SyncPlan
    private let position: SourcePosition
    private let start: LogPosition
    /// The tables that are followed.
    private let followed: Set<SourceTableDescriptor>
    /// The tables that the plan reads.
    private let described: Set<SourceTableDescriptor>
    /// Those that are left out.
    private var leftOut: Set<SourceTableDescriptor> { described.subtracting(followed) }

    private var decoder: BinlogDecoder
    private var assembly: ChangeAssembly
    /// Events that were taken from the queue, and not decoded.
    private var events: ArraySlice<ByteBuffer> = []
    /// Why what follows in the log cannot be delivered.
    private var failure: (any Error)?
    private var hasAnswered = false
    /// Tables whose columns were in other places at the last look, before the log has said so.
    private var noticedMoves: Set<SourceTableDescriptor> = []
    /// What ``MySQLSource/markers`` was when a boundary was delivered last for them.
    private var marker: UInt64
    /// Since the last look at the catalogue.
    private var sinceCatalogue: Stopwatch
    /// Since the last boundary.
    private var sinceBoundary: Stopwatch
    /// The events that had come when the server was heard last, and the time since then.
    private var count: UInt64 = 0
    private var sinceEvent: Stopwatch

    /// Creates a reader.
    init(
        source: MySQLSource,
        queue: BinlogQueue,
        handle: String,
        position: SourcePosition,
        start: LogPosition,
        plan: SyncPlan,
        followed: Set<SourceTableDescriptor>,
        described: Set<SourceTableDescriptor>,
        decoder: BinlogDecoder,
        assembly: ChangeAssembly
    ) {
        self.source = source
        self.queue = queue
        self.handle = handle
        self.position = position
        self.start = start
        self.plan = plan
        self.followed = followed
        self.described = described
        self.decoder = decoder
        self.assembly = assembly
        marker = source.markers.version
        sinceCatalogue = Stopwatch(source.clock)
        sinceBoundary = Stopwatch(source.clock)
        sinceEvent = Stopwatch(source.clock)
    }

    var silence: Duration? {
        let elapsed = sinceEvent.elapsed
        return queue.count == count && elapsed >= Self.silenceLimit ? elapsed : nil
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
            if try await hasOtherTablesByNow() { return assembly.takeWhole() + [.tablesChanged] }
            let version = queue.version
            let isTold = try await read(until: call)
            // The next reader begins behind everything that was delivered.
            if isTold { return assembly.takeWhole() + assembly.takeBoundary() + [.tablesChanged] }
            noteEvents()
            let assembled = assembly.take()
            guard assembled.isEmpty else {
                sinceBoundary.restart()
                return delivered(assembled)
            }
            let marker = source.markers.version
            if marker != self.marker, events.isEmpty, failure == nil, assembly.group == nil {
                self.marker = marker
                sinceBoundary.restart()
                return delivered(assembly.takeLastBoundary())
            }
            if let failure { throw await source.explain(failure, of: handle, after: position) }
            if call.elapsed >= Self.patience { return takeProgress() }
            if !events.isEmpty { continue }
            if sinceBoundary.elapsed >= Self.boundaryInterval {
                let boundary = assembly.takeBoundary()
                sinceBoundary.restart()
                if !boundary.isEmpty { return delivered(boundary) }
            }
            guard try await waitForNews(after: version, marker: marker) else { return takeProgress() }
        }
    }

    /// Nothing says that the stream has caught up: a group that goes on has begun, and its age is how far the stream is behind.
    private mutating func takeProgress() -> [SourceMessage] {
        sinceBoundary.restart()
        return delivered(assembly.takeProgress())
    }

    /// Notes how far the log is not needed any more, since the caller has what came before these messages.
    private func delivered(_ messages: [SourceMessage]) -> [SourceMessage] {
        for case .commit(let lsn) in messages { source.log.advance(handle, to: lsn) }
        return messages
    }

    private mutating func noteEvents() {
        let count = queue.count
        guard count != self.count else { return }
        self.count = count
        sinceEvent.restart()
    }

    // MARK: Events

    /// Reads what has come, until a few thousand rows are assembled, or the caller is to be told that the reader is alive.
    ///
    /// - Parameter call: The time since the caller has asked.
    /// - Returns: Whether the tables are others.
    /// - Throws: `ReplicationSourceError`, or `CancellationError`; others are kept in ``failure``.
    private mutating func read(until call: Stopwatch) async throws -> Bool {
        defer { source.keep(assembly.prepared, of: handle) }
        do {
            if events.isEmpty, failure == nil { events = try queue.take()[...] }
            var count = 0
            while failure == nil, !assembly.isFull {
                count += 1
                if count.isMultiple(of: 64) {
                    try Task.checkCancellation()
                    if call.elapsed >= Self.patience { break }
                }
                guard let event = try decoder.next() else {
                    guard let packet = events.popFirst() else { break }
                    try decoder.append(packet)
                    continue
                }
                guard isWanted(event) else { continue }
                try assembly.add(event)
                while !assembly.unconverted.isEmpty {
                    try await convertKeys()
                    try assembly.add(event)
                }
                assembly.conversions.forgetIfMany()
                if try await hasOtherTablesAfterEvent() { return true }
            }
        } catch let error as CancellationError {
            throw error
        } catch let error as ReplicationSourceError {
            throw error
        } catch {
            // What was read before is delivered first, and nothing that is behind.
            failure = error
            events = []
        }
        return false
    }

    /// Has the server convert values of keys.
    private mutating func convertKeys() async throws {
        let cells = assembly.unconverted
        var conversions = assembly.conversions
        try await source.pool.withConnection { connection in try await conversions.add(cells, connection) }
        assembly.conversions = conversions
        assembly.unconvertible.formUnion(cells.filter { conversions.cell(.deferred($0)) == nil })
        assembly.unconverted = []
    }

    /// Whether an event is behind the position: the log can be asked for from an offset of 32 bits only.
    private func isWanted(_ event: BinlogEvent) -> Bool {
        guard start.offset > UInt64(UInt32.max), LogFileName(event.place.file)?.number == start.file else {
            return true
        }
        return event.place.start >= start.offset
    }

    // MARK: Tables

    /// Does what an event asks for.
    ///
    /// - Returns: Whether the tables are others.
    private mutating func hasOtherTablesAfterEvent() async throws -> Bool {
        if assembly.isContradicted {
            throw await source.contradiction(of: position)
        }
        if let look = assembly.look {
            // A statement is in the log before the catalogue shows what it did.
            if look.isAfterStatement { try await source.calling { try await source.log.waitUntilShown() } }
            let found = try await described(restarting: &sinceCatalogue)
            guard try await !hasOtherTables(among: Set(found.keys)) else {
                if case .statement(let statement, let schema, let start) = look {
                    let moves = assembly.moves(by: statement, schema: schema, start: start, found: found)
                    source.keep(moves, of: handle)
                }
                return true
            }
            if case .statement(let statement, let schema, let start) = look {
                assembly.settle(statement, schema: schema, start: start, found: found)
                for kept in assembly.takeKeptRows() { source.warn(kept) }
            }
        }
        guard assembly.tablesToCopy.isEmpty else {
            try await copyAgain()
            return true
        }
        assembly.confirmTables()
        return false
    }

    /// Makes tables others, unless they are already.
    private mutating func copyAgain() async throws {
        let found = try await source.described(for: plan)
        // Otherwise the same table would be followed from the same position on, to the same change.
        guard try await !hasOtherTables(among: Set(found.keys)) else { return }
        var pause = Duration.zero
        for (place, reason) in assembly.tablesToCopy.sorted(by: { $0.key < $1.key }) {
            let name = assembly.tables[place].table.name
            pause = max(pause, source.pauseBeforeCopying(name, because: reason))
            source.copyAgain(name, because: reason)
        }
        if pause > .zero { try await source.clock.sleep(for: pause) }
    }

    /// Whether the catalogue is to be read, and has other tables than the caller knows.
    private mutating func hasOtherTablesByNow() async throws -> Bool {
        guard sinceCatalogue.elapsed >= catalogueInterval else { return false }
        try await source.calling { try await source.log.warnIfFarBehind(handle) }
        var found = Set(try await described(restarting: &sinceCatalogue).keys)
        // The statement that has moved columns may be on its way; but a server with filters may not log it.
        for table in followed where !found.contains(table) {
            guard let moved = found.first(where: { $0.hasMovedColumns(since: table) }),
                noticedMoves.insert(moved).inserted
            else { continue }
            found.remove(moved)
            found.insert(table)
        }
        return try await hasOtherTables(among: found)
    }

    private func described(restarting look: inout Stopwatch) async throws -> [SourceTableDescriptor: MySQLTable] {
        look.restart()
        return try await source.described(for: plan)
    }

    /// The time between two looks at the catalogue.
    private var catalogueInterval: Duration {
        let interval = source.settings.heartbeatInterval
        return leftOut.isEmpty ? interval : min(interval, MySQLSource.obstacleInterval)
    }

    /// Whether the tables are others than those that are followed, and those that are left out and cannot be read now, either.
    private func hasOtherTables(among tables: Set<SourceTableDescriptor>) async throws -> Bool {
        guard followed.isSubset(of: tables), tables.isSubset(of: described.union(followed)) else { return true }
        for table in tables.subtracting(followed) where try await source.obstacle(to: table) == nil { return true }
        return false
    }

    /// Waits for events.
    ///
    /// - Returns: `false` when there are none.
    private func waitForNews(after version: UInt64, marker: UInt64) async throws -> Bool {
        let isBehind = assembly.passed > assembly.delivered
        let patience = min(
            isBehind ? max(.milliseconds(1), Self.boundaryInterval - sinceBoundary.elapsed) : Self.patience,
            max(.milliseconds(1), catalogueInterval - sinceCatalogue.elapsed)
        )
        let hasNews = try await firstOf { [queue, source, marker] in
            try await firstOf {
                try await queue.wait(after: version)
            } or: {
                try await source.markers.wait(after: marker)
            }
            return true
        } or: { [clock = source.clock] in
            try await clock.sleep(for: patience)
            return false
        }
        // A boundary that is due is news.
        return hasNews || isBehind
    }
}
