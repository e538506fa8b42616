import PowerSyncProtocol
import Testing

@testable import PowerSyncOperations

/// The text of `powersync status`.
@Suite struct StatusReportTests {
    private static func report(_ text: String) throws -> StatusReport {
        StatusReport(try JSONObject(parsing: text))
    }

    private static let stream = """
        {"stream_id": 3, "state": "ACTIVE", "errors": [], "connections": [{"slot_name": "powersync_3_a", \
        "initial_replication_done": true, "replication_lag_bytes": 17, "last_checkpoint_ts": "2026-11-23T10:00:00Z", \
        "tables": [{"name": "lists", "errors": [{"level": "warning", "message": "no primary key"}]}, {"name": "todos"}]}]}
        """
    private static let source = """
        "connections": [{"postgres_uri": "PostgreSQL app at db:5432 as powersync", "connected": true, "errors": []}]
        """

    /// A snapshot with clients as they are given, and more parts of the storage.
    private static func service(clients: [String], streams: Int? = nil, storage: String = "") -> String {
        """
        {"time": 1000, "replication": {"source": "s", "rows": 1, "bytes": 2, "transactions": 3, "streams": []}, \
        "clients": {"streams": \(streams ?? clients.count), "users": 1, "operations": 5, "bytes": 6, "heldBytes": 0, \
        "activities": {}, "list": [\(clients.joined(separator: ","))]}, \
        "storage": {"bytes": 1048576, "sizes": {"operations": 204800, "parameters": 10240, "rows": 51200, "buckets": 12}, \
        \(storage.isEmpty ? "\"problems\": [], \"compaction\": {\"isRunning\": false}" : storage)}, "errors": []}
        """
    }

    private static func client(_ user: String, activity: String = "waitingForCheckpoint", left: Int = 0) -> String {
        """
        {"id": 1, "user": "\(user)", "agent": "x", "openedAt": 900, "buckets": 4, "downloads": 4, "bucketsLeft": \(left), \
        "operations": 70, "bytes": 800, "activity": "\(activity)", "activeSince": 958}
        """
    }

