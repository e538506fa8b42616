import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// One writer of a stream in PostgreSQL, whatever happens to processes and connections (docs/postgres-storage.md "One writer").
@Suite(.timeLimit(.minutes(1))) struct FencingTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """

    private static func isError(_ code: BucketStorageError.Code) -> @Sendable (any Error) -> Bool {
        { ($0 as? BucketStorageError)?.code == code }
    }

    /// The servers' processes that have the lease of a stream.
    private func holders(_ scenario: StorageScenario) throws -> [String] {
        try scenario.home.run(
            """
            SELECT l.pid FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
            WHERE l.locktype = 'advisory' AND l.granted AND a.datname = current_database()
            """
        ).compactMap { $0.first ?? nil }
    }

    /// Ends the session of the writer, and waits until the server has noticed.
    private func endWriter(_ scenario: StorageScenario) throws {
        let holder = try #require(try holders(scenario).first)
        let ended = try scenario.home.run("SELECT pg_terminate_backend(\(holder), 10000)")
        #expect(ended == [["t"]])
    }

    /// Takes the lease of a stream as somebody does who has waited for 30 seconds.
    private func takeWithoutPatience(
        _ stream: ReplicationStreamID,
        _ storage: PostgresBucketStorage
    ) async throws -> WriterLease {
        let connection = try await PostgresConnection.open(
            storage.settings.connection,
            settings: storage.schema.sessionSettings
        )
        return try await WriterLease.take(stream, storage.schema, on: connection, WriterLease.Patience(seconds: 0))
    }

    @Test func aWriterThatWakesAfterAnotherOneHasBegunCannotCommit() async throws {
        var scenario = try await StorageScenario(Self.config, on: .postgres)
        let table = try await scenario.table("test")
        let before = try await scenario.commit()
        try await scenario.save(.insert(["id": "a"]), of: table)
        // What everybody does who becomes the writer. Here, the lock of the old one is still there, as behind a pooler that has
        // given its session to somebody else.
        try scenario.home.run("UPDATE replication_streams SET writer_epoch = writer_epoch + 1")
        var writer = scenario.writer
        await #expect(performing: { try await writer.flush() }, throws: Self.isError(.leaseLost))
        await #expect(
            performing: { _ = try await writer.commit(.at(9), createsEmptyCheckpoints: true) },
            throws: Self.isError(.leaseLost)
        )
        await #expect(
            performing: { try await writer.forbidCheckpoints(before: .at(9)) },
            throws: Self.isError(.leaseLost)
        )
        #expect(try await scenario.storage.streams().map(\.state) == [.active])
        #expect(try scenario.checkpoint == before)
        #expect(try await scenario.rowCount("operations") == 0)
    }

    @Test(arguments: ["STOP", "TERMINATED"])
    func aWriterOfAReplacedStreamWritesNothing(state: String) async throws {
        var scenario = try await StorageScenario(Self.config, on: .postgres)
        let table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "a"]), of: table)
        try scenario.home.run("UPDATE replication_streams SET state = '\(state)'")
        var other = table.descriptor
        other.name.name = "other"
        other.relationID = "other"
        let descriptor = other
        var writer = scenario.writer
        await #expect(performing: { try await writer.flush() }, throws: Self.isError(.unknownStream))
        await #expect(
            performing: { _ = try await writer.resolveTable(descriptor) },
            throws: Self.isError(.unknownStream)
        )
        await #expect(
            performing: { _ = try await writer.commit(.at(9), createsEmptyCheckpoints: true) },
            throws: Self.isError(.unknownStream)
        )
        #expect(try await scenario.rowCount("operations") == 0)
        #expect(try await scenario.rowCount("source_tables") == 1)
    }

    @Test func aSilentWriterIsEndedByTheNextOne() async throws {
        var scenario = try await StorageScenario(Self.config, on: .postgres)
        let storage = try #require(scenario.storage as? PostgresBucketStorage)
        let table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "a"]), of: table)
        let stream = scenario.stream.id
        // It has just shown that it is alive.
        await #expect(
            performing: { try await storage.withWriter(of: stream) { _ in } },
            throws: Self.isError(.inUse)
        )
        #expect(try holders(scenario).count == 1)
        let lease = try await takeWithoutPatience(stream, storage)
        var writer = scenario.writer
        await #expect(throws: PostgresError.self) { try await writer.flush() }
        await lease.release()
        try await scenario.reopen()
        #expect(try await scenario.rowCount("operations") == 0)
    }

    /// Of a process that was stopped between two statements of a pipeline, the server waits for the rest.
    @Test func aWriterThatIsStoppedInTheMiddleOfAStatementIsEnded() async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let storage = try #require(scenario.storage as? PostgresBucketStorage)
        let stream = scenario.stream.id
        await scenario.home.releaseWriters()
        let database = scenario.home.postgres.database
        let stopped = try database.connect()
        try stopped.run("SELECT pg_advisory_lock(\(storage.schema.writerKey(stream)))")
        try stopped.sendWithoutEnd("SELECT 1", observedBy: database)
        let lease = try await takeWithoutPatience(stream, storage)
        await lease.release()
    }

    @Test func ofTwoWritersOneIsRefused() async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let stream = scenario.stream.id
        await scenario.home.releaseWriters()
        let other = try await scenario.home.open()
        try await scenario.storage.withWriter(of: stream) { writer in
            await #expect(
                performing: { try await other.withWriter(of: stream) { _ in } },
                throws: Self.isError(.inUse)
            )
            _ = try await writer.commit(.at(7), createsEmptyCheckpoints: true)
        }
        // At once: the lease is given back, not left to the end of the session.
        try await other.withWriter(of: stream) { writer in
            #expect(writer.resumePosition == .at(7))
        }
        try other.close()
    }

    @Test func aSessionThatEndsInTheMiddleLeavesWholeTransactions() async throws {
        var scenario = try await StorageScenario(Self.config, on: .postgres)
        var table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "a"]), of: table)
        let checkpoint = try await scenario.commit()
        try await scenario.save(.insert(["id": "b"]), of: table)
        try await scenario.writer.flush()
        try await scenario.save(.insert(["id": "c"]), of: table)
        try endWriter(scenario)
        var writer = scenario.writer
        await #expect(throws: PostgresError.self) { _ = try await writer.commit(.at(9), createsEmptyCheckpoints: true) }
        #expect(try scenario.checkpoint == checkpoint)
        #expect(try await scenario.summary("g|0[]") == ["PUT a"])

        try await scenario.reopen()
        table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "b"]), .insert(["id": "c"]), of: table)
        _ = try await scenario.writer.commit(.at(9), createsEmptyCheckpoints: true)
        #expect(try await scenario.summary("g|0[]") == ["PUT a", "PUT b", "PUT b", "PUT c"])
    }

    @Test func whoHasLostTheLeaseIsCancelled() async throws {
        let clock = TestClock()
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        await scenario.home.releaseWriters()
        let storage = try await PostgresBucketStorage.open(
            scenario.home.postgres.settings,
            clock: clock,
            logger: PostgresStorageHome.logger
        )
        let wasCancelled = NIOLockedValueBox(false)
        let stream = scenario.stream.id
        await #expect(throws: PostgresError.self) {
            try await storage.withWriter(of: stream) { _ in
                try await clock.waitForTimer(of: WriterLease.sign)
                try endWriter(scenario)
                clock.advance(by: WriterLease.sign)
                do {
                    // As a replicator that waits for its source.
                    try await ChangeSignal().wait(after: 0)
                } catch {
                    wasCancelled.withLockedValue { $0 = error is CancellationError }
                    throw error
                }
            }
        }
        #expect(wasCancelled.withLockedValue { $0 })
        try storage.close()
    }
}
