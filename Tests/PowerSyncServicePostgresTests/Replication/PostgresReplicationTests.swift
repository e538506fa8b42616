import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// From a PostgreSQL database into buckets (docs/postgres.md).
@Suite(.timeLimit(.minutes(1))) struct PostgresReplicationTests {
    @Test func rowsAreCopiedAndFollowed() async throws {
        let scenario = try PostgresScenario()
        try scenario.database.run("INSERT INTO lists VALUES ('a', 'u1', 'one'), ('b', 'u1', 'two')")
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(
                try await scenario.rows() == [
                    "lists/a": #"{"id":"a","owner":"u1","name":"one"}"#,
                    "lists/b": #"{"id":"b","owner":"u1","name":"two"}"#,
                ]
            )
            try scenario.database.run("INSERT INTO lists VALUES ('c', 'u2', 'three')")
            try scenario.database.run("UPDATE lists SET name = 'other' WHERE id = 'a'")
            try scenario.database.run("DELETE FROM lists WHERE id = 'b'")
            try await scenario.caughtUp()
            #expect(
                try await scenario.rows() == [
                    "lists/a": #"{"id":"a","owner":"u1","name":"other"}"#,
                    "lists/c": #"{"id":"c","owner":"u2","name":"three"}"#,
                ]
            )
            try scenario.database.run("UPDATE lists SET id = 'd' WHERE id = 'c'")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "d"])
            try scenario.database.run("TRUNCATE lists")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == [])
        }
    }

    @Test(arguments: ["DEFAULT", "FULL"])
    func unreadColumnsCostNothing(_ identity: String) async throws {
        let scenario = try PostgresScenario(
            """
            CREATE TABLE lists (id int PRIMARY KEY, name text, seen int);
            ALTER TABLE lists REPLICA IDENTITY \(identity);
            INSERT INTO lists VALUES (1, 'one', 0), (2, 'two', 0)
            """,
            config: "{config: {edition: 3}, streams: {all: {query: 'SELECT id, name FROM lists'}}}"
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            let first = try #require(scenario.storage.feed.current)
            for number in 1...200 { try scenario.database.run("UPDATE lists SET seen = \(number)") }
            try await scenario.caughtUp()
            #expect(scenario.storage.feed.current?.opID == first.opID)
            try scenario.database.run("UPDATE lists SET seen = 0, name = 'TWO' WHERE id = 2")
            try await scenario.caughtUp()
            #expect(scenario.storage.feed.current?.opID.rawValue == first.opID.rawValue + 1)
            #expect(try await scenario.rows()["lists/2"] == #"{"id":2,"name":"TWO"}"#)
        }
    }

    @Test func largeValuesThatStayAreKept() async throws {
        let scenario = try PostgresScenario(
            "CREATE TABLE lists (id int PRIMARY KEY, name text, body text); ALTER TABLE lists ALTER body SET STORAGE EXTERNAL"
        )
        try scenario.database.run("INSERT INTO lists VALUES (1, 'one', repeat('x', 2 << 20))")
        try await scenario.replicating {
            try await scenario.caughtUp()
            try scenario.database.run("UPDATE lists SET name = 'two'")
            try await scenario.caughtUp()
            let body = String(repeating: "x", count: 2 << 20)
            #expect(try await scenario.rows() == ["lists/1": #"{"id":1,"name":"two","body":"\#(body)"}"#])
        }
    }

    @Test func largeTransactionsAreVisibleAtOnce() async throws {
        let scenario = try PostgresScenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            let seen = scenario.storage.feed.signal.version
            async let counts: Set<Int> = {
                var counts: Set<Int> = []
                var seen = seen
                while true {
                    counts.insert(try await scenario.rows().count)
                    if counts.contains(100_000) { return counts }
                    try await scenario.storage.feed.signal.wait(after: seen)
                    seen = scenario.storage.feed.signal.version
                }
            }()
            try scenario.database.run(
                "INSERT INTO lists SELECT 'l' || n, 'u', 'name ' || n FROM generate_series(1, 100000) n"
            )
            // Others come and go meanwhile.
            for _ in 0..<5 { try await scenario.source.emitMarker() }
            #expect(try await counts == [0, 100_000])
        }
    }

    @Test func rolledBackTransactionsLeaveNothing() async throws {
        let scenario = try PostgresScenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            let session = try scenario.database.connect()
            try session.run("BEGIN; INSERT INTO lists VALUES ('a'); ROLLBACK")
            try session.run(
                "BEGIN; INSERT INTO lists VALUES ('b'); SAVEPOINT s; INSERT INTO lists VALUES ('c'); ROLLBACK TO s; COMMIT"
            )
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["b"])
        }
    }

    @Test func theOrderOfCommitsDecides() async throws {
        let scenario = try PostgresScenario()
        try scenario.database.run("INSERT INTO lists VALUES ('a'), ('b')")
        try await scenario.replicating {
            try await scenario.caughtUp()
            let (first, second) = (try scenario.database.connect(), try scenario.database.connect())
            try first.run("BEGIN; UPDATE lists SET name = 'first' WHERE id = 'a'")
            try second.run("BEGIN; UPDATE lists SET name = 'second' WHERE id = 'b'; COMMIT")
            try await scenario.caughtUp()
            let rows = try await scenario.rows()
            #expect(rows["lists/b"]?.contains("second") == true)
            #expect(rows["lists/a"]?.contains("first") == false)
            try first.run("PREPARE TRANSACTION '\(scenario.database.name)'")
            try await scenario.caughtUp()
            #expect(try await scenario.rows()["lists/a"]?.contains("first") == false)
            try second.run("COMMIT PREPARED '\(scenario.database.name)'")
            try await scenario.caughtUp()
            #expect(try await scenario.rows()["lists/a"]?.contains("first") == true)
        }
    }

    // MARK: Lives

    @Test func goesOnAfterARestart() async throws {
        var scenario = try PostgresScenario()
        for round in 0..<4 {
            try scenario.database.run("INSERT INTO lists VALUES ('r\(round)')")
            try await scenario.replicate()
            try scenario.database.run(
                "UPDATE lists SET name = 'n\(round)'; DELETE FROM lists WHERE id = 'r\(round - 2)'"
            )
            scenario = try scenario.reopened()
        }
        try await scenario.replicate()
        #expect(try await scenario.ids() == ["r2", "r3"])
        #expect(try await scenario.rows()["lists/r3"] == #"{"id":"r3","owner":null,"name":"n3"}"#)
        #expect(try await scenario.storage.streams().count == 1)
    }

    @Test func aSlotThatWasDroppedMeansANewStream() async throws {
        var scenario = try PostgresScenario()
        try scenario.database.run("INSERT INTO lists VALUES ('a')")
        try await scenario.replicate()
        scenario = try scenario.reopened()
        try scenario.database.dropSlots()
        try scenario.database.run("DELETE FROM lists; INSERT INTO lists VALUES ('b')")
        #expect(try await scenario.ids() == ["a"])
        try await scenario.replicate()
        #expect(try await scenario.ids() == ["b"])
    }

    @Test func aSlotThatWasDroppedBeforeTheCopyWasCompleteMeansANewStream() async throws {
        var scenario = try PostgresScenario()
        try scenario.database.run("INSERT INTO lists SELECT n, 'u', 'name' FROM generate_series(1, 30000) n")
        // The copy ends after its first rows, with the process.
        let copied = ChangeSignal()
        try await withThrowingTaskGroup(of: Void.self) { group in
            let replicator = try await scenario.replicator { copied.advance() }
            group.addTask { try await replicator.run() }
            try await copied.wait(after: 2)
            group.cancelAll()
        }
        let first = try #require(try await scenario.stream())
        #expect(first.state == .processing)
        scenario = try scenario.reopened()
        try scenario.database.dropSlots()
        try scenario.database.run(
            "DELETE FROM lists WHERE id LIKE '1%'; UPDATE lists SET name = 'other' WHERE id LIKE '2%'"
        )
        try await scenario.replicate()
        #expect(try await scenario.stream()?.id != first.id)
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func aSlotThatIsDroppedWhileItIsReadMeansANewStream() async throws {
        let scenario = try PostgresScenario()
        try scenario.database.run("INSERT INTO lists VALUES ('a')")
        try await scenario.replicating {
            try await scenario.caughtUp()
            let first = try #require(try await scenario.stream())
            try scenario.database.dropSlots()
            try scenario.database.run("INSERT INTO lists VALUES ('b')")
            try await scenario.published { $0.streamID != first.id }
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "b"])
        }
    }

    @Test func connectionsThatAreLostAreMadeAgain() async throws {
        let scenario = try PostgresScenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            for round in 0..<3 {
                try scenario.database.disconnectEverybody()
                try scenario.database.run("INSERT INTO lists VALUES ('r\(round)')")
                try await scenario.caughtUp()
            }
            #expect(try await scenario.ids() == ["r0", "r1", "r2"])
        }
    }

    @Test func theServerSoonGivesUpAStreamThatIsSilent() async throws {
        let scenario = try PostgresScenario()
        let name = scenario.database.name
        try scenario.database.runOutside("ALTER DATABASE \(name) SET wal_sender_timeout TO '10min'")
        let connection = try await scenario.source.openReplication()
        let timeout = try await connection.execute("SHOW wal_sender_timeout", activity: "asking")
        #expect(timeout == [[PostgresSource.senderTimeout]])
        #expect(timeout == [["25s"]])
        connection.close()
    }

    @Test func onlyWhatIsOnDiskIsAcknowledged() async throws {
        let scenario = try PostgresScenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            let checkpoint = try #require(scenario.storage.feed.current)
            let slot = try #require(try await scenario.stream()).sourceHandle
            let confirmed = try scenario.database.run(
                "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '\(slot)'"
            )
            let position = try #require(confirmed.first?.first.flatMap { $0.flatMap { WALPosition($0) } })
            #expect(position.lsn <= checkpoint.lsn)
        }
    }
}
