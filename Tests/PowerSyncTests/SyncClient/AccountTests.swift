import Foundation
import PowerSyncCoreTestSupport
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// A file that belongs to an account, and signing out.
@Suite(.timeLimit(.minutes(1))) struct AccountTests {
    private let harness = SyncHarness()
    private var database: any PowerSyncDatabaseProtocol { harness.database }

    private static func token(_ claims: String) -> String {
        let payload = Data(claims.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        return "eyJhbGciOiJub25lIn0.\(payload).c2lnbmF0dXJl"
    }

    private func connect(_ account: String?, ifAnother policy: OtherAccountPolicy = .refuse) async throws {
        try await database.connect(connector: harness.connector, account: account, ifAnother: policy)
    }

    private func expectRefusal(
        _ code: PowerSyncErrorCode,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () async throws -> Void
    ) async {
        let error = await #expect(throws: PowerSyncError.self, sourceLocation: sourceLocation) { try await body() }
        #expect(error?.code == code, sourceLocation: sourceLocation)
    }

    @Test func theFirstAccountHasTheFileUntilItIsCleared() async throws {
        try await connect("anna")
        _ = try await harness.acceptNext()
        try await database.disconnect()
        try await connect("anna")
        _ = try await harness.acceptNext()
        // Spelt otherwise is another one.
        for account in ["bert", "Anna", "anna "] {
            await expectRefusal(.otherAccount) { try await connect(account) }
        }
        #expect(database.currentStatus.connected, "a refusal leaves the connection")
        try await database.disconnectAndClear()
        try await connect("bert")
        _ = try await harness.acceptNext()
        await expectRefusal(.otherAccount) { try await connect("anna") }
    }

    @Test func aSoftClearKeepsTheAccountWithTheData() async throws {
        try await connect("anna")
        _ = try await harness.acceptNext()
        try await database.disconnectAndClear(clearLocal: false, soft: true)
        await expectRefusal(.otherAccount) { try await connect("bert") }
        try await connect("anna")
        _ = try await harness.acceptNext()
    }

    @Test func anotherAccountClearsWhatNeedNotBeSent() async throws {
        try await connect("anna")
        let stream = try await harness.acceptNext()
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(try await harness.lists() == ["a1": "remote"])
        try await connect("bert", ifAnother: .clear)
        _ = try await harness.acceptNext()
        #expect(try await harness.lists() == [:])
        #expect(database.currentStatus.hasSynced != true)

        try await database.disconnect()
        try await harness.insert("x")
        await expectRefusal(.writesNotUploaded) { try await connect("anna", ifAnother: .clear) }
        #expect(try await harness.lists() == ["x": "local"])
        await expectRefusal(.otherAccount) { try await connect("anna") }
        try await connect("anna", ifAnother: .clear(discardingUnsent: true))
        _ = try await harness.acceptNext()
        #expect(try await harness.lists() == [:])
        #expect(try await database.getUploadQueueStats(includeSize: false).count == 0)
    }

    @Test func withoutAnAccountItIsTheSubjectOfTheToken() async throws {
        func hasToken(_ token: String?) {
            harness.connector.onFetch { _ in
                token.map { PowerSyncCredentials(endpoint: "https://sync.test", token: $0) }
            }
        }
        hasToken(Self.token(#"{"sub":"anna"}"#))
        try await connect(nil)
        _ = try await harness.acceptNext()
        try await connect("anna")
        _ = try await harness.acceptNext()
        hasToken(Self.token(#"{"sub":"bert"}"#))
        await expectRefusal(.otherAccount) { try await connect(nil) }
        for token in ["opaque", Self.token("{}"), Self.token(#"{"sub":7}"#), Self.token(#"{"sub":""}"#)] {
            hasToken(token)
            await expectRefusal(.invalidArgument) { try await connect(nil) }
        }
        hasToken(nil)
        await expectRefusal(.connectorFailed) { try await connect(nil) }
        harness.connector.onFetch { _ in throw ScriptedError() }
        await #expect(throws: ScriptedError.self) { try await connect(nil) }
        await expectRefusal(.invalidArgument) { try await connect("") }
    }

    @Test func theFileDoesNotSayWhoItIs() async throws {
        try await connect("anna@example.com")
        _ = try await harness.acceptNext()
        let values = try await database.getAll("SELECT key || '=' || value FROM ps_kv") { try $0.getString(index: 0) }
        #expect(values.contains { $0.hasPrefix("swift_account=") })
        #expect(!values.contains { $0.contains("anna") })
    }

    // MARK: Signing out

    @Test func signingOutLosesNothingUnasked() async throws {
        let stream = try await harness.connectAndAccept(ConnectOptions(crudThrottle: 0))
        harness.connector.onUpload { _, _ in throw ScriptedError() }
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.wait { $0.hasSynced == true }
        try await harness.insert("x")
        try await harness.insert("y")
        let error = await #expect(throws: PowerSyncError.self) { try await database.signOut() }
        #expect(error?.code == .writesNotUploaded)
        #expect(error?.localizedDescription.contains("2 local writes wait") == true)
        #expect(database.currentStatus.connected, "what waits may still be uploaded")
        #expect(try await harness.lists().count == 3)
        #expect(try await database.signOut(SignOutOptions(discardsUnsentWrites: true)) == 2)
        #expect(!database.currentStatus.connected)
        #expect(try await harness.lists() == [:])
        #expect(try await database.signOut() == 0)
    }

    @Test func tablesOfTheAppAreEmptiedInTheSameTransaction() async throws {
        try await database.execute("CREATE TABLE drafts (id INTEGER PRIMARY KEY, text)")
        try await database.execute(#"CREATE TABLE "odd "" name" (id)"#)
        // What a trigger would write is no local write of the next user.
        try await database.execute(
            "CREATE TRIGGER t AFTER DELETE ON drafts BEGIN INSERT INTO lists (id, name) VALUES ('t', old.text); END"
        )
        try await database.execute("INSERT INTO drafts (text) VALUES ('mine')")
        try await database.execute(#"INSERT INTO "odd "" name" VALUES (1)"#)
        let count = { @Sendable [database] in
            try await database.get(#"SELECT (SELECT count(*) FROM drafts) + (SELECT count(*) FROM "odd "" name")"#) {
                try $0.getInt(index: 0)
            }
        }
        for name in ["missing", "lists", "ps_crud", "PS_oplog", "ps_data__lists", "sqlite_schema"] {
            await expectRefusal(.invalidArgument) {
                try await database.signOut(SignOutOptions(tables: ["drafts", name]))
            }
        }
        #expect(try await count() == 2)
        try await database.signOut(SignOutOptions(tables: ["Drafts", #"odd " name"#]))
        #expect(try await count() == 0)
        #expect(try await database.getUploadQueueStats(includeSize: false).count == 0)
    }

    @Test(arguments: [true, false])
    func rejectedWritesStayWhereTheAppWantsThem(areKept: Bool) async throws {
        try await harness.insert("x")
        let batch = try #require(try await database.getCrudBatch())
        try await batch.complete(rejecting: batch.crud.map { UploadRejection($0, reason: "no") })
        try await database.signOut(SignOutOptions(keepsRejectedWrites: areKept))
        #expect(try await database.rejectedWrites().count == (areKept ? 1 : 0))
    }

    @Test(arguments: [true, false])
    func localTablesStayWhereTheAppWantsThem(areCleared: Bool) async throws {
        let schema = Schema(Table(name: "settings", columns: [.text("value")], localOnly: true))
        try await database.updateSchema(schema: schema)
        try await database.execute("INSERT INTO settings (id, value) VALUES ('a', 'b')")
        try await database.signOut(SignOutOptions(clearsLocalTables: areCleared))
        let ids = try await database.getAll("SELECT id FROM settings") { try $0.getString(index: 0) }
        #expect(ids.isEmpty == areCleared)
    }
}
