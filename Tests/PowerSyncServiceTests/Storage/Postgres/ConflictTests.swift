import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncRules
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// The server ends a transaction of the writer because of another one: a serialization failure, or a deadlock.
///
/// Nothing of it is stored, and replication goes on from what was.
@Suite(.timeLimit(.minutes(1))) struct ConflictTests {
    private static let config = """
        config:
          edition: 3
        streams:
          all:
            query: SELECT * FROM items
        """
    private static let bucket = "all|0[]"

    /// A source that is replicated into a storage in PostgreSQL.
    private struct Scenario: Sendable {
        let home: StorageHome
        let storage: any BucketStorage
        let source = ModelSource()
        let clock = TestClock()
        /// What attempts have failed with.
        let failures = NIOLockedValueBox<[String?]>([])

        init() async throws {
            home = try StorageHome(.postgres)
            storage = try await home.open()
            source.alter(.create("items", columns: ["id", "name", "body"]))
        }

        /// Lets a transaction fail once, at an operation: the first one that is stored from now on has the number 1.
        func fail(_ sqlState: String, atOperation number: Int) throws {
            // What was taken from a sequence is not given back with the transaction.
            try home.run(
                """
                CREATE SEQUENCE stored_operations;
                CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF nextval('stored_operations') = \(number) THEN
                        RAISE EXCEPTION 'as because of another transaction' USING ERRCODE = '\(sqlState)';
                    END IF;
                    RETURN NEW;
                END $$;
                CREATE TRIGGER fail_once BEFORE INSERT ON operations FOR EACH ROW EXECUTE FUNCTION fail_once();
                """
            )
        }

        /// Replicates while `body` runs.
        func replicating(_ body: @escaping @Sendable () async throws -> Void) async throws {
            let replicator = Replicator(
                storage: storage,
                source: source,
                content: config,
                plan: try plan(config),
                clock: clock,
                logger: StorageHome.logger,
                report: { [failures] error in
                    if let error { failures.withLockedValue { $0.append((error as? PostgresError)?.sqlState) } }
                }
            )
            try await replicator.whileRunning(body)
        }

        /// Waits for the failure, and for the pause after it.
        func passPause() async throws {
            try await clock.waitForTimer(of: .milliseconds(500))
            clock.advance(by: .milliseconds(500))
        }

        /// Waits until everything that is committed to the source now has been published.
        func caughtUp() async throws {
            let head = source.content.head
            while true {
                let seen = storage.feed.signal.version
                if let current = storage.feed.current, current.lsn >= head.lsn { return }
                try await storage.feed.signal.wait(after: seen)
            }
        }
    }

    private func expectOperations(_ expected: [String], _ scenario: Scenario) async throws {
        let storage = scenario.storage
        let checkpoint = try #require(storage.feed.current)
        let stream = try #require(try await storage.streams().first)
        let operations = try await storage.allOperations(Self.bucket, of: stream, at: checkpoint)
        #expect(operations.map { "\($0.kind) \($0.id)" } == expected)
        let name = BucketName(stream.bucketPrefix + Self.bucket)
        let sum = operations.map(\.checksum).reduce(Checksum.zero, +)
        let stored = try await storage.checksums([name], at: checkpoint)[name]
        #expect(stored == BucketChecksum(checksum: sum, count: Int64(expected.count)))
    }

    @Test("while a table is copied of which a part is stored", arguments: ["40001", "40P01"])
    func theCopyGoesOnAndHasEachRowOnce(sqlState: String) async throws {
        let scenario = try await Scenario()
        // Five of them are stored at a time.
        let body = SQLiteValue.text(String(repeating: "x", count: PendingChanges.maximumBytes / 5))
        scenario.source.write((1...8).map { RowWrite.insert("items", id: "r\($0)", ["body": body]) })
        try scenario.fail(sqlState, atOperation: 7)
        try await scenario.replicating {
            try await scenario.passPause()
            try await scenario.caughtUp()
        }
        #expect(scenario.failures.withLockedValue { $0 } == [sqlState])
        try await expectOperations((1...8).map { "PUT r\($0)" }, scenario)
    }

    @Test("while changes are committed", arguments: ["40001", "40P01"])
    func theTransactionIsReadAgainAndStoredOnce(sqlState: String) async throws {
        let scenario = try await Scenario()
        let source = scenario.source
        source.write([.insert("items", id: "a"), .insert("items", id: "b")])
        try await scenario.replicating {
            try await scenario.caughtUp()
            try scenario.fail(sqlState, atOperation: 2)
            source.write([
                .update("items", id: "a", ["name": 1]), .delete("items", id: "b"), .insert("items", id: "c"),
            ])
            try await scenario.passPause()
            try await scenario.caughtUp()
        }
        #expect(scenario.failures.withLockedValue { $0 } == [sqlState])
        try await expectOperations(["PUT a", "PUT b", "PUT a", "REMOVE b", "PUT c"], scenario)
    }
}
