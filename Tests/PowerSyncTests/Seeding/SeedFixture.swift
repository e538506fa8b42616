import Foundation
import PowerSyncCore
import PowerSyncCoreTestSupport
import PowerSyncTesting
import TestSupport

@testable import PowerSyncClient

/// A seed of a user in a folder, made of a file that a scripted service has synced, and databases that begin with it.
struct SeedFixture {
    static let user = "anna"
    static let schema = Schema(
        Table(name: "lists", columns: [.text("name")]),
        Table(name: "drafts", columns: [.text("text")], localOnly: true)
    )

    let folder: TemporaryFolder
    /// The seed, with the rows a1 to a3 of the bucket `a`.
    let path: String

    /// Makes the seed.
    init(schema: Schema = SeedFixture.schema) async throws {
        folder = try TemporaryFolder()
        path = folder.path("seed.db")
        var maker = SeedMaker(endpoint: "https://sync.test", token: Self.token(of: Self.user), output: path)
        maker.timeout = .seconds(1)
        let harness = SyncHarness(path: maker.unfinished, schema: Schema(tables: []))
        let stream = try await harness.connectAndAccept()
        stream.send(
            .checkpoint(3, [.bucket("a", count: 3)]),
            .put("a", 1...2),
            .row("a", 3, "other", "o1", #"{"text":"of no table"}"#),
            .done
        )
        try await harness.wait { $0.hasSynced == true }
        try await harness.database.close()
        let seed = Seed(salt: "salt", user: Seed.hash(ofUser: Self.user, salt: "salt"), service: "https://sync.test")
        _ = try maker.finish(seed, ClientSchema())
    }

    /// A token of a user, which nobody has signed.
    static func token(of user: String) -> String {
        let payload = Data(#"{"sub":"\#(user)"}"#.utf8).base64EncodedString().replacing("=", with: "")
        return "eyJhbGciOiJub25lIn0.\(payload).c2lnbmF0dXJl"
    }

    /// A database with a name in the folder, which is not opened.
    func database(
        _ name: String,
        seed: String? = nil,
        user: String? = nil,
        schema: Schema = SeedFixture.schema
    ) -> any PowerSyncDatabaseProtocol {
        PowerSyncDatabase(
            schema: schema,
            dbFilename: folder.path(name),
            logger: DefaultLogger(writers: []),
            seedFile: URL(filePath: seed ?? path),
            seedUser: user
        )
    }

    /// Makes the file of a name a copy of the seed, and gives a harness over it whose token is that of a user.
    func harness(_ name: String, user: String?) async throws -> SyncHarness {
        let database = database(name)
        try await database.waitForReady()
        try await database.close()
        let harness = SyncHarness(path: folder.path(name), schema: Self.schema)
        let token = user.map(Self.token) ?? "opaque"
        harness.connector.onFetch { _ in PowerSyncCredentials(endpoint: "https://sync.test", token: token) }
        return harness
    }

    /// The names of the files in the folder that begin with a text.
    func files(_ prefix: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.hasPrefix(prefix) }.sorted()
    }
}

extension PowerSyncDatabaseProtocol {
    /// The ids of the lists.
    func listIDs() async throws -> [String] {
        try await getAll("SELECT id FROM lists ORDER BY id") { try $0.getString(index: 0) }
    }
}
