import Foundation
import GRDB
import PowerSync
import PowerSyncCoreTestSupport
import PowerSyncGRDB
import PowerSyncTesting
import Testing

/// A pool of an app to an encrypted file, over SQLCipher: `scripts/test-sqlite sqlcipher`.
@Suite(.enabled(if: TestedCipher.isThere), .timeLimit(.minutes(1))) struct EncryptedPoolTests {
    /// In no file that SQLite itself makes.
    private static let marker = "Zanzibar"

    private func harness() throws -> PoolHarness {
        try PoolHarness { configuration in
            configuration.prepareDatabase { db in
                try db.execute(sql: "PRAGMA key = \"x'\(String(repeating: "5a", count: 32))'\"")
            }
            try configuration.configurePowerSync(schema: PoolHarness.schema)
        }
    }

    /// The files of the database that have a text.
    private func files(with text: String, _ harness: PoolHarness) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: harness.folder.path).filter { name in
            try Data(contentsOf: harness.folder.appending(path: name)).range(of: Data(text.utf8)) != nil
        }
    }

    @Test func whatTheAppWritesAndWhatIsSyncedIsEncrypted() async throws {
        let harness = try harness()
        let connector = QueueConnector()
        let stream = try await harness.connect(connector)
        stream.send(Line.checkpoint(1), Line.put(1, "lists", "r", #"{"name":"\#(Self.marker) synced"}"#), .done)
        try await harness.database.waitForFirstSync()
        try await harness.pool.write { try List(id: "l", name: "\(Self.marker) written").insert($0) }
        await connector.wait(for: 1)
        let names = try await harness.pool.read { try List.order(Column("id")).fetchAll($0).map(\.name) }
        #expect(names == ["\(Self.marker) written", "\(Self.marker) synced"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: harness.folder.path).contains("app.db-wal"))
        for text in [Self.marker, "ps_crud", "SQLite format"] {
            #expect(try files(with: text, harness).isEmpty, "\(text)")
        }
        try await harness.database.close()
        #expect(try files(with: Self.marker, harness).isEmpty)
    }
}
