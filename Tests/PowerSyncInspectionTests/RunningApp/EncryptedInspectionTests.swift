import Foundation
import PowerSync
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncInspection

/// What a running app tells of an encrypted database, over SQLCipher: `scripts/test-sqlite sqlcipher`.
@Suite(.enabled(if: TestedCipher.isThere), .timeLimit(.minutes(1))) struct EncryptedInspectionTests {
    private static let passphrase = "correct horse battery staple"

    @Test func anAppWithAnEncryptedFileAnswersAndKeepsItsKey() async throws {
        let fixture = try await RunningAppFixture { try .passphrase(Self.passphrase) }
        try fixture.service.put("lists", ["id": "l9", "owner_id": "u1", "name": "Zanzibar"])
        try await fixture.service.waitUntilSynced(fixture.database)
        try await fixture.whileListening {
            let document = try await fixture.lines("--json")
            let status = try JSONObject(parsing: try #require(document.first))
            #expect(status["isConnected"] == true && status["bucketCount"] == 1)
            let rows = try await fixture.lines("--sql", "SELECT id, name FROM lists WHERE id = 'l9'")
            #expect(rows == ["  id  name", "  l9  Zanzibar", "1 row"])
            // Neither a statement nor a setting tells the key.
            for sql in ["PRAGMA key", "PRAGMA cipher_settings", "SELECT * FROM pragma_database_list"] {
                let answer = await Result { try await fixture.lines("--sql", sql) }
                #expect(!"\(answer)".contains(Self.passphrase), "\(sql)")
            }
            let everything = try await fixture.lines("--sql", "SELECT key, value FROM ps_kv")
            #expect(!(everything + document).joined().contains(Self.passphrase))
            // In none of the files beside it, and the log has the newest rows.
            for name in try FileManager.default.contentsOfDirectory(atPath: fixture.folder.url.path)
            where name.hasPrefix("app.db") {
                let content = try Data(contentsOf: fixture.folder.url.appending(path: name))
                #expect(content.range(of: Data("Zanzibar".utf8)) == nil, "\(name)")
            }
        }
        try await fixture.database.close()
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
