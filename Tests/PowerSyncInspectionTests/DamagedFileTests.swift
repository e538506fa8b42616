import Foundation
import Testing

@testable import PowerSyncInspection

/// What is said about files that other programs or broken disks have changed.
@Suite(.timeLimit(.minutes(1))) struct DamagedFileTests {
    /// A change of a file, and what is said about it.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var sql: String
        var codes: [String]
        var words: String

        init(_ description: String, _ sql: String, _ codes: String..., words: String) {
            (testDescription, self.sql, self.codes, self.words) = (description, sql, codes, words)
        }
    }

    /// Makes the tables anew without types and constraints, as another program may.
    private static let withoutTypes = ["ps_buckets", "ps_oplog", "ps_sync_state", "ps_stream_subscriptions"].map {
        table in
        """
        CREATE TABLE copy AS SELECT * FROM \(table); DROP TABLE \(table);
        CREATE TABLE \(table) AS SELECT * FROM copy; DROP TABLE copy;
        """
    }.joined()

    static let cases = [
        Case(
            "a checksum was changed",
            "UPDATE ps_buckets SET op_checksum = 1 WHERE name LIKE '%lists%'",
            "bucket-checksum",
            words: ##"#lists|0["u1"] add up to"##
        ),
        Case(
            "an operation was removed",
            "DELETE FROM ps_oplog WHERE row_id = 't1'",
            "bucket-checksum",
            words: ##"#todos|0["l1"] add up to the checksum 0"##
        ),
        Case(
            "a bucket was removed",
            "DELETE FROM ps_buckets WHERE name LIKE '%lists%'",
            "stray-operations",
            words: "2 operations belong to no bucket"
        ),
        Case(
            "an operation is there twice",
            """
            INSERT INTO ps_oplog SELECT * FROM ps_oplog WHERE row_id = 't1';
            UPDATE ps_buckets SET op_checksum = (SELECT sum(hash) & 0xffffffff FROM ps_oplog WHERE bucket = ps_buckets.id);
            """,
            "repeated-keys",
            words: "1 key has several operations"
        ),
        Case(
            "a bucket is published beyond its end",
            "UPDATE ps_buckets SET last_op = 0 WHERE name LIKE '%todos%'",
            "bucket-position",
            words: "known up to 0 only"
        ),
        Case(
            "a synced row was deleted",
            "DELETE FROM ps_data__lists WHERE id = 'l2'",
            "missing-rows",
            words: "1 synced row is missing in table lists"
        ),
        Case(
            "a row is no JSON",
            "UPDATE ps_data__lists SET data = '{\"name\": Secret' WHERE id = 'l2'",
            "row-json",
            words: "1 row of table lists is not JSON"
        ),
        Case(
            "entries of the queue are garbage",
            "INSERT INTO ps_crud(data, tx_id) VALUES (x'00ff', 1), (NULL, 'one'), ('{\"op\":\"PUT\",\"type\":\"lists\",\"id\":\"s\"}', 2)",
            "queue-entry",
            words: "2 of 3 writes in the upload queue cannot be read"
        ),
        Case(
            "a counter is garbage",
            "INSERT INTO ps_kv(key, value) VALUES ('target_checkpoint_request_id', x'ff00')",
            "unreadable",
            words: "ps_kv.value of key target_checkpoint_request_id holds no number"
        ),
        Case("there is no client id", "DELETE FROM ps_kv", "client-id", words: "Insert a new UUID"),
        Case("transactions have no number", "DELETE FROM ps_tx", "unreadable", words: "local writes fail"),
        Case("a table is missing", "DROP TABLE ps_untyped", "missing", words: "The table ps_untyped of version 14"),
        Case(
            "a column is missing",
            """
            DROP TABLE ps_stream_subscriptions;
            CREATE TABLE ps_stream_subscriptions(
              id INTEGER PRIMARY KEY, stream_name TEXT, active INT, is_default INT, local_priority INT, local_params TEXT,
              expires_at INT, last_synced_at INT
            )
            """,
            "missing",
            words: "The column ps_stream_subscriptions.ttl"
        ),
    ]

    @Test(arguments: cases)
    func damageIsNamed(_ damage: Case) async throws {
        let fixture = try await ClientFileFixture()
        try fixture.tamper(damage.sql)
        let report = try fixture.report()
        #expect(report.codes(.damage) == damage.codes, "\(report.findings)")
        let message = try #require(report.message(damage.codes[0]))
        #expect(message.contains(damage.words), "\(message)")
        #expect(message.hasSuffix(".") && !message.contains("Secret"))
        #expect(report.isDamaged)
    }

    @Test func valuesOfWrongTypesAreNamedAndNothingTraps() async throws {
        let fixture = try await ClientFileFixture()
        try fixture.tamper(Self.withoutTypes)
        try fixture.tamper(
            """
            UPDATE ps_buckets SET last_op = 'many', add_checksum = x'00', downloaded_size = 1.5;
            UPDATE ps_oplog SET hash = 'none' WHERE row_id = 't1';
            UPDATE ps_sync_state SET last_synced_at = 'today';
            UPDATE ps_stream_subscriptions SET ttl = 'forever', expires_at = \(Int64.max), last_synced_at = \(Int64.min);
            """
        )
        let report = try fixture.report()
        let unreadable = report.unreadable.joined(separator: "\n")
        for column in [
            "ps_buckets.last_op", "ps_buckets.add_checksum", "ps_oplog.hash", "ps_sync_state.last_synced_at",
        ] {
            #expect(unreadable.contains(column), "\(unreadable)")
        }
        #expect(unreadable.contains("ps_stream_subscriptions.ttl of stream todos holds text"))
        #expect(!report.lines.isEmpty)
        #expect(try !report.json().isEmpty)
    }

    @Test func manyProblemsBecomeAFew() async throws {
        let fixture = try await ClientFileFixture()
        try fixture.tamper(Self.withoutTypes)
        try fixture.tamper(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
            INSERT INTO ps_buckets(name, last_op) SELECT 'b' || i, 'many' FROM n
            """
        )
        let report = try fixture.report()
        #expect(report.unreadable.count == Inspection.shownProblems + 1)
        #expect(report.buckets.count == 102)
        #expect(report.lines.contains("  and 52 more"))
    }

    @Test func bytesThatAreNoPageAreFoundByTheCheckOfSQLite() async throws {
        let fixture = try await ClientFileFixture()
        var bytes = try Data(contentsOf: URL(filePath: fixture.path))
        // The first page has the schema; all others are overwritten.
        bytes.replaceSubrange(4096..., with: repeatElement(0xA5, count: bytes.count - 4096))
        try bytes.write(to: URL(filePath: fixture.path))
        let result = Result { try fixture.report() }
        switch result {
        case .success(let report): #expect(report.isDamaged && !report.unreadable.isEmpty)
        case .failure(let error): #expect((error as? ClientFileError)?.code == .unreadable, "\(error)")
        }
    }

    /// A table that only the app's connections can check is no damage, and hides none of other tables.
    @Test
    func collationsOfTheAppAreNoDamage() async throws {
        let fixture = try await ClientFileFixture()
        // A collation that GRDB adds to its connections.
        try fixture.tamper("CREATE TABLE names(name TEXT COLLATE swiftCompare UNIQUE)")
        let report = try fixture.report()
        #expect(report.codes(.notice) == ["unchecked-tables"] && !report.isDamaged, "\(report.findings)")
        #expect(report.message("unchecked-tables")?.contains("names: no such collation sequence: swiftCompare") == true)
        #expect(report.lines.contains("SQLite's check  ok, except for 1 table that was left out"))

        try fixture.tamper(
            """
            CREATE TABLE counts(n);
            INSERT INTO counts VALUES (NULL);
            PRAGMA writable_schema = ON;
            UPDATE sqlite_master SET sql = 'CREATE TABLE counts(n NOT NULL)' WHERE name = 'counts';
            """
        )
        let damaged = try fixture.report()
        #expect(damaged.codes(.damage) == ["sqlite"], "\(damaged.findings)")
        #expect(damaged.message("sqlite")?.contains("counts") == true)
        #expect(damaged.codes(.notice) == ["unchecked-tables"])
    }

    @Test func aCheckThatDidNotRunIsNotOK() {
        let file = DatabaseReport.File(path: "/client.db", bytes: 0, logBytes: 0)
        let report = DatabaseReport(inspectedAt: Date(), file: file, schemaVersion: 14)
        #expect(report.lines.contains("SQLite's check  could not be run"))
    }

    @Test func textsOfTheFileCannotCommandATerminal() async throws {
        let fixture = try await ClientFileFixture()
        try fixture.tamper("INSERT INTO ps_untyped VALUES ('\u{1B}[2J' || char(10) || 'x', 'u1', '{}')")
        let lines = try fixture.report().lines
        #expect(lines.contains { $0.contains("[2J") })
        #expect(lines.allSatisfy { !$0.contains("\u{1B}") && !$0.contains("\n") })
    }
}