    @Test func aServiceInOrderIsShownLineByLine() throws {
        let clients = [Self.client("anna"), Self.client("bert", activity: "waitingForClient", left: 2)]
        let report = try Self.report(
            "{\(Self.source), \"active_sync_rules\": \(Self.stream), \"service\": \(Self.service(clients: clients))}"
        )
        #expect(report.isInOrder)
        #expect(
            report.lines == [
                "source    PostgreSQL app at db:5432 as powersync, connected",
                "active    stream 3, ACTIVE, slot powersync_3_a, tables 2, 17 bytes behind, "
                    + "last checkpoint 2026-11-23T10:00:00Z",
                "          warning: no primary key",
                "storage   files 1 MiB, operations 200 KiB, parameter indexes 10 KiB, rows 50 KiB, buckets 12",
                "clients   2 open streams, users 1",
                "          user anna, buckets 4, sent 70 operations, up to date for 42 s",
                "          user bert, buckets 4, sent 70 operations, waiting for the client to read for 42 s, "
                    + "2 buckets to download",
            ]
        )
    }

    @Test func theVersionOfTheConfigIsShown() throws {
        for (label, shown) in [("release 7", "release 7"), (#"a\nb"#, #"a\nb"#)] {
            let stream = Self.stream.replacing("\"state\"", with: "\"version_label\": \"\(label)\", \"state\"")
            let report = try Self.report("{\"active_sync_rules\": \(stream)}")
            #expect(report.lines.first?.hasPrefix("active    stream 3, ACTIVE, version \(shown), slot ") == true)
        }
    }

    @Test func rowsWithoutAnIDAreCounted() throws {
        let counts = #""transactions": 3, "rowsWithoutID": {"public.links": 50, "main.a": 1}"#
        let service = Self.service(clients: []).replacing(#""transactions": 3"#, with: counts)
        let report = try Self.report("{\"service\": \(service)}")
        #expect(report.isInOrder)
        #expect(report.lines.contains("rows      left out, because they have no id: main.a 1, public.links 50"))
        #expect(report.lines.contains("          warning: their queries need one, such as `a || '-' || b AS id`"))
    }

    @Test func aCopyIsShown() throws {
        let stream = """
            {"id": 1, "state": "PROCESSING", "slot": "s", "isCopied": false, "tables": 3, "copiedTables": 1, "copy": \
            {"table": "public.lists", "rows": 120000, "tables": 2, "copiedTables": 0}}
            """
        let service = Self.service(clients: []).replacing(#""streams": []"#, with: "\"streams\": [\(stream)]")
        let report = try Self.report("{\"service\": \(service)}")
        #expect(report.isInOrder)
        #expect(report.lines.contains("copying   public.lists: 120000 rows so far, table 1 of 2"))
    }

    @Test(arguments: [(0, "0"), (1_199, "0"), (60_000, "50"), (120_000, "99"), (240_000, "99")])
    func ofATableWithAKnownSizeTheShareIsShown(rows: Int, percent: String) throws {
        let stream = """
            {"id": 1, "state": "PROCESSING", "slot": "s", "isCopied": false, "tables": 1, "copiedTables": 0, "copy": \
            {"table": "public.lists", "rows": \(rows), "estimatedRows": 120000, "tables": 1, "copiedTables": 0}}
            """
        let service = Self.service(clients: []).replacing(#""streams": []"#, with: "\"streams\": [\(stream)]")
        let report = try Self.report("{\"service\": \(service)}")
        #expect(
            report.lines.contains(
                "copying   public.lists: \(rows) rows so far, about \(percent) % of it, table 1 of 1"
            ),
            "\(report.lines)"
        )
    }

    @Test func aLargeTransactionIsShown() throws {
        let open = #""transactions": 3, "openTransaction": {"changes": 250000, "committedAt": 1000}"#
        let service = Self.service(clients: []).replacing(#""transactions": 3"#, with: open)
        let report = try Self.report("{\"service\": \(service)}")
        #expect(report.isInOrder)
        #expect(
            report.lines.contains {
                $0.hasPrefix("reading   a large transaction, committed ")
                    && $0.hasSuffix(" s ago: 250000 changes so far, shown when it is complete")
            }
        )
    }

    @Test func oneOfAThingIsNotSeveral() throws {
        let stream = """
            {"id": 1, "state": "PROCESSING", "slot": "s", "isCopied": false, "tables": 1, "copiedTables": 0, "copy": \
            {"table": "lists", "rows": 1, "tables": 1, "copiedTables": 0}}
            """
        let client = Self.client("anna", left: 1).replacing(#""operations": 70"#, with: #""operations": 1"#)
        let service = Self.service(clients: [client])
            .replacing(#""streams": []"#, with: "\"streams\": [\(stream)]")
            .replacing(
                #""transactions": 3"#,
                with: #""transactions": 3, "openTransaction": {"changes": 1, "committedAt": 1000}"#
            )
        let behind = Self.stream.replacing(#""replication_lag_bytes": 17"#, with: #""replication_lag_bytes": 1"#)
        let lines = try Self.report("{\"active_sync_rules\": \(behind), \"service\": \(service)}").lines
        for words in [
            "1 byte behind,", "lists: 1 row so far, table 1 of 1", ": 1 change so far, shown", "1 open stream, users 1",
            "sent 1 operation, ", ", 1 bucket to download",
        ] {
            #expect(lines.contains { $0.contains(words) }, "\(words): \(lines)")
        }
        #expect(!lines.contains { $0.contains(/\b1 (open )?[a-z]+s\b/) }, "\(lines)")
    }

    @Test(
        arguments: [
            ("opening", "opening"), ("reading", "reading"), ("sending", "sending"),
            ("waitingForSlot", "waiting for a slot to read"), ("waitingForMemory", "waiting for memory"),
        ]
    )
    func everyActivityHasWords(activity: String, words: String) throws {
        let service = Self.service(clients: [Self.client("a", activity: activity)])
        let report = try Self.report("{\"service\": \(service)}")
        #expect(report.lines.last?.hasSuffix("\(words) for 42 s") == true, "\(report.lines)")
    }

    @Test func whatIsFatalIsNotInOrder() throws {
        let fatal = #"{"level": "fatal", "message": "No replicated commit"}"#
        let broken = Self.stream.replacing(
            #""state": "ACTIVE", "errors": []"#,
            with: #""state": "X", "errors": [\#(fatal)]"#
        )
        for text in [
            "{\"active_sync_rules\": \(broken)}", "{\"rejected_sync_rules\": {\"errors\": [\(fatal)]}}",
            "{\"connections\": [{\"connected\": false, \"errors\": [\(fatal)]}]}",
        ] {
            let report = try Self.report(text)
            #expect(!report.isInOrder)
            #expect(report.lines.contains("          fatal: No replicated commit"), "\(report.lines)")
        }
        let storage =
            #""problems": ["The bucket storage cannot be written"], "compaction": {"isRunning": false, "error": "x"}"#
        let report = try Self.report("{\"service\": \(Self.service(clients: [], storage: storage))}")
        #expect(!report.isInOrder)
        #expect(report.lines.contains("          fatal: The bucket storage cannot be written"))
        #expect(report.lines.contains("          warning: compaction failed: x"))
    }

    @Test func withoutASyncConfigClientsGetAnError() throws {
        let report = try Self.report("{\(Self.source)}")
        #expect(report.lines.last == "active    no sync config: clients get PSYNC_S2302")
    }

    @Test func aStorageThatDoesNotAnswerIsNotInOrder() throws {
        let storage = #""storage": {"errors": [{"level": "fatal", "message": "no connection"}]}"#
        let report = try Self.report("{\(Self.source), \(storage)}")
        #expect(!report.isInOrder)
        // What is active, nobody knows.
        #expect(
            report.lines == [
                "source    PostgreSQL app at db:5432 as powersync, connected", "storage   cannot be looked at:",
                "          fatal: no connection",
            ]
        )
        let known = try Self.report("{\"active_sync_rules\": \(Self.stream), \(storage)}")
        #expect(known.lines.contains { $0.hasPrefix("active    stream 3") })
    }

    @Test func aProcessThatDoesNotCompactSaysNothingOfIt() throws {
        let service = Self.service(clients: [], storage: #""problems": []"#)
        let report = try Self.report("{\"service\": \(service)}")
        #expect(report.isInOrder)
        #expect(report.lines.contains { $0.hasPrefix("storage   files 1 MiB") }, "\(report.lines)")
    }

    @Test func aCopyInProgressIsSaid() throws {
        let stream = Self.stream.replacing(
            #""initial_replication_done": true"#,
            with: #""initial_replication_done": false"#
        )
        let report = try Self.report("{\"deploying_sync_rules\": \(stream)}")
        #expect(report.lines.contains { $0.hasPrefix("deploying stream 3") && $0.contains("being copied") })
    }

    @Test func manyClientsAreCounted() throws {
        let clients = (0..<30).map { Self.client("u\($0)") }
        let report = try Self.report("{\"service\": \(Self.service(clients: clients, streams: 500))}")
        #expect(report.lines.filter { $0.contains("user u") }.count == 20)
        #expect(report.lines.last == "          and 480 more")
    }

    @Test func namesOfUsersDoNotReachTheTerminal() throws {
        let service = Self.service(clients: [Self.client(#"a\u001b[31m\u202eb\n"#)])
        let report = try Self.report("{\"service\": \(service)}")
        #expect(report.lines.last?.contains("user a[31mb, ") == true, "\(report.lines)")
    }

    @Test func aServiceOfAnotherVersionIsNotGuessedAt() throws {
        let report = try Self.report(#"{"service": {"time": "later"}}"#)
        #expect(report.isInOrder)
        #expect(report.lines.last == "service   of another version: powersync status of that version tells more")
    }

    @Test func theCertificateIsShown() throws {
        let tls =
            #"{"certificate": "c.pem", "not_after": "2027-01-01T00:00:00Z", "errors": [{"level": "warning", "message": "w"}]}"#
        let report = try Self.report("{\"service\": {\"tls\": \(tls)}}")
        #expect(report.lines.contains("tls       c.pem, valid until 2027-01-01T00:00:00Z"))
        #expect(report.lines.contains("          warning: w"))
    }
}
