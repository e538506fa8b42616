import Foundation
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// Servers whose files are put back to an older state, and those that only seem to be others (docs/postgres.md "How it is followed").
@Suite(.timeLimit(.minutes(5))) struct PostgresHistoriesTests {
    private let cluster: TestCluster
    private let database: TestDatabase

    init() throws {
        cluster = try TestCluster()
        database = try TestDatabase(
            server: cluster.uri,
            "CREATE TABLE lists (id text PRIMARY KEY, owner text, name text); CREATE TABLE unrelated (t text)"
        )
    }

    /// How far the log of the server goes when the service sees it again.
    enum End: String, CaseIterable, Sendable { case before, at, beyond }

    /// What the service has done when the files of the server are kept.
    enum Start: String, CaseIterable, Sendable {
        /// The tables are copied, and nothing was written since.
        case copied
        /// Changes were read.
        case changed
    }

    /// A server that comes back without what the service has seen.
    struct Past: Sendable, CustomTestStringConvertible {
        var way: TestCluster.Return
        var start: Start
        var end: End

        var testDescription: String { "\(way) \(start) \(end)" }

        static let all = TestCluster.Return.allCases.flatMap { way in
            // What was stored of a copy does not depend on the way.
            (way == .putBack ? Start.allCases : [.changed]).flatMap { start in
                End.allCases.map { Past(way: way, start: start, end: $0) }
            }
        }
    }

    /// Where the published checkpoint is.
    private func published(_ scenario: PostgresScenario) throws -> WALPosition {
        let checkpoint = try #require(scenario.storage.feed.current)
        return try #require(WALPosition(checkpoint.lsn))
    }

    /// Replicates until everything was copied once more.
    private func copyAgain(_ scenario: PostgresScenario) async throws {
        let lost = scenario.storage.feed.current?.streamID
        try await scenario.replicating { try await waitForCopy(scenario, after: lost) }
    }

    /// Waits until another stream has all that is committed to the source now: the positions of the one before say nothing.
    private func waitForCopy(_ scenario: PostgresScenario, after lost: ReplicationStreamID?) async throws {
        try await scenario.published { $0.streamID != lost }
        try await scenario.caughtUp()
    }

    private func write(_ id: String, count: Int = 1, to session: (String) throws -> Void) throws {
        try session("INSERT INTO lists SELECT '\(id)' || n, 'u', '\(id)' FROM generate_series(1, \(count)) AS n")
    }

    /// Writes until the log has a position: to it, if it is not where a page of the log begins, or far beyond.
    private func fill(to target: WALPosition, _ end: End, _ session: Session) throws {
        func position() throws -> WALPosition {
            let text = try session.run("SELECT pg_current_wal_insert_lsn()").first?.first.flatMap { $0 }
            return try #require(text.flatMap { WALPosition($0) })
        }
        switch end {
        case .before: return
        case .beyond:
            while try position().rawValue < target.rawValue + 100_000 {
                try session.run(
                    "INSERT INTO unrelated SELECT repeat(md5(n::text), 40) FROM generate_series(1, 500) AS n"
                )
            }
        case .at:
            // A message has 52 bytes and its content; a page of the log begins with 24 bytes more.
            while try position() < target {
                let gap = target.rawValue - (try position()).rawValue
                let rest = 8192 - (try position()).rawValue % 8192
                let size = gap <= 240 && gap < rest ? gap : min(gap > 400 ? gap - 300 : 104, max(rest, 104))
                try session.run("SELECT pg_logical_emit_message(false, 'x', repeat('x', \(max(size, 56) - 52)))")
            }
        }
    }

    @Test(arguments: Past.all.one(in: 2))
    func putBackWhileTheServiceIsAway(_ past: Past) async throws {
        var scenario = try PostgresScenario(database: database)
        try write("first", count: 20) { try database.run($0) }
        try await scenario.replicate()
        if past.start == .changed {
            try write("more", count: 20) { try database.run($0) }
            try await scenario.replicate()
        }
        scenario = try scenario.reopened()
        try database.disconnect()
        try cluster.keepFiles()
        try await scenario.replicating { [scenario] in
            try write("lost", count: 100) { try database.run($0) }
            try database.run("UPDATE lists SET name = 'lost' WHERE id = 'first1'")
            try await scenario.caughtUp()
        }
        let stored = try published(scenario)
        scenario = try scenario.reopened()
        try database.disconnect()
        try cluster.putFilesBack(past.way)
        try write("after", count: 2) { try database.run($0) }
        try database.run("UPDATE lists SET name = 'after' WHERE id = 'first2'")
        try fill(to: stored, past.end, database.connect())
        try await copyAgain(scenario)
        try await scenario.expectSameRowsAsAFreshCopy()
        #expect(try await !scenario.ids().contains("lost1"))
        #expect(scenario.log.lines.contains { $0.contains("The source has lost its history") })
        // Once.
        scenario = try scenario.reopened()
        let newest = try await scenario.stream()?.id
        try await scenario.replicate()
        #expect(try await scenario.stream()?.id == newest)
    }

    @Test(
        arguments: [End.before, .beyond],
        TestCluster.Return.allCases
    )
    func putBackUnderTheService(_ end: End, _ way: TestCluster.Return) async throws {
        let scenario = try PostgresScenario(database: database)
        try write("first", count: 20) { try database.run($0) }
        try await scenario.replicate()
        try database.disconnect()
        try cluster.keepFiles()
        let running = try scenario.reopened()
        try await running.replicating {
            try write("lost", count: 100) { try database.run($0) }
            try await running.caughtUp()
            let stored = try published(running)
            let lost = running.storage.feed.current?.streamID
            try database.disconnect()
            // Somewhere else first, where the service does not see it.
            try cluster.putFilesBack(way) { uri in
                let session = try Session(uri.dropLast("postgres".count) + database.name)
                try write("after") { try session.run($0) }
                try fill(to: stored, end, session)
            }
            try await waitForCopy(running, after: lost)
        }
        try await running.expectSameRowsAsAFreshCopy("\(end)")
        #expect(try await !running.ids().contains("lost1"))
    }

    @Test func whatIsNotShownYetIsLookedFor() async throws {
        var scenario = try PostgresScenario(database: database)
        try write("first", count: 20) { try database.run($0) }
        let slot = "part_\(database.name)"
        let start = try await scenario.source.prepareStream(slot, resumingAfter: nil, reached: nil)
        try database.disconnect()
        try cluster.keepFiles()
        // A copy sees this, and ends.
        try write("lost", count: 100) { try database.run($0) }
        let copied = try await scenario.source.markedHead()
        #expect(copied.history == start.history)
        scenario = try scenario.reopened()
        try database.disconnect()
        try cluster.putFilesBack()
        let seen = try #require(WALPosition(copied.lsn))
        try fill(to: seen, .beyond, database.connect())
        func follow(_ stored: LSN?) async throws {
            let source = scenario.source
            _ = try await source.prepareStream(slot, resumingAfter: start, reached: nil)
            source.require(stored, in: slot)
            try await source.withChanges(of: slot, after: start, tables: [], plan: .empty) { reader in
                for _ in 0..<3 { _ = try await reader.next() }
            }
        }
        let error = await #expect(throws: ReplicationSourceError.self) { try await follow(copied.lsn) }
        #expect(error?.code == .historyLost)
        try await scenario.source.dropStream(slot)
    }

    /// What only looks like another log.
    enum Life: String, CaseIterable, Sendable { case crash, restart, takeover }

    @Test(
        arguments: Life.allCases,
        [false, true]
    )
    func nothingIsCopiedAgain(_ life: Life, underLoad: Bool) async throws {
        var scenario = try PostgresScenario(database: database)
        try write("first", count: 20) { try database.run($0) }
        // Right after a first copy.
        try await scenario.replicate()
        for round in 0..<3 {
            scenario = try scenario.reopened()
            let load = try underLoad ? Load(database) : nil
            if round > 0 { try await scenario.replicate() }
            load?.stop()
            try database.disconnect()
            switch life {
            case .crash:
                try cluster.stop(.immediate)
                try cluster.start()
            case .restart:
                try cluster.stop(.fast)
                try cluster.start()
            case .takeover: break
            }
            scenario = try scenario.reopened()
            try write("round\(round)") { try database.run($0) }
            try await scenario.replicate()
            #expect(try await scenario.ids().contains("round\(round)1"))
        }
        #expect(try await scenario.storage.streams().count == 1)
        #expect(!scenario.log.lines.contains { $0.contains("lost its history") })
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    /// A standby that has got everything is promoted, with the slots, twice: while the service is away, and under it.
    @Test func aPromotedServerThatHasEverythingGoesOn() async throws {
        var scenario = try PostgresScenario(database: database)
        try write("first", count: 20) { try database.run($0) }
        try await scenario.replicate()
        for (round, isRunning) in [false, true].enumerated() {
            scenario = try scenario.reopened()
            @Sendable func promote() throws {
                try database.disconnect()
                try cluster.keepFiles()
                try cluster.putFilesBack(.promoted)
                try write("round\(round)") { try database.run($0) }
            }
            if !isRunning { try promote() }
            try await scenario.replicating { [scenario] in
                if isRunning {
                    try await scenario.caughtUp()
                    try promote()
                }
                try await scenario.caughtUp()
            }
            #expect(try await scenario.ids().contains("round\(round)1"))
            #expect(scenario.log.lines.contains { $0.contains("After a fail-over") })
            scenario = try scenario.reopened()
            try write("later\(round)") { try database.run($0) }
            try await scenario.replicate()
        }
        #expect(try await scenario.storage.streams().count == 1)
        #expect(!scenario.log.lines.contains { $0.contains("lost its history") })
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    /// Its stream is cut again and again before it has come past what was read of the server before: it may have something else there, and
    /// would forget that this is to be looked for.
    @Test(arguments: [false, true])
    func aPromotedServerIsToldNothingBeforeItHasShownWhatWasRead(hasEverything: Bool) async throws {
        let slot = "cut_\(database.name)"
        var address = try #require(URLComponents(string: database.connectionString.text))
        let proxy = try await CuttingStreamProxy(to: try #require(address.port))
        address.port = proxy.port
        let connection = PostgresConnectionString(try #require(address.string))
        func withSource<Result>(_ body: (PostgresSource) async throws -> Result) async throws -> Result {
            let source = PostgresSource(.init(connection: connection), logger: CollectedLog().logger)
            defer { try? source.close() }
            return try await body(source)
        }
        let first = try await withSource { source in
            let start = try await source.prepareStream(slot, resumingAfter: nil, reached: nil)
            return try await read(source, slot, after: start, isAcknowledged: true)
        }
        func keepFiles() throws {
            try database.disconnect()
            try cluster.keepFiles()
        }
        if !hasEverything { try keepFiles() }
        try write("read", count: 2_000) { try database.run($0) }
        let stored = try await withSource { try await read($0, slot, after: first, isAcknowledged: false) }
        if hasEverything { try keepFiles() }
        try database.disconnect()
        try cluster.putFilesBack(.promoted)
        for number in 0..<10 { try write("after\(number)-") { try database.run($0) } }
        try fill(to: try #require(WALPosition(stored.lsn)), .beyond, database.connect())

        let promoted = PostgresSource(.init(connection: connection), logger: CollectedLog().logger)
        let confirmed = try self.confirmed(slot)
        for bytes in [200, 1_000] {
            proxy.cutStreams(after: bytes)
            let error = await #expect(throws: (any Error).self) {
                try await read(promoted, slot, after: stored, isAcknowledged: true)
            }
            #expect((error as? ReplicationSourceError)?.code != .historyLost)
            #expect(try self.confirmed(slot) == confirmed, "\(bytes) bytes")
        }
        proxy.cutStreams(after: .max)
        if hasEverything {
            // Whatever this process has called the log before.
            var log = try #require(LogNames.Log(stored.history))
            log.timeline += 1
            let other = SourcePosition(stored.lsn, of: SourceHistory(rawValue: log.name))
            let end = try await read(promoted, slot, after: stored, isAcknowledged: true) {
                let seen = try await promoted.head(having: other)
                #expect(seen.history == other.history)
            }
            #expect(end.history == stored.history)
            try database.waitUntil(
                """
                EXISTS (
                    SELECT 1 FROM pg_replication_slots
                    WHERE slot_name = '\(slot)' AND confirmed_flush_lsn >= '\(end.lsn.unmarked.rawValue)'
                )
                """
            )
        } else {
            let error = await #expect(throws: ReplicationSourceError.self) {
                try await read(promoted, slot, after: stored, isAcknowledged: true)
            }
            #expect(error?.code == .historyLost)
            #expect(try self.confirmed(slot) == confirmed)
        }
        try await promoted.dropStream(slot)
        try promoted.close()
        try await proxy.stop()
    }

    /// Up to where a server may forget its log.
    private func confirmed(_ slot: String) throws -> WALPosition? {
        try database.run("SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '\(slot)'")
            .first?.first?.flatMap { WALPosition($0) }
    }

    /// Reads the changes of a slot up to where its server is.
    ///
    /// - Parameters:
    ///   - source: The server.
    ///   - slot: The slot.
    ///   - stored: From where on.
    ///   - isAcknowledged: Whether each position that is reached is stored, and may be forgotten.
    ///   - body: Happens when it is known that the server can go on from there.
    /// - Returns: The last position.
    /// - Throws: An error of the source.
    private func read(
        _ source: PostgresSource,
        _ slot: String,
        after stored: SourcePosition,
        isAcknowledged: Bool,
        _ body: () async throws -> Void = {}
    ) async throws -> SourcePosition {
        let start = try await source.prepareStream(slot, resumingAfter: stored, reached: nil)
        let head = try await source.head(having: stored)
        try await body()
        return try await source.withChanges(of: slot, after: start, tables: [], plan: .empty) { reader in
            var position = start
            while true {
                for message in try await reader.next() {
                    guard case .commit(let lsn) = message else { continue }
                    position.lsn = lsn
                    guard isAcknowledged else { continue }
                    try await source.acknowledge(DurablePosition(confirmedByDisk: position), of: slot)
                }
                if position.lsn.unmarked >= head.lsn.unmarked { return position }
            }
        }
    }

    /// Somebody who writes all the time, until the connection is lost.
    private final class Load: Sendable {
        private let task: Task<Void, Never>

        init(_ database: TestDatabase) throws {
            let session = try database.connect()
            task = Task.detached {
                var number = 0
                while !Task.isCancelled {
                    number += 1
                    let sql = "INSERT INTO lists VALUES ('load' || \(number) || clock_timestamp(), 'u', 'n')"
                    guard (try? session.run(sql)) != nil else { return }
                }
            }
        }

        func stop() { task.cancel() }
    }
}
