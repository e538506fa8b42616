import GRDB
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// Files of ours that are opened by older implementations, and by us again.
@Suite struct MigrationRoundTripTests {
    private let folder: TemporaryFolder

    /// What files of ours look like.
    private static let current = Result { try LocalTestDatabase().shape() }
    /// What files of each older version look like, from the first on.
    private static let natives = Result {
        try (1...13).map { try LocalTestDatabase(version: $0, content: false).shape() }
    }

    private static func native(_ version: Int) throws -> FileShape {
        try natives.get()[version - 1]
    }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func openFile() throws -> LocalTestDatabase {
        let database = try LocalTestDatabase(path: folder.path("a.db"))
        try database.apply(RandomContent.schema)
        return database
    }

    /// Includes version 12, which most SDKs in the field write.
    @Test(arguments: 1...13, [1, 2] as [UInt64])
    func contentSurvivesTheWayDownAndUp(version: Int, seed: UInt64) throws {
        var content = RandomContent(seed: seed &* 1000 &+ UInt64(version))
        let database = try openFile()
        try content.insert(into: database)
        let objects = try database.objects()
        let before = try Snapshot(database, keptBy: version)
        try database.queue.close()

        let older = try OlderImplementation(path: folder.path("a.db"))
        #expect(try older.open(at: version).difference(from: Self.native(version)) == [])
        try older.close()

        let reopened = try openFile()
        #expect(try reopened.objects() == objects)
        #expect(try reopened.shape().difference(from: Self.current.get()) == [])
        let after = try Snapshot(reopened, keptBy: version)
        for (table, rows) in before.rows {
            #expect(after.rows[table] == rows, "\(table), seed \(seed)")
        }
        // Everything works: the views have their triggers, the queue goes on where it was.
        let sequence = try #require(reopened.queue.read { try UploadQueue.sequence($0) })
        try reopened.write("INSERT INTO lists(id, name) VALUES (uuid(), 'after')")
        #expect(try reopened.integer("SELECT max(id) FROM ps_crud") == sequence + 1)
    }

    /// Payload 10 drops the views, and the ones before it must not stumble over their triggers.
    @Test(arguments: 1...13)
    func viewsAreKeptOnlyByVersionsThatKnowTheirTriggers(version: Int) throws {
        let database = try openFile()
        try database.write("CREATE VIEW leftover AS SELECT gone FROM missing")
        try database.queue.close()
        let older = try OlderImplementation(path: folder.path("a.db"))
        _ = try older.open(at: version)
        try older.close()
        let plain = try DatabaseQueue(path: folder.path("a.db"))
        let views = try plain.read {
            try String.fetchAll($0, sql: "SELECT name FROM sqlite_master WHERE type = 'view'")
        }
        #expect(Set(views) == (version >= 10 ? ["leftover", "lists", "todos"] : ["leftover"]))
    }

    @Test func writeGateMovesToTheLocalBucketAndBack() throws {
        let database = try openFile()
        try database.write(
            """
            INSERT INTO ps_kv(key, value) VALUES ('last_requested_checkpoint_request_id', 7),
              ('last_seen_checkpoint_request_id', 6), ('last_applied_checkpoint_request_id', 5),
              ('target_checkpoint_request_id', 7);
            """
        )
        try database.queue.close()
        let older = try OlderImplementation(path: folder.path("a.db"))
        _ = try older.open(at: 13)
        try older.write(
            "UPDATE ps_buckets SET last_applied_op = 8, last_op = 8, target_op = 9 WHERE name = '$local' AND pending_delete = 1"
        )
        try older.close()
        let reopened = try openFile()
        #expect(
            try reopened.rows("SELECT key, value FROM ps_kv WHERE key GLOB '*request_id' ORDER BY key") == [
                "last_applied_checkpoint_request_id|8", "last_requested_checkpoint_request_id|7",
                "last_seen_checkpoint_request_id|8", "target_checkpoint_request_id|9",
            ]
        )
    }

    /// A first download that was interrupted leaves a file without the indexes of `ps_oplog`.
    @Test func olderImplementationsFindTheOplogIndexes() throws {
        let database = try openFile()
        try database.queue.write { try OplogIndexes.drop($0) }
        try database.queue.close()
        let older = try OlderImplementation(path: folder.path("a.db"))
        #expect(try older.open(at: 13).difference(from: Self.native(13)) == [])
    }

    /// Upgrading, going back, and upgrading again, from every version to every older one.
    @Test(arguments: 2...13)
    func upgradedFilesGoBackToAllOlderVersions(version: Int) throws {
        for target in 1..<version {
            let database = try LocalTestDatabase(version: version)
            try database.migrate()
            try database.migrate(to: target)
            #expect(try database.shape().difference(from: Self.native(target)) == [], "\(version) to \(target)")
            try database.migrate()
            #expect(try database.entries() == VersionFixture.entries)
            #expect(try database.integer("SELECT count(*) FROM ps_oplog") == 3)
            #expect(
                try database.rows("SELECT name, add_checksum, op_checksum FROM ps_buckets ORDER BY id")
                    == ["b1|147|5", "b2|1005|3"]
            )
        }
    }

    @Test func payloadsAlterNoTable() {
        for version in 1...14 {
            for sql in DownMigrations.statements(from: version) {
                #expect(!sql.contains("ALTER"), "\(sql)")
            }
        }
    }
}
