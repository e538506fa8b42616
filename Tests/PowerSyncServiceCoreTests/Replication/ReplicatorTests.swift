import GRDB
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncTesting
import PowerSyncUpload
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Source to buckets through the replicator.
@Suite(.timeLimit(.minutes(1))) struct ReplicatorTests {
    private func insert(_ scenario: SourceScenario, _ ids: String...) async throws {
        for id in ids { try await scenario.source.putLists([id: ["owner": .string("u1"), "name": .string("n\(id)")]]) }
    }

    private func json(_ id: String) -> String { #"{"id":"\#(id)","owner":"u1","name":"n\#(id)"}"# }

    @Test func allWritesReachTheBuckets() async throws {
        let scenario = try SourceScenario()
        try await insert(scenario, "snapshot")
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(try await scenario.rows() == ["lists/snapshot": json("snapshot")])

            try await insert(scenario, "own")
            try await scenario.caughtUp()
            #expect(try await scenario.rows().count == 2)

            let before = try #require(scenario.storage.feed.current)
            try await scenario.foreignConnection().write { db in
                try db.execute(sql: "INSERT INTO lists VALUES ('x', 'u1', 'nx'), ('y', 'u1', 'ny')")
                try db.execute(sql: "DELETE FROM lists WHERE id = 'snapshot'")
            }
            // The next checkpoint contains the whole transaction.
            try await scenario.published { $0.opID > before.opID }
            #expect(
                try await scenario.rows() == ["lists/own": json("own"), "lists/x": json("x"), "lists/y": json("y")]
            )
        }
    }

    @Test func restartContinuesFromTheLastCheckpoint() async throws {
        var scenario = try SourceScenario()
        try await insert(scenario, "a")
        try await scenario.replicate()
        let stream = try await scenario.stream()?.id

        try await scenario.foreignConnection().write { db in
            try db.execute(sql: "DELETE FROM lists; INSERT INTO lists VALUES ('b', 'u1', 'nb')")
        }
        scenario = try scenario.reopened()
        #expect(try await scenario.rows() == ["lists/a": json("a")])
        try await scenario.replicate()
        #expect(try await scenario.rows() == ["lists/b": json("b")])
        #expect(try await scenario.stream()?.id == stream)
    }

    @Test func writeCheckpointBecomesVisible() async throws {
        let scenario = try SourceScenario()
        let issuer = WriteCheckpointIssuer(storage: scenario.storage, source: scenario.source)
        await #expect { try await issuer.create(userKey: "u") } throws: {
            ($0 as? BucketStorageError)?.code == .noActiveStream
        }
        try await scenario.replicating {
            try await scenario.caughtUp()
            try await insert(scenario, "a")
            let number = try await issuer.create(userKey: "u")
            #expect(number == WriteCheckpoint(1))
            let active = try #require(try await scenario.storage.activeStream())
            for try await checkpoint in scenario.storage.checkpoints(of: active) {
                if try await scenario.storage.visibleWriteCheckpoint(userKey: "u", at: checkpoint) == number { break }
            }
            #expect(try await scenario.rows() == ["lists/a": json("a")])
        }
    }

    @Test func unreadColumnsCostNothing() async throws {
        let scenario = try SourceScenario(
            schema: ["CREATE TABLE users (id TEXT PRIMARY KEY, name TEXT, last_seen INTEGER)"],
            config: """
                config:
                  edition: 3
                streams:
                  all:
                    query: SELECT id, name FROM users
                """
        )
        let issuer = WriteCheckpointIssuer(storage: scenario.storage, source: scenario.source)
        let connection = try scenario.foreignConnection()
        try await connection.write { db in
            try db.execute(sql: "INSERT INTO users VALUES ('a', 'Anna', 0), ('b', 'Bert', 0)")
        }
        try await scenario.replicating {
            try await scenario.caughtUp()
            let first = try #require(scenario.storage.feed.current)
            for number in 1...500 {
                try await connection.write { db in
                    try db.execute(sql: "UPDATE users SET last_seen = ?", arguments: [number])
                }
            }
            let awaited = try await issuer.create(userKey: "u")
            let active = try #require(try await scenario.storage.activeStream())
            for try await checkpoint in scenario.storage.checkpoints(of: active) {
                #expect(checkpoint.opID == first.opID)
                if try await scenario.storage.visibleWriteCheckpoint(userKey: "u", at: checkpoint) == awaited { break }
            }
            try await connection.write { db in
                try db.execute(sql: "UPDATE users SET name = 'Beate', last_seen = 0 WHERE id = 'b'")
            }
            try await scenario.caughtUp()
            #expect(scenario.storage.feed.current?.opID.rawValue == first.opID.rawValue + 1)
            #expect(try await scenario.rows()["users/b"] == #"{"id":"b","name":"Beate"}"#)
        }
    }

    @Test func theLogSaysHowFarALargeTransactionIs() async throws {
        let scenario = try SourceScenario(
            schema: ["CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)"],
            config: """
                config:
                  edition: 3
                streams:
                  all:
                    query: SELECT id, name FROM users WHERE name = 'shown'
                """
        )
        let connection = try scenario.foreignConnection()
        try await scenario.replicating {
            try await scenario.caughtUp()
            try await connection.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO users (name)
                        WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
                        SELECT 'hidden' FROM n
                        """
                )
            }
            try await connection.write { db in try db.execute(sql: "INSERT INTO users (name) VALUES ('shown')") }
            try await scenario.caughtUp()
        }
        #expect(scenario.log.lines.count { $0.contains("A large transaction") } == 1)
        #expect(scenario.log.lines.contains { $0.contains("is being read") && $0.contains("rows=100000") })
    }

    @Test func writeCheckpointIsStoredBetweenHeadAndMarker() async throws {
        let scenario = try SourceScenario()
        try await scenario.replicate()
        let source = RecordingSource(scenario.source, storage: scenario.storage)
        _ = try await WriteCheckpointIssuer(storage: scenario.storage, source: source).create(userKey: "u")
        #expect(source.events == ["head, stored: nil", "marker, stored: 1"])
    }

    @Test func writeCheckpointsAreRecordedInTheOrderOfTheirPositions() async throws {
        let scenario = try SourceScenario()
        try await scenario.replicate()
        let source = RecordingSource(scenario.source, storage: scenario.storage)
        let issuer = WriteCheckpointIssuer(storage: scenario.storage, source: source)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { _ = try await issuer.create(userKey: "u") } }
            try await group.waitForAll()
        }
        let heads = source.events.filter { $0.hasPrefix("head") }
        #expect(heads == ["head, stored: nil"] + (1..<20).map { "head, stored: \($0)" })
    }

    @Test func addedColumnIsCopied() async throws {
        let scenario = try SourceScenario()
        try await insert(scenario, "a", "b")
        try await scenario.replicating {
            try await scenario.caughtUp()
            let before = try #require(scenario.storage.feed.current)
            try await scenario.foreignConnection().write { db in
                try db.execute(sql: "ALTER TABLE lists ADD COLUMN color TEXT DEFAULT 'red'")
            }
            try await scenario.published { $0.opID > before.opID }
            #expect(
                try await scenario.rows() == [
                    "lists/a": #"{"id":"a","owner":"u1","name":"na","color":"red"}"#,
                    "lists/b": #"{"id":"b","owner":"u1","name":"nb","color":"red"}"#,
                ]
            )
        }
    }

    @Test func droppedTableLosesItsRowsAndARecreatedOneGetsThemBack() async throws {
        let scenario = try SourceScenario()
        try await insert(scenario, "a", "b")
        try await scenario.replicating {
            try await scenario.caughtUp()
            var before = try #require(scenario.storage.feed.current)
            try await scenario.foreignConnection().write { db in try db.execute(sql: "DROP TABLE lists") }
            before = try await scenario.published { [before] in $0.opID > before.opID }
            #expect(try await scenario.rows().isEmpty)

            try await scenario.foreignConnection().write { db in
                try db.execute(sql: SourceScenario.lists)
                try db.execute(sql: "INSERT INTO lists VALUES ('c', 'u1', 'nc')")
            }
            try await scenario.published { [before] in $0.opID > before.opID }
            #expect(try await scenario.rows() == ["lists/c": json("c")])
        }
    }

    @Test func editedConfigReplacesTheStream() async throws {
        var scenario = try SourceScenario()
        try await insert(scenario, "a")
        try await scenario.replicate()
        let old = try #require(try await scenario.storage.activeStream())

        scenario = try scenario.reopened(config: SourceScenario.listsByOwner)
        #expect(try await scenario.storage.activeStream()?.id == old.id)
        try await scenario.replicate()
        let new = try #require(try await scenario.storage.activeStream())
        #expect(new.id > old.id)
        #expect(try await scenario.rows(#"lists|0["u1"]"#) == ["lists/a": json("a")])
        var checkpoints = scenario.storage.checkpoints(of: old).makeAsyncIterator()
        #expect(try await checkpoints.next() == nil)
    }

    @Test func replacedStreamsAreDeleted() async throws {
        var scenario = try SourceScenario()
        try await insert(scenario, "a")
        try await scenario.replicate()
        scenario = try scenario.reopened(config: SourceScenario.listsByOwner)
        let (storage, source) = (scenario.storage, scenario.source)
        try await scenario.replicating { [scenario] in
            try await scenario.caughtUp()
            // Deletion runs beside replication; each checkpoint is an occasion to look.
            var slots = 2
            while try await storage.streams().count > 1 || slots > 1 {
                let seen = storage.feed.signal.version
                try await source.emitMarker()
                try await storage.feed.signal.wait(after: seen)
                slots =
                    try await source.pool.read { db in
                        try Int.fetchOne(db, sql: "SELECT count(*) FROM _ps_streams")
                    } ?? 0
            }
        }
        let groups = try await storage.pool.read { db in
            try Int64.fetchAll(db, sql: "SELECT DISTINCT stream FROM buckets")
        }
        #expect(groups == [2])
    }

    @Test func lostHistoryStartsAgain() async throws {
        let old = try SourceScenario()
        try await insert(old, "a")
        try await old.replicate()
        try old.source.close()
        try old.storage.close()

        // The buckets of the old folder meet a source that never heard of them.
        let scenario = try SourceScenario()
        try await insert(scenario, "b")
        try scenario.storage.close()
        let storage = try SQLiteBucketStorage(path: old.folder.path("buckets.db"))
        let mixed = SourceScenario(scenario, storage: storage)
        #expect(try await mixed.rows() == ["lists/a": json("a")])
        let lost = storage.feed.current?.streamID
        _ = try await mixed.replicating { try await mixed.published { $0.streamID != lost } }
        #expect(try await mixed.rows() == ["lists/b": json("b")])
        #expect(try await storage.streams().map(\.state).last == .active)
    }

    @Test func interruptedSnapshotContinues() async throws {
        var scenario = try SourceScenario()
        try await scenario.foreignConnection().write { db in
            for index in 0..<5000 {
                try db.execute(sql: "INSERT INTO lists VALUES (?, 'u1', ?)", arguments: ["\(index)", "n\(index)"])
            }
        }
        // Stops the replicator in the middle of the copy, by failing the touch after the first chunk with a
        // cancellation.
        try await withThrowingTaskGroup(of: Void.self) { group in
            let firstChunk = ChangeSignal()
            _ = try await scenario.storage.deploy(scenario.config, plan: plan(scenario.config))
            let replicator = Replicator(
                storage: scenario.storage,
                source: scenario.source,
                streamsChanged: ChangeSignal(),
                logger: scenario.logger,
                touch: { firstChunk.advance() }
            )
            group.addTask { try await replicator.run() }
            try await firstChunk.wait(after: 0)
            group.cancelAll()
        }
        try await scenario.foreignConnection().write { db in
            try db.execute(sql: "DELETE FROM lists WHERE id < '2'; UPDATE lists SET id = '!' WHERE id = '4999'")
        }
        scenario = try scenario.reopened()
        try await scenario.replicate()
        let expected = try await scenario.source.pool.read { db in
            try Set(String.fetchAll(db, sql: "SELECT 'lists/' || id FROM lists"))
        }
        #expect(Set(try await scenario.rows().keys) == expected)
    }

    /// A source whose changes cannot be read any more once something is so.
    private struct EndingSource: ForwardingSource {
        struct End: Error {}

        let source: EmbeddedSource
        let isOver: @Sendable () -> Bool

        private struct Changes: ChangeReader {
            var reader: any ChangeReader
            let isOver: @Sendable () -> Bool

            mutating func next() async throws -> [SourceMessage] {
                if isOver() { throw End() }
                return try await reader.next()
            }
        }

        func withChanges<Result>(
            of handle: String,
            after position: SourcePosition,
            tables: [SourceTable],
            plan: SyncPlan,
            _ body: (inout any ChangeReader) async throws -> Result
        ) async throws -> Result {
            try await source.withChanges(of: handle, after: position, tables: tables, plan: plan) { reader in
                var changes: any ChangeReader = Changes(reader: reader, isOver: isOver)
                return try await body(&changes)
            }
        }
    }

    @Test func lagIsForgottenAfterAnError() async throws {
        let scenario = try SourceScenario()
        let statistics = ReplicationStatistics()
        let failures = ChangeSignal()
        _ = try await scenario.storage.deploy(scenario.config, plan: plan(scenario.config))
        let replicator = Replicator(
            storage: scenario.storage,
            source: EndingSource(source: scenario.source) { statistics.counts.lag != nil },
            streamsChanged: ChangeSignal(),
            // The next attempt never comes.
            clock: TestClock(),
            statistics: statistics,
            logger: scenario.logger,
            report: { report, _ in
                if report.error != nil { failures.advance() }
            }
        )
        try await replicator.whileRunning {
            try await failures.wait(after: 0)
            #expect(statistics.counts.transactions > 0)
            #expect(statistics.counts.lag == nil)
        }
    }

    @Test func lagOfAStreamThatAnotherProcessReplicates() {
        let statistics = ReplicationStatistics()
        let (first, second) = (ReplicationStreamID(rawValue: 1), ReplicationStreamID(rawValue: 2))
        statistics.recordLag(3, of: first, at: 100)
        // The copy of another sync config fails, or is made by somebody else.
        statistics.didStop(second, at: 101)
        statistics.didYield(second)
        #expect(statistics.counts.lag == 3)
        statistics.didYield(first)
        #expect(statistics.counts.lag == nil)
        statistics.recordLag(1, of: first, at: 102)
        #expect(statistics.counts.lag == 1)
        statistics.didStop(first, at: 103)
        #expect(statistics.counts.lag == nil)
    }

    @Test func rowThatIsTooLargeIsLoggedAndSkipped() async throws {
        let scenario = try SourceScenario()
        let log = CollectedLog()
        try await scenario.source.putLists([
            "big": ["name": .string(String(repeating: "x", count: 16_000_000))], "small": ["name": .string("s")],
        ])
        _ = try await scenario.storage.deploy(scenario.config, plan: plan(scenario.config))
        let replicator = Replicator(
            storage: scenario.storage,
            source: scenario.source,
            streamsChanged: ChangeSignal(),
            logger: log.logger
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await replicator.run() }
            try await scenario.caughtUp()
            group.cancelAll()
        }
        #expect(try await scenario.rows().keys.sorted() == ["lists/small"])
        let line = try #require(log.lines.first { $0.contains("PSYNC_S1002") })
        #expect(line.contains("main.lists"))
        #expect(line.contains(#"id="big""#))
    }
}
