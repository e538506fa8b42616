import Foundation
import GRDB
import PowerSync
import PowerSyncTesting
import Testing

@testable import PowerSyncInspection

/// What is said about files that are as they should be.
@Suite(.timeLimit(.minutes(1))) struct InspectionTests {
    @Test func aSyncedFileHasNoFindings() async throws {
        let fixture = try await ClientFileFixture()
        let report = try fixture.report()
        #expect(report.findings == [])
        #expect(report.schemaVersion == 14)
        #expect(report.clientID.flatMap { UUID(uuidString: $0) } != nil)
        #expect(report.gate.state == .open)
        #expect(report.lastSynced.count == 1 && report.lastSynced.first?.priority == nil)
        // In front of it is the number of the deployed config.
        let names = report.buckets.map { $0.name.drop { $0 != "#" } }
        #expect(names.sorted() == [##"#lists|0["u1"]"##, ##"#todos|0["l1"]"##])
        #expect(report.buckets.map(\.operations).sorted() == [1, 2])
        #expect(report.buckets.allSatisfy { $0.isIntact == true && $0.lastOp == $0.lastAppliedOp && $0.lastOp > 0 })
        #expect(report.tables.map(\.name) == ["lists", "todos", "notes"])
        #expect(report.tables.map(\.rows) == [2, 1, 1])
        #expect(report.tables.map(\.isLocalOnly) == [false, false, true])
        #expect(report.subscriptions.map(\.stream).sorted() == ["lists", "todos"])
        let todos = try #require(report.subscriptions.first { $0.stream == "todos" })
        #expect(todos.parameters == #"{"list":"l1"}"# && todos.secondsToLive == 60 && todos.isActive)
        #expect(todos.lastSyncedAt != nil)
        #expect(report.lines.suffix(2) == ["findings", "  none"])
    }

    @Test func directTablesAreComparedWithTheirOperations() async throws {
        let service = try FakeService(
            streams: "config: {edition: 3}\nstreams: {all: {auto_subscribe: true, query: SELECT * FROM lists}}"
        )
        try service.put("lists", ["id": "l1", "name": "Home"])
        let schema = Schema(
            Table(name: "lists", columns: [.text("name")], direct: true),
            Table(name: "notes", columns: [.text("text")], localOnly: true, direct: true)
        )
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).db").path
        let database = PowerSyncDatabase(schema: schema, dbFilename: path, logger: DefaultLogger(writers: []))
        try await database.connect(connector: service.connector(user: "u"), options: nil)
        try await service.waitUntilSynced(database)
        try await database.execute("INSERT INTO notes (id, text) VALUES ('n', 'x')")
        try await database.close()
        let report = try Inspection.report(of: ClientFile(path: path), showsRows: false, now: Date())
        #expect(report.tables.map(\.name) == ["lists", "notes"])
        #expect(report.tables.map(\.rows) == [1, 1])
        #expect(report.tables.map(\.isDirect) == [true, true])
        #expect(report.tables.map(\.isLocalOnly) == [false, true])
        #expect(report.tables.map(\.missingRows) == [0, nil])
        #expect(report.tables.map(\.unexplainedRows) == [0, nil])
        #expect(report.findings == [])
    }

    @Test func subscriptionsExpire() async throws {
        let fixture = try await ClientFileFixture()
        let report = try fixture.report(now: Date(timeIntervalSinceNow: 3600))
        #expect(report.codes(.notice) == ["expired-subscriptions"])
    }

    @Test func writesThatWaitAreShownWithoutTheirValues() async throws {
        let fixture = try await ClientFileFixture { database, service in
            try await service.during(.offline) {
                try await database.writeTransaction { transaction in
                    try transaction.execute(sql: "UPDATE lists SET name = 'Hidden' WHERE id = 'l1'", parameters: [])
                    try transaction.execute(sql: "DELETE FROM todos WHERE id = 't1'", parameters: [])
                }
                try await database.execute("INSERT INTO todos(id, title) VALUES ('t2', 'Hidden')")
                try await database.disconnect()
            }
        }
        let report = try fixture.report()
        #expect(!report.isDamaged)
        #expect(report.codes(.notice).contains("uploads"))
        #expect(report.gate.state == .uploads)
        #expect(report.uploadQueue.writes == 3 && report.uploadQueue.bytes > 0)
        #expect(report.uploadQueue.first.map(\.operation) == ["PATCH", "DELETE", "PUT"])
        #expect(report.uploadQueue.first.map(\.row) == ["l1", "t1", "t2"])
        #expect(Set(report.uploadQueue.first.map(\.transaction)).count == 2)
        #expect(report.uploadQueue.newest?.row == "t2")
        let text = report.lines.joined(separator: "\n")
        #expect(text.contains("PATCH lists/l1") && text.contains("held back: local writes wait for their upload"))
        #expect(!text.contains("Hidden") && !text.contains("Secret"))
        #expect(try !report.json().contains("Hidden"))

        let open = try fixture.report(showsRows: true)
        #expect(open.lines.joined(separator: "\n").contains(#""data":{"name":"Hidden"}"#))
    }

    @Test func uploadsThatAreNotAcknowledgedHoldBackCheckpoints() async throws {
        let fixture = try await ClientFileFixture()
        try fixture.tamper(
            """
            INSERT OR REPLACE INTO ps_kv(key, value) VALUES ('target_checkpoint_request_id', 9);
            INSERT OR REPLACE INTO ps_kv(key, value) VALUES ('last_seen_checkpoint_request_id', '7');
            UPDATE ps_buckets SET last_op = last_op + 1 WHERE id = 1;
            """
        )
        let report = try fixture.report()
        #expect(report.gate.state == .acknowledgement && report.gate.target == 9 && report.gate.seen == 7)
        #expect(report.codes(.notice) == ["acknowledgement", "unpublished"])
        try fixture.tamper("UPDATE ps_kv SET value = \(Int64.max) WHERE key = 'target_checkpoint_request_id'")
        let unasked = try fixture.report()
        #expect(unasked.gate.state == .writeCheckpoint && unasked.gate.target == nil)
        #expect(unasked.codes(.notice) == ["write-checkpoint", "unpublished"])
    }

    @Test func rejectedAndParkedWritesAreListed() async throws {
        let fixture = try await ClientFileFixture { database, _ in
            try await database.disconnect()
            try await database.execute("UPDATE lists SET name = 'Hidden' WHERE id = 'l1'")
            try await database.execute("UPDATE lists SET name = 'Hidden, too' WHERE id = 'l2'")
            let batch = try #require(try await database.getCrudBatch())
            try await batch.complete(rejecting: batch.crud.map { UploadRejection($0, reason: "too late") })
        }
        try fixture.tamper(
            """
            CREATE TABLE powersync_swift_parked_writes(id INTEGER PRIMARY KEY, type TEXT, row_id TEXT, waits INTEGER);
            INSERT INTO powersync_swift_parked_writes SELECT id, 'lists', 'l2', 0 FROM powersync_swift_rejected_writes
            WHERE data LIKE '%l2%';
            """
        )
        let report = try fixture.report()
        #expect(report.rejectedWrites.map(\.kind) == [.skipped, .parked])
        #expect(report.rejectedWrites.map(\.write.row) == ["l1", "l2"])
        #expect(report.rejectedWrites.allSatisfy { $0.reason == "too late" && $0.at != nil })
        #expect(Set(report.codes(.notice)).isSuperset(of: ["parked-writes", "rejected-writes"]))
        #expect(try !report.json().contains("Hidden"))
    }

    @Test func aFileThatNeverSyncedSaysSo() async throws {
        let fixture = try await ClientFileFixture { database, _ in try await database.disconnectAndClear() }
        let report = try fixture.report()
        #expect(report.codes(.damage) == [])
        #expect(report.message("never-synced")?.contains("connect()") == true)
        #expect(report.lines.contains("last synced     never"))
    }

    @Test(arguments: 1...13)
    func filesOfOldVersions(_ version: Int) async throws {
        let fixture = try await ClientFileFixture { database, service in
            try await service.during(.offline) {
                try await database.execute("UPDATE lists SET name = 'Hidden' WHERE id = 'l1'")
                try await database.disconnect()
                try await database.writeTransaction { transaction in
                    try transaction.get(sql: "SELECT powersync_test_migration(?)", parameters: [version]) { _ in }
                }
            }
        }
        let report = try fixture.report()
        #expect(report.schemaVersion == version)
        #expect(report.codes(.damage) == [], "\(report.findings)")
        #expect(Set(report.codes(.notice)).isSuperset(of: ["uploads", "old-version"]))
        #expect(report.gate.state == .uploads)
        #expect(report.uploadQueue.first.map(\.table) == ["lists"])
        #expect((report.uploadQueue.first.first?.transaction != nil) == (version >= 2))
        #expect((report.clientID != nil) == (version >= 3))
        #expect(report.buckets.count == 2 && report.buckets.map(\.operations).sorted() == [1, 2])
        #expect(report.buckets.allSatisfy { $0.isIntact == (version >= 4 ? true : nil) })
        #expect(report.subscriptions.isEmpty == (version < 11))
        #expect(report.lastSynced.isEmpty == (version < 3))
        for time in report.lastSynced.map(\.at) + report.subscriptions.compactMap(\.lastSyncedAt) {
            #expect(abs(time.timeIntervalSinceNow) < 3600)
        }
    }

    @Test func everyFindingIsOnThePage() throws {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
        let source = try String(
            contentsOf: root.appending(path: "Sources/PowerSyncInspection/DatabaseReport+Findings.swift"),
            encoding: .utf8
        )
        let page = try String(contentsOf: root.appending(path: "docs/inspect.md"), encoding: .utf8)
        let codes = source.matches(of: #/found\.add\(\s*"(?<code>[a-z-]+)"/#).map { $0.output.code }
        #expect(codes.count == 25)
        for code in codes { #expect(page.contains("`\(code)`"), "\(code)") }
    }

    @Test func theDocumentForToolsHasTheDocumentedMembers() async throws {
        let fixture = try await ClientFileFixture()
        let json = try fixture.report().json()
        let document = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        #expect(
            Set(document.keys) == [
                "format", "inspectedAt", "file", "schemaVersion", "clientID", "lastSynced", "gate", "buckets",
                "strayOperations", "repeatedKeys", "updatedRows", "uploadQueue", "rejectedWrites", "subscriptions",
                "tables",
                "untypedRows", "missingObjects", "unreadable", "sqliteProblems", "uncheckedTables", "findings",
            ]
        )
        #expect(document["format"] as? Int == 1)
    }
}
