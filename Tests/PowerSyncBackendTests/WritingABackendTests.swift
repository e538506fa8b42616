import GRDB
import Hummingbird
import HummingbirdTesting
import NIOCore
import PowerSyncBackend
import PowerSyncUpload
import TestSupport
import Testing

/// The page "Writing a backend".
@Suite(.timeLimit(.minutes(1))) struct WritingABackendTests {
    @Test func itsBackendLetsUsersWriteWhatIsTheirs() async throws {
        let folder = try TemporaryFolder()
        let database = try DatabasePool(path: folder.path("app.db"))
        try await database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE lists (id TEXT PRIMARY KEY, owner_id TEXT, name TEXT);
                    CREATE TABLE todos (id TEXT PRIMARY KEY, list_id TEXT, title TEXT);
                    CREATE TABLE secrets (id TEXT PRIMARY KEY);
                    INSERT INTO lists VALUES ('hers', 'berta', 'Work');
                    INSERT INTO lists VALUES ('5', 'berta', 'Fifth');
                    INSERT INTO lists VALUES ('double', '\u{212a}im', 'Of another user');
                    INSERT INTO todos VALUES ('hers', 'hers', 'Call');
                    INSERT INTO todos VALUES ('stray', NULL, 'Lost');
                    """
            )
        }
        let key = SigningKey.eddsa(id: "k").jwk
        let router = Router()
        try addRoutes(to: router, database, key: key)
        let signer = SyncTokenSigner(key: try SigningKey(jwk: key), audience: "https://sync.example.com")
        let token = try signer.token(userID: "anna").text
        let kim = try signer.token(userID: "Kim").text

        func entry(_ op: UpdateType, _ table: String, _ id: String, _ data: JsonParam?) -> UploadEntry {
            UploadEntry(operationID: 1, op: op, table: table, id: id, data: data)
        }
        let writes: [(UploadEntry, Int)] = [
            (entry(.put, "lists", "own", ["name": .string("Mine"), "owner_id": .string("berta")]), 0),
            (entry(.patch, "lists", "hers", ["name": .string("Mine")]), 403),
            (entry(.delete, "lists", "hers", nil), 403),
            (entry(.put, "todos", "own", ["list_id": .string("own")]), 0),
            (entry(.put, "todos", "new", ["list_id": .string("hers")]), 403),
            (entry(.patch, "todos", "hers", ["list_id": .string("own")]), 403),
            (entry(.patch, "todos", "own", ["list_id": .string("hers")]), 403),
            // A column of texts makes '5' of the number.
            (entry(.put, "todos", "new", ["list_id": .int(5)]), 403),
            (entry(.patch, "todos", "own", ["list_id": .int(5)]), 403),
            (entry(.patch, "todos", "own", ["list_id": .null]), 403),
            (entry(.put, "todos", "new", ["title": .string("In no list")]), 403),
            (entry(.put, "todos", "new", nil), 403),
            (entry(.patch, "todos", "stray", ["title": .string("Mine")]), 403),
            (entry(.patch, "todos", "stray", ["list_id": .string("own")]), 403),
            (entry(.delete, "todos", "stray", nil), 403),
            (entry(.put, "todos", "own", ["title": .string("Still there")]), 0),
            // There is nothing left to change.
            (entry(.patch, "todos", "gone", ["title": .string("Late")]), 0),
            (entry(.delete, "todos", "gone", nil), 0),
            (entry(.put, "secrets", "x", nil), 403),
        ]
        // The list is of a user who is another one for SQL, and the same for Swift's texts.
        let writesOfKim: [(UploadEntry, Int)] = [
            (entry(.patch, "lists", "double", ["name": .string("Mine")]), 403),
            (entry(.put, "todos", "double", ["list_id": .string("double")]), 403),
        ]
        try await Application(router: router).test(.router) { client in
            for (token, entry, status) in writes.map({ (token, $0.0, $0.1) }) + writesOfKim.map({ (kim, $0.0, $0.1) }) {
                let body = ByteBuffer(bytes: UploadRequest(clientID: nil, entries: [entry]).json)
                try await client.execute(
                    uri: "/upload",
                    method: .post,
                    headers: [.authorization: "Bearer \(token)"],
                    body: body
                ) { response in
                    let answer = try UploadResponse(json: Array(buffer: response.body))
                    #expect(answer.rejections.first?.status ?? 0 == status, "\(entry)")
                }
            }
        }
        let owner = try await database.read { db in
            try String.fetchOne(db, sql: "SELECT owner_id FROM lists WHERE id = 'own'")
        }
        #expect(owner == "anna")
    }
}
