import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncOperations
@testable import PowerSyncService
@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// A storage or a source behind a pooler that gives sessions, or does not (docs/postgres-storage.md "Poolers").
@Suite(.enabled(if: !TestPooler.isUnwanted, "POWERSYNC_NO_PROXIES is set"), .timeLimit(.minutes(3)))
struct PoolerTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """

    /// What a service says of a pooler that gives no session.
    private static let sentence = "goes through a pooler that gives no session"

    /// A way to a server, and what a service says of it.
    struct Way: Sendable, CustomTestStringConvertible {
        /// `nil` for the server itself.
        var mode: TestPooler.Mode?
        /// With what a storage is refused.
        var storage: String?
        /// With what a source is refused.
        var source: String?

        var testDescription: String { mode?.rawValue ?? "direct" }

        static let all = [
            Way(mode: nil, storage: nil, source: nil),
            // Of PgBouncer before 1.23; a newer one carries replication.
            Way(mode: .session, storage: nil, source: "no replication connection: "),
            Way(mode: .transaction, storage: sentence, source: sentence),
            Way(mode: .statement, storage: sentence, source: sentence),
        ]
    }

    private static func settings(_ uri: String) -> PostgresSettings {
        var settings = PostgresSettings(uri: uri)
        settings.tls = .disable
        return settings
    }

    /// Starts two services with schemas of their own in one database.
    @Test(arguments: Way.all)
    func aStorageNeedsSessions(_ way: Way) async throws {
        let database = try TestDatabase()
        let pooler = try way.mode.map { try TestPooler($0) }
        for schema in ["first", "second"] {
            let folder = try TemporaryFolder()
            var configuration = ServiceScenario.configuration(in: folder)
            configuration.storage = .postgresql(
                Self.settings(pooler?.uri(of: database.name) ?? database.uri),
                schema: schema
            )
            let findings = try await Doctor(logger: ServiceScenario.logger).examine(configuration)
            let source = try await SyncService.checkSource(of: configuration, logger: ServiceScenario.logger)
            let report = source.adding(try await SyncService.storageErrors(of: configuration))
            guard case .checked(let checked) = report.outcome else {
                Issue.record("\(report.outcome)")
                continue
            }
            var refusal: ServiceError?
            do {
                let service = try SyncService(configuration: configuration, logger: ServiceScenario.logger)
                try await service.whileRunning { _ in }
            } catch {
                refusal = error as? ServiceError
            }
            guard let words = way.storage else {
                #expect(findings.allSatisfy { $0.severity != .error }, "\(findings)")
                #expect(checked.isEmpty)
                #expect(refusal == nil)
                continue
            }
            let said = findings.filter { $0.severity == .error }
            #expect(said.count == 1)
            #expect(said.first?.message.contains(words) == true, "\(findings)")
            #expect(checked.filter { $0.severity == .error }.map { $0.message.contains(words) } == [true], "\(checked)")
            #expect(refusal?.message.contains(words) == true, "\(String(describing: refusal))")
            #expect(try database.run("SELECT 1 FROM pg_namespace WHERE nspname = '\(schema)'").isEmpty)
        }
    }

    @Test(arguments: Way.all)
    func aSourceNeedsSessionsAndReplication(_ way: Way) async throws {
        var way = way
        let database = try TestDatabase("CREATE TABLE lists (id text PRIMARY KEY, owner_id text, name text)")
        let pooler = try way.mode.map { try TestPooler($0) }
        if way.mode == .session, try pooler?.carriesReplication == true { way.source = nil }
        let uri = pooler?.uri(of: database.name) ?? database.uri
        let folder = try TemporaryFolder()
        var configuration = ServiceScenario.configuration(in: folder)
        configuration.source = .postgresql(Self.settings(uri))
        configuration.syncConfig = .content("config: {edition: 3}\nstreams: {a: {query: SELECT * FROM lists}}")
        let report = try await SyncService.checkSource(of: configuration, logger: ServiceScenario.logger)
        guard case .checked(let checked) = report.outcome else {
            Issue.record("\(report.outcome)")
            return
        }
        let errors = checked.filter { $0.severity == .error }.map(\.message)
        let findings = try await Doctor(logger: ServiceScenario.logger).examine(configuration)
        let said = findings.filter { $0.severity == .error && $0.area == .source }.map(\.message)

        // The start of `serve`, and a stream that is prepared without it.
        let source = PostgresSource(.init(connection: PostgresConnectionString(uri)), logger: CollectedLog().logger)
        let slot = "pooler_\(database.name)"
        let attempts: [@Sendable () async throws -> Void] = [
            { try await source.checkConfiguration() },
            { _ = try await source.prepareStream(slot, resumingAfter: nil, reached: nil) },
        ]
        for attempt in attempts {
            var refusal: ReplicationSourceError?
            do {
                try await attempt()
            } catch {
                refusal = error as? ReplicationSourceError
            }
            #expect(
                refusal?.message.contains(way.source ?? "?") ?? (way.source == nil),
                "\(String(describing: refusal))"
            )
            #expect(refusal.map { $0.code == .configuration } != false)
        }
        let slots = try database.run("SELECT 1 FROM pg_replication_slots WHERE database = current_database()")
        if let words = way.source {
            #expect(errors.count == 1 && errors[0].contains(words), "\(errors)")
            #expect(said.count == 1 && said[0].contains(words), "\(said)")
            #expect(slots.isEmpty)
        } else {
            #expect(errors.isEmpty && said.isEmpty, "\(errors) \(said)")
            try await source.dropStream(slot)
        }
        try source.close()
    }

    // MARK: While it runs

    /// A storage with a writer that writes one row after the other.
    private struct Writer: Sendable {
        let name: String
        let storage: PostgresBucketStorage
        let stream: ReplicationStream
        /// How many rows a checkpoint shows.
        let committed = NIOLockedValueBox(0)
        let progress = ChangeSignal()

        init(_ name: String, _ connection: PostgresConnectionString) async throws {
            self.name = name
            var settings = PostgresBucketStorage.Settings(connection: connection)
            settings.schema = "storage_\(name)"
            settings.defaultTableSchema = "main"
            storage = try await PostgresBucketStorage.open(settings, logger: PostgresStorageHome.logger)
            stream = try await storage.deploy(PoolerTests.config, plan: try plan(PoolerTests.config))
        }

        /// Writes until something ends it.
        func run() async throws {
            try await storage.withWriter(of: stream.id) { writer in
                if writer.resumePosition == nil {
                    try await writer.setResumePosition(.at(0))
                    try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
                }
                let table = try await writer.resolveTable(
                    SourceTableDescriptor(
                        name: SourceTableName(schema: "main", name: "test"),
                        relationID: "test",
                        identity: [.init(name: "id", type: "TEXT")]
                    )
                ).table
                while true {
                    let number = committed.withLockedValue { $0 } + 1
                    let id = SQLValue.text("\(name)-\(number)")
                    _ = try await writer.save([.insert(["id": id])], of: table, mode: .stream)
                    _ = try await writer.commit(.at(Int64(number)), createsEmptyCheckpoints: true)
                    committed.withLockedValue { $0 = number }
                    progress.advance()
                }
            }
        }

        /// Waits until this many more rows are shown.
        func written(_ count: Int) async throws {
            let goal = committed.withLockedValue { $0 } + count
            while committed.withLockedValue({ $0 }) < goal {
                let seen = progress.version
                if committed.withLockedValue({ $0 }) < goal { try await progress.wait(after: seen) }
            }
        }

        /// The rows that a client gets.
        func rows() async throws -> Set<String> {
            guard let newest = storage.feed.current else { return [] }
            return Set(try await storage.allOperations("g|0[]", of: stream, at: newest).map(\.id))
        }
    }

    @Test func writersStopWhenThePoolerGivesNoSessionsAnyMore() async throws {
        let database = try TestDatabase()
        let pooler = try TestPooler(.session)
        let connection = PostgresConnectionString(pooler.uri(of: database.name))
        let writers = [try await Writer("a", connection), try await Writer("b", connection)]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in writers {
                group.addTask {
                    let error = await #expect(throws: PostgresError.self) { try await writer.run() }
                    #expect(error?.code == .noSession, "\(String(describing: error))")
                    #expect(error?.message.contains(Self.sentence) == true)
                }
            }
            for writer in writers { try await writer.written(20) }
            try pooler.change(to: .transaction)
            try await group.waitForAll()
        }
        // Nobody begins again, whatever is to be written.
        for writer in writers {
            let attempts: [@Sendable () async throws -> Void] = [
                { try await writer.run() },
                { _ = try await writer.storage.createWriteCheckpoint(userKey: "u", head: .at(1)) },
                { _ = try await writer.storage.deploy("other", plan: try plan(Self.config)) },
                { _ = try await writer.storage.compact() },
            ]
            for attempt in attempts {
                let error = await #expect(throws: PostgresError.self) { try await attempt() }
                #expect(error?.code == .noSession, "\(String(describing: error))")
            }
        }
        // What each has stored is its own, and all of it.
        for writer in writers {
            let count = writer.committed.withLockedValue { $0 }
            let schema = writer.storage.schema.name
            let stored = try database.run(
                "SELECT convert_from(row_id, 'UTF8') FROM \(schema).operations ORDER BY op_id LIMIT \(count)"
            ).compactMap { $0[0] }
            #expect(stored == (1...count).map { "\(writer.name)-\($0)" })
            let foreign = try database.run(
                "SELECT 1 FROM \(schema).operations WHERE convert_from(row_id, 'UTF8') NOT LIKE '\(writer.name)-%'"
            )
            #expect(foreign.isEmpty)
        }
        // With sessions again, they go on.
        try pooler.change(to: .session)
        try pooler.reconnect()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in writers { group.addTask { try await writer.run() } }
            for writer in writers { try await writer.written(5) }
            group.cancelAll()
        }
        for writer in writers {
            let rows = try await writer.rows()
            #expect(rows.count >= 25)
            #expect(rows.allSatisfy { $0.hasPrefix("\(writer.name)-") })
            try writer.storage.close()
        }
    }

    /// What others have set in a session does not lead a statement to their tables.
    @Test func tablesAreNotLookedForInTheSearchPath() async throws {
        let database = try TestDatabase()
        let pooler = try TestPooler(.session)
        let connection = PostgresConnectionString(pooler.uri(of: database.name))
        let writer = try await Writer("a", connection)
        _ = try await Writer("b", connection)
        try pooler.change(to: .transaction)
        let other = try Session(pooler.uri(of: database.name))
        for _ in 0..<5 {
            try other.run("SET search_path TO storage_b")
            #expect(try await writer.storage.streams().map(\.id) == [writer.stream.id])
            #expect(try await writer.storage.size() > 0)
        }
        await #expect(throws: PostgresError.self) { try await writer.run() }
        #expect(try database.run("SELECT 1 FROM storage_b.operations").isEmpty)
        try writer.storage.close()
    }

    // MARK: Other storages

    /// A transaction looks where it is: the tables of a schema may have become those of another storage.
    @Test func nothingIsWrittenIntoAnotherStorage() async throws {
        var scenario = try await StorageScenario(Self.config, on: .postgres)
        let table = try await scenario.table("test")
        try scenario.home.run("UPDATE storage SET id = gen_random_uuid()")
        try await scenario.save(.insert(["id": "a"]), of: table)
        var writer = scenario.writer
        let storage = scenario.storage
        func expectRefusal(_ body: () async throws -> Void) async {
            let error = await #expect(throws: BucketStorageError.self) { try await body() }
            #expect(error?.code == .otherStorage)
        }
        await expectRefusal { try await writer.flush() }
        await expectRefusal { _ = try await writer.commit(.at(9), createsEmptyCheckpoints: true) }
        await expectRefusal { _ = try await storage.createWriteCheckpoint(userKey: "u", head: .at(9)) }
        await expectRefusal {
            _ = try await storage.deploy(Self.config, versionLabel: nil, plan: try plan(Self.config), mode: .again)
        }
        await expectRefusal { _ = try await storage.compact() }
        for table in ["operations", "write_checkpoints"] { #expect(try await scenario.rowCount(table) == 0) }
        #expect(try await scenario.rowCount("replication_streams") == 1)
    }
}
