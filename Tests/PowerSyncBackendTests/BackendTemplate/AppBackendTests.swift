import Foundation
import GRDB
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import PowerSyncBackend
import Testing

/// What users may write, over the routes that clients use.
@Suite struct AppBackendTests {
    private let folder: URL
    private let database: DatabasePool
    private let backend: AppBackend

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "backend-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appending(path: "source.db").path(percentEncoded: false)
        database = try DatabasePool(path: path)
        try database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, owner_id TEXT, name TEXT);
                    CREATE TABLE todos(id TEXT PRIMARY KEY NOT NULL, list_id TEXT, title TEXT, done INTEGER);
                    INSERT INTO lists(id, owner_id, name) VALUES ('l1', 'anna', 'Groceries');
                    """
            )
        }
        backend = try AppBackend(path: path, key: SigningKey.eddsa(id: "test").jwk, audience: "test")
    }

    /// The token of a user, as `POST token` answers it.
    private func token(_ client: any TestClientProtocol, _ user: String) async throws -> String {
        struct Answer: Decodable {
            let token: String
        }
        let body = try await client.execute(uri: "/token", method: .post, headers: [.authorization: "Bearer \(user)"]) {
            Data(Array(buffer: $0.body))
        }
        return try JSONDecoder().decode(Answer.self, from: body).token
    }

    /// Sends a write of a user, and returns the status with what is in the answer.
    private func upload(_ write: String, as user: String) async throws -> (status: Int, answer: String) {
        let application = Application(router: backend.router())
        return try await application.test(.router) { client in
            let authorization = "Bearer \(try await token(client, user))"
            let body = ByteBuffer(string: #"{"client_id":"c","data":[\#(write)]}"#)
            return try await client.execute(
                uri: "/upload",
                method: .post,
                headers: [.authorization: authorization],
                body: body
            ) { response in (response.status.code, String(buffer: response.body)) }
        }
    }

    private func names() async throws -> [String] {
        try await database.read { db in try String.fetchAll(db, sql: "SELECT name FROM lists ORDER BY id") }
    }

    @Test func usersWriteTheirOwnLists() async throws {
        let write = #"{"op_id":1,"op":"PUT","type":"lists","id":"l2","data":{"name":"Work","owner_id":"anna"}}"#
        #expect(try await upload(write, as: "bob") == (200, #"{"applied_through":1}"#))
        let owner = try await database.read { db in
            try String.fetchOne(db, sql: "SELECT owner_id FROM lists WHERE id = 'l2'")
        }
        #expect(owner == "bob")
    }

    @Test func nobodyWritesTheListOfAnotherUser() async throws {
        for write in [
            #"{"op_id":1,"op":"PATCH","type":"lists","id":"l1","data":{"name":"Mine"}}"#,
            #"{"op_id":1,"op":"DELETE","type":"lists","id":"l1"}"#,
            #"{"op_id":1,"op":"PUT","type":"todos","id":"t1","data":{"list_id":"l1","title":"Mine"}}"#,
            #"{"op_id":1,"op":"PUT","type":"users","id":"u1","data":{}}"#,
        ] {
            let (status, answer) = try await upload(write, as: "bob")
            #expect(status == 200 && answer.contains(#""rejections""#), "\(answer)")
        }
        #expect(try await names() == ["Groceries"])
    }

    @Test func aRequestWithoutAUserIsRefused() async throws {
        let application = Application(router: backend.router())
        try await application.test(.router) { client in
            for path in ["/token", "/upload"] {
                try await client.execute(uri: path, method: .post) { #expect($0.status == .unauthorized) }
            }
            // A name is no token.
            try await client.execute(uri: "/upload", method: .post, headers: [.authorization: "Bearer anna"]) {
                #expect($0.status == .unauthorized)
            }
            try await client.execute(uri: "/jwks.json", method: .get) { response in
                #expect(String(buffer: response.body).contains(#""kid":"test""#))
                #expect(!String(buffer: response.body).contains(#""d":"#))
            }
            try await client.execute(uri: "/health", method: .get) { #expect($0.status == .ok) }
        }
    }
}
