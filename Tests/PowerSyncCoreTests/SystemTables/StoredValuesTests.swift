import GRDB
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Values in internal tables that no implementation writes.
@Suite struct StoredValuesTests {
    /// Who reads a table.
    enum Reader: Sendable {
        case status, buckets

        func read(_ db: Database) throws {
            switch self {
            case .status:
                _ = try DownloadStatus.offline(db)
            case .buckets:
                var buckets = BucketTable()
                try buckets.load(db)
            }
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var reader: Reader
        var table: String
        var column: String
        var value: String
        /// Another column that has to be filled.
        var other = ""

        var testDescription: String { "\(table).\(column) = \(value)" }
    }

    static let cases: [Case] =
        ["name"].map { Case(reader: .buckets, table: "ps_buckets", column: $0, value: "x'ff'") }
        + [
            "last_applied_op", "last_op", "add_checksum", "op_checksum", "count_at_last", "count_since_last",
            "downloaded_size",
        ].flatMap { column in
            ["'x'", "1e300", "x'01'", "NULL"].map {
                Case(reader: .buckets, table: "ps_buckets", column: column, value: $0, other: "name")
            }
        }
        + [("stream_name", "ttl"), ("local_params", "stream_name")].map {
            Case(reader: .status, table: "ps_stream_subscriptions", column: $0.0, value: "x'ff'", other: $0.1)
        }
        + [
            ("active", "'x'"), ("is_default", "NULL"), ("local_priority", "4294967296"), ("local_priority", "'x'"),
            ("ttl", "'x'"), ("expires_at", "1e300"), ("last_synced_at", "x''"),
        ].map {
            Case(reader: .status, table: "ps_stream_subscriptions", column: $0.0, value: $0.1, other: "stream_name")
        }
        + [
            Case(
                reader: .status,
                table: "ps_sync_state",
                column: "priority",
                value: "2147483648",
                other: "last_synced_at"
            ),
            Case(reader: .status, table: "ps_sync_state", column: "last_synced_at", value: "'2025-03-05 14:58:09'"),
            Case(reader: .status, table: "ps_sync_state", column: "last_synced_at", value: "NULL"),
        ]

    /// A database whose table accepts everything.
    private func makeDatabase(lenient table: String) throws -> LocalTestDatabase {
        let database = try LocalTestDatabase()
        let sql = try #require(try database.texts("SELECT sql FROM sqlite_master WHERE name = ?", [table]).first ?? nil)
        let lenient = sql.replacing("STRICT", with: "").replacing(" NOT NULL", with: "")
        try database.write("DROP TABLE \(table); \(lenient)")
        return database
    }

    @Test(arguments: cases)
    func areErrorsThatNameTableAndColumn(_ test: Case) throws {
        let database = try makeDatabase(lenient: test.table)
        // Something else of the row is text or a number that fits everywhere.
        if test.other.isEmpty {
            try database.write("INSERT INTO \(test.table)(\(test.column)) VALUES (\(test.value))")
        } else {
            try database.write("INSERT INTO \(test.table)(\(test.column), \(test.other)) VALUES (\(test.value), '1')")
        }
        let error = #expect(throws: LocalDatabaseError.self) { try database.queue.write { try test.reader.read($0) } }
        #expect(error?.code == .corruptLocalData)
        #expect(error?.message.contains("\(test.table).\(test.column)") == true, "\(error?.message ?? "")")
        #expect(error?.resultCode == 11)
    }

    /// The error may be logged, the value may be private.
    @Test func errorsDoNotQuoteTheValue() throws {
        let database = try makeDatabase(lenient: "ps_buckets")
        try database.write("INSERT INTO ps_buckets(name, last_op) VALUES ('a', 'secret')")
        let error = #expect(throws: LocalDatabaseError.self) {
            try database.queue.write { try Reader.buckets.read($0) }
        }
        #expect(error?.description.contains("secret") == false)
    }

    /// Counters are read as numbers, whatever their type.
    @Test(arguments: ["'7'", "x'37'", "7.9", "'7 or so'"])
    func countersAreCast(value: String) throws {
        let database = try LocalTestDatabase()
        try database.write(
            """
            INSERT INTO ps_kv VALUES ('target_checkpoint_request_id', \(value));
            DELETE FROM sqlite_sequence;
            INSERT INTO sqlite_sequence(name, seq) VALUES ('ps_crud', \(value));
            """
        )
        #expect(try database.queue.read { try LocalWriteGate.target($0) } == WriteCheckpoint(7))
        #expect(try database.queue.read { try UploadQueue.sequence($0) } == 7)
    }

    @Test func countersOfAnotherTypeGoBackAsNumbers() throws {
        let database = try LocalTestDatabase()
        try database.write(
            "INSERT INTO ps_kv VALUES ('target_checkpoint_request_id', '7'), ('last_seen_checkpoint_request_id', 'x')"
        )
        try database.migrate(to: 13)
        #expect(try database.rows("SELECT name, target_op, last_op FROM ps_buckets") == ["$local|7|0"])
    }

    /// A real number without fraction is an integer, as SQLite itself stores it in a STRICT table.
    @Test func numbersThatFitAreAccepted() throws {
        let database = try makeDatabase(lenient: "ps_stream_subscriptions")
        try database.write(
            "INSERT INTO ps_stream_subscriptions(stream_name, active, ttl) VALUES (CAST('s' AS BLOB), 2, 6e1)"
        )
        let stream = try #require(try database.queue.read { try StreamSubscriptions.fetchAll($0) }.first)
        #expect(stream.key == StreamKey(name: "s"))
        #expect(stream.isActive)
        #expect(stream.timeToLive == 60)
    }

    /// Keys that are no well-formed text are left alone by the repair of keys.
    @Test(arguments: ["x'ff22'", "CAST(x'ff22' AS TEXT)", "5"])
    func keysOfAnotherTypeAreNotRepaired(key: String) throws {
        let database = try makeDatabase(lenient: "ps_oplog")
        try database.write("INSERT INTO ps_oplog(bucket, op_id, key, hash) VALUES (1, 1, \(key), 0)")
        let before = try database.rows("SELECT hex(key) FROM ps_oplog")
        try database.queue.write { try LegacySubkeys.repair($0) }
        #expect(try database.rows("SELECT hex(key) FROM ps_oplog") == before)
    }
}
