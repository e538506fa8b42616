import PostgresTestSupport
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncSyncConfig
@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// The tables of a storage in PostgreSQL: how they are made, and what they can hold (docs/postgres-storage.md "Tables").
@Suite(.timeLimit(.minutes(1))) struct PostgresStorageSchemaTests {
    private static let config = """
        config:
          edition: 3
        streams:
          o:
            query: SELECT * FROM test WHERE owner = auth.user_id()
          d:
            query: SELECT * FROM docs WHERE grp IN (SELECT grp FROM m WHERE uid = auth.user_id())
        """

    @Test func processesThatStartTogetherMakeTheTablesOnce() async throws {
        let home = try PostgresStorageHome()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 { group.addTask { try await home.open().close() } }
            try await group.waitForAll()
        }
        #expect(try home.run("SELECT version FROM record_versions") == [["1"]])
    }

    @Test func aNewerVersionIsRefused() async throws {
        let home = try PostgresStorageHome()
        try await home.open().close()
        try home.run("INSERT INTO record_versions (version) VALUES (\(PostgresStorageSchema.migrations.count + 1))")
        await #expect {
            _ = try await home.open()
        } throws: { error in
            guard let error = error as? BucketStorageError else { return false }
            return error.code == .unsupportedVersion && error.message.contains("powersync_storage has version 2")
        }
    }

    @Test func maintenanceNeedsAStorage() async throws {
        let home = try PostgresStorageHome()
        await #expect {
            _ = try await PostgresBucketStorage.open(
                home.postgres.settings,
                use: .maintenance,
                logger: PostgresStorageHome.logger
            )
        } throws: { error in
            (error as? BucketStorageError)?.message.contains("no bucket storage in schema powersync_storage") == true
        }
        try await home.open().close()
        let storage = try await PostgresBucketStorage.open(
            home.postgres.settings,
            use: .maintenance,
            logger: PostgresStorageHome.logger
        )
        #expect(try await storage.compact() == CompactionResult())
        try storage.close()
    }

    @Test func aRoleThatMayNotMakeTheSchemaIsToldWhatIsMissing() async throws {
        let home = try PostgresStorageHome()
        let role = "role_\(home.postgres.database.name)"
        try home.postgres.database.run("CREATE ROLE \(role) LOGIN")
        var settings = home.postgres.settings
        settings.connection = PostgresConnectionString(
            settings.connection.text.replacing("postgres@", with: "\(role)@")
        )
        await #expect {
            _ = try await PostgresBucketStorage.open(settings, logger: PostgresStorageHome.logger)
        } throws: { error in
            (error as? BucketStorageError)?.message.contains("CREATE SCHEMA powersync_storage AUTHORIZATION") == true
        }
        try home.postgres.database.run("CREATE SCHEMA powersync_storage AUTHORIZATION \(role)")
        try await PostgresBucketStorage.open(settings, logger: PostgresStorageHome.logger).close()
        try home.postgres.database.run("DROP OWNED BY \(role); DROP ROLE \(role)")
    }

    @Test func aDatabaseWithAnotherEncodingIsRefused() async throws {
        let database = try TestDatabase()
        let name = "latin_\(database.name)"
        try database.runOutside("CREATE DATABASE \(name) ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        let settings = PostgresBucketStorage.Settings(
            connection: PostgresConnectionString(database.uri.replacing(database.name, with: name))
        )
        await #expect {
            _ = try await PostgresBucketStorage.open(settings, logger: PostgresStorageHome.logger)
        } throws: { error in
            (error as? BucketStorageError)?.message.contains("encoding UTF8, not LATIN1") == true
        }
        try database.runOutside("DROP DATABASE \(name) WITH (FORCE)")
    }

    @Test func aDeletedStreamLeavesNoTable() async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let partitions = """
            SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relispartition
                AND relnamespace = 'powersync_storage'::regnamespace
            """
        let tables = try scenario.home.run(partitions)
        let next = try await scenario.storage.restart(scenario.stream.id)
        var writer = try await scenario.writer(of: next.id)
        try await writer.setResumePosition(.at(0, of: "second"))
        try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
        _ = try await writer.commit(.at(1), createsEmptyCheckpoints: true)
        #expect(try scenario.home.run(partitions) != tables)
        try await scenario.storage.deleteData(of: scenario.stream.id)
        #expect(try scenario.home.run(partitions) == tables)
        #expect(try await scenario.storage.streams().map(\.id) == [next.id])
        #expect(try await scenario.storage.size() > 0)
    }

    /// Texts that sort, fold or end in other ways than bytes do.
    static let names = [
        "", " ", "\u{0}", "a\u{0}b", "a\u{0}c", "A", "a", "ä", "a\u{308}", "ß", "ss", "\u{1F600}", "'\"\\", "%_",
        String(repeating: "long", count: 3000),
    ]

    @Test func namesMayHaveEveryByte() async throws {
        var scenario = try await StorageScenario(Self.config, on: .postgres)
        let (table, docs, m) = try await (scenario.table("test"), scenario.table("docs"), scenario.table("m"))
        for (index, name) in Self.names.enumerated() {
            let (id, text) = (SQLValue.text("\(index)\(name)"), SQLValue.text(name))
            try await scenario.save(.insert(["id": id, "owner": text, "v": text]), of: table)
            try await scenario.save(.insert(["id": id, "uid": text, "grp": text]), of: m)
            try await scenario.save(.insert(["id": id, "grp": text]), of: docs)
        }
        try await scenario.commit()
        for (index, name) in Self.names.enumerated() {
            var text: [UInt8] = []
            SQLValue.appendKeyArray([.text(name)], to: &text)
            let key = String(decoding: text, as: UTF8.self)
            #expect(try await scenario.lookUp("0\(key)") == [ParameterRow(values: [.text(name)])], "\(index)")
            #expect(try await scenario.operations("o|0\(key)").map(\.id) == ["\(index)\(name)"])
            _ = try await scenario.storage.createWriteCheckpoint(userKey: name, head: .at(0))
            #expect(
                try await scenario.storage.visibleWriteCheckpoint(userKey: name, at: scenario.checkpoint)
                    == WriteCheckpoint(1)
            )
        }
        #expect(try await scenario.rowCount("write_checkpoints") == Self.names.count)
    }
}
