import PostgresTestSupport
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// A changed sync config over a server, and what operators see of it.
@Suite(.timeLimit(.minutes(2))) struct PostgresDeploymentTests {
    private static let names = """
        config:
          edition: 3
        streams:
          all:
            query: SELECT id, name FROM lists
        """

    @Test func aChangedConfigIsReplicatedWhileTheServerIsWritten() async throws {
        let scenario = try PostgresScenario()
        let deployer = SyncConfigDeployer(storage: scenario.storage, logger: scenario.log.logger)
        let replicator = Replicator(
            storage: scenario.storage,
            source: scenario.source,
            streamsChanged: deployer.streamsChanged,
            logger: scenario.log.logger
        )
        try scenario.database.run("INSERT INTO lists SELECT 'a' || i, 'u1', 'n' FROM generate_series(1, 500) i")
        try await deployer.deploy(PostgresScenario.allLists)
        try await replicator.whileRunning {
            try await scenario.caughtUp()
            let deployment = try await deployer.deploy(Self.names)
            for number in 0..<20 {
                try scenario.database.run(
                    """
                    INSERT INTO lists VALUES ('b\(number)', 'u1', 'new');
                    DELETE FROM lists WHERE id = 'a\(number + 1)';
                    UPDATE lists SET name = 'changed \(number)' WHERE id = 'a\(number + 100)'
                    """
                )
            }
            _ = try await scenario.log.line(containing: "is active", "replication_stream=\(deployment.stream.id)")
            _ = try await scenario.log.line(containing: "A replaced stream has been deleted", "replication_stream=1")
            // The positions of both streams are of one log.
            let head = try await scenario.source.head()
            try await scenario.source.emitMarker()
            let active = try #require(try await scenario.storage.activeStream())
            #expect(active.id == deployment.stream.id)
            for try await checkpoint in scenario.storage.checkpoints(of: active) where checkpoint.lsn >= head.lsn {
                break
            }

            let rows = try await scenario.rows()
            let expected = try scenario.database.run("SELECT id, name FROM lists")
            #expect(rows.count == expected.count)
            for row in expected {
                let (id, name) = (row[0] ?? "", row[1] ?? "")
                #expect(rows["lists/\(id)"] == #"{"id":"\#(id)","name":"\#(name)"}"#)
            }
            let slots = try scenario.database.run(
                "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()"
            )
            #expect(slots == [[deployment.stream.sourceHandle]])
        }
    }

    @Test func tablesAreDescribed() async throws {
        let scenario = try PostgresScenario(
            """
            CREATE SCHEMA other;
            CREATE TABLE other.things (id bigint PRIMARY KEY, size float8, raw bytea, made timestamptz);
            CREATE TABLE lists (id text PRIMARY KEY, done bool, name varchar(20))
            """
        )
        let tables = try await scenario.source.describeTables()
        #expect(tables.map(\.name.description) == ["other.things", "public.lists"])
        #expect(tables[0].columns.map(\.clientType) == ["integer", "real", "blob", "text"])
        #expect(tables[0].columns.map(\.values) == [.number, .number, .bytes, .text])
        #expect(tables[1].columns.map(\.values) == [.text, .boolean, .text])
        #expect(tables[1].columns.map(\.type) == ["text", "boolean", "character varying(20)"])
        #expect(tables[1].columns.map(\.name) == ["id", "done", "name"])
        try scenario.source.close()
    }

    @Test func rowsAreEstimated() async throws {
        let scenario = try PostgresScenario(
            """
            CREATE TABLE lists (id text PRIMARY KEY);
            INSERT INTO lists SELECT n::text FROM generate_series(1, 1000) n;
            CREATE TABLE parts (id text PRIMARY KEY) PARTITION BY HASH (id);
            CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
            CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
            INSERT INTO parts SELECT n::text FROM generate_series(1, 100) n;
            CREATE TABLE unknown (id text PRIMARY KEY);
            CREATE TABLE other (id text PRIMARY KEY);
            ANALYZE lists; ANALYZE parts; ANALYZE other
            """
        )
        let rows = try await scenario.source.estimatedRows { $0.name != "other" }
        #expect(rows[SourceTableName(schema: "public", name: "other")] == nil)
        #expect(rows[SourceTableName(schema: "public", name: "lists")] == 1000)
        #expect(rows[SourceTableName(schema: "public", name: "parts")] == 100)
        if try scenario.database.serverVersion >= 140_000 {
            #expect(rows[SourceTableName(schema: "public", name: "unknown")] == nil)
        }
        try scenario.source.close()
    }

    @Test func theLogIsMeasuredInBytes() throws {
        let scenario = try PostgresScenario()
        let (earlier, later) = (LSN("00000000/FFFFFFF0"), LSN("00000001/00000010"))
        #expect(scenario.source.logSize(from: earlier, to: later) == 32)
        #expect(scenario.source.logSize(from: later, to: earlier) == 0)
        #expect(scenario.source.logSize(from: LSN("x"), to: later) == nil)
        try scenario.source.close()
    }
}
