import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// The server ends a transaction of the writer because of another one: a serialization failure, or a deadlock.
///
/// Nothing of it is stored, and it is repeated; when that does not help, replication goes on from what was.
@Suite(.timeLimit(.minutes(1))) struct ConflictTests {
    private static let config = """
        config:
          edition: 3
        streams:
          all:
            query: SELECT * FROM items
        """
    private static let bucket = "all|0[]"

    struct Conflict: Sendable, CustomTestStringConvertible {
        let sqlState: String
        /// How often it occurs.
        let times: Int

        /// Whether a repetition of the transaction helps.
        var isRepaired: Bool { times < PostgresError.attempts }

        var testDescription: String { "\(sqlState), \(times) times" }
    }

    static let conflicts = ["40001", "40P01"].flatMap {
        [Conflict(sqlState: $0, times: 1), Conflict(sqlState: $0, times: PostgresError.attempts)]
    }

    /// A source that is replicated into a storage in PostgreSQL.
    private struct Scenario: Sendable {
        let home: any StorageHome
        let storage: any BucketStorage
        let source = ModelSource()
        let clock = TestClock()
        /// What attempts have failed with.
        let failures = NIOLockedValueBox<[String?]>([])

        init() async throws {
            home = try PostgresStorageHome()
            storage = try await home.open()
            source.alter(.create("items", columns: ["id", "name", "body"]))
        }

        /// Lets a transaction fail at an operation, some times: the first one that is stored from now on has the number 1.
        func fail(_ conflict: Conflict, atOperation number: Int) throws {
            // What was taken from a sequence is not given back with the transaction.
            try home.run(
                """
                CREATE SEQUENCE stored_operations;
                CREATE SEQUENCE failures;
                CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
                    IF nextval('stored_operations') >= \(number) AND nextval('failures') <= \(conflict.times) THEN
                        RAISE EXCEPTION 'as because of another transaction' USING ERRCODE = '\(conflict.sqlState)';
                    END IF;
                    RETURN NEW;
                END $$;
                CREATE TRIGGER fail BEFORE INSERT ON operations FOR EACH ROW EXECUTE FUNCTION fail();
                """
            )
        }

        /// Waits for what follows from conflicts, and until everything that is committed to the source now has been published.
        func caughtUp(after conflict: Conflict) async throws {
            if !conflict.isRepaired { try await passPause() }
            try await caughtUp()
            let expected: [String?] = conflict.isRepaired ? [] : [conflict.sqlState]
            #expect(failures.withLockedValue { $0 } == expected)
        }

        /// Replicates while `body` runs.
        func replicating(_ body: @escaping @Sendable () async throws -> Void) async throws {
            _ = try await storage.deploy(config, plan: plan(config))
            let replicator = Replicator(
                storage: storage,
                source: source,
                streamsChanged: ChangeSignal(),
                clock: clock,
                logger: PostgresStorageHome.logger,
                report: { [failures] report, _ in
                    if let error = report.error {
                        failures.withLockedValue { $0.append((error as? PostgresError)?.sqlState) }
                    }
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

    /// Rows of which five are stored at a time.
    private static let largeRows = (1...8).map { number in
        let body = SQLValue.text(String(repeating: "x", count: PendingChanges.Limits.changes.bytes / 5))
        return RowWrite.insert("items", id: "r\(number)", ["body": body])
    }

    @Test(arguments: conflicts)
    func theCopyGoesOnAndHasEachRowOnce(_ conflict: Conflict) async throws {
        let scenario = try await Scenario()
        scenario.source.write(Self.largeRows)
        try scenario.fail(conflict, atOperation: 7)
        try await scenario.replicating { try await scenario.caughtUp(after: conflict) }
        try await expectOperations((1...8).map { "PUT r\($0)" }, scenario)
    }

    @Test(arguments: conflicts)
    func theTransactionIsStoredOnce(_ conflict: Conflict) async throws {
        let scenario = try await Scenario()
        let source = scenario.source
        source.write([.insert("items", id: "a"), .insert("items", id: "b")])
        try await scenario.replicating {
            try await scenario.caughtUp()
            try scenario.fail(conflict, atOperation: 2)
            source.write([
                .update("items", id: "a", ["name": 1]), .delete("items", id: "b"), .insert("items", id: "c"),
            ])
            try await scenario.caughtUp(after: conflict)
        }
        try await expectOperations(["PUT a", "PUT b", "PUT a", "REMOVE b", "PUT c"], scenario)
    }

    @Test(arguments: conflicts)
    func whatIsStoredStaysWhenTheRestIsRepeated(_ conflict: Conflict) async throws {
        let scenario = try await Scenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            try scenario.fail(conflict, atOperation: 7)
            scenario.source.write(Self.largeRows)
            try await scenario.caughtUp(after: conflict)
        }
        // What a repetition does not help with is read again: the rows are right, and have operations that nobody needs.
        let again = conflict.isRepaired ? [] : (1...5).map { "PUT r\($0)" }
        try await expectOperations(again + (1...8).map { "PUT r\($0)" }, scenario)
    }
}
