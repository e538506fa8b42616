import Foundation
import PowerSync
import Testing

/// The code of the article *Attachments*, as an app would write it.
@Suite(.timeLimit(.minutes(1)))
struct AttachmentsArticleTests {
    private struct Session {
        func token() async throws -> String { "token" }
    }

    @Test
    func exampleOfTheArticleCompilesAndWorksWithoutANetwork() async throws {
        let documents = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: documents, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: documents) }
        let backend = try #require(URL(string: "http://127.0.0.1:9"))
        let session = Session()
        let (userID, jpeg) = ("u1", Data([0xFF, 0xD8, 0xFF]))

        let schema = Schema(
            Table(name: "users", columns: [.text("name"), .text("photo_id")]),
            createAttachmentTable(name: "attachments")
        )
        let database = PowerSyncDatabase(
            schema: schema,
            dbFilename: documents.appending(path: "app.db").path,
            logger: DefaultLogger(minSeverity: .fault)
        )
        let transport = SignedURLAttachmentTransport(endpoint: backend.appending(path: "attachments/sign")) {
            ["Authorization": "Bearer \(try await session.token())"]
        }
        let photos = AttachmentQueue(
            db: database,
            transport: transport,
            attachmentsDirectory: documents.appending(path: "attachments").path,
            watchAttachments: {
                try database.watch("SELECT photo_id FROM users WHERE photo_id IS NOT NULL") { cursor in
                    WatchedAttachmentItem(id: try cursor.getString(name: "photo_id"), fileExtension: "jpg")
                }
            }
        )
        try await photos.startSync()
        try await database.execute(sql: "INSERT INTO users (id, name) VALUES (?, 'Ann')", parameters: [userID])

        let saved = try await photos.saveFile(data: jpeg, mediaType: "image/jpeg", fileExtension: "jpg") {
            transaction,
            photo in
            try transaction.execute(
                sql: "UPDATE users SET photo_id = ? WHERE id = ?",
                parameters: [photo.id, userID]
            )
        }
        let paths = try await database.getAll(
            "SELECT a.local_uri FROM users u LEFT JOIN attachments a ON a.id = u.photo_id"
        ) { $0.getStringOptional(index: 0) }
        #expect(paths == [saved.localUri])
        #expect(FileManager.default.contents(atPath: saved.localUri ?? "") == jpeg)

        try await photos.stopSyncing()
        let deleted = try await photos.deleteFile(attachmentId: saved.id) { transaction, photo in
            try transaction.execute(sql: "UPDATE users SET photo_id = NULL WHERE photo_id = ?", parameters: [photo.id])
        }
        #expect(deleted.state == .queuedDelete)
        try await photos.clearQueue()
        try await photos.close()
        try await database.disconnectAndClear()
        try await database.close()
    }
}
