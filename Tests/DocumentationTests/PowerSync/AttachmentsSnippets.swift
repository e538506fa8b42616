import Foundation
import PowerSync

func setUpAttachments(session: any AppSession, backend: URL, documents: URL) async throws -> AttachmentQueue {
    let schema = Schema(
        Table(name: "users", columns: [.text("name"), .text("photo_id")]),
        createAttachmentTable(name: "attachments")
    )
    let database = PowerSyncDatabase(schema: schema, dbFilename: "app.db")

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
    return photos
}

func saveAPhoto(_ jpeg: Data, of userID: String, in photos: AttachmentQueue) async throws {
    try await photos.saveFile(data: jpeg, mediaType: "image/jpeg", fileExtension: "jpg") { transaction, photo in
        try transaction.execute(
            sql: "UPDATE users SET photo_id = ? WHERE id = ?",
            parameters: [photo.id, userID]
        )
    }
}

func showPhotos(_ database: any PowerSyncDatabaseProtocol) async throws -> [String?] {
    let paths = try await database.getAll(
        "SELECT a.local_uri FROM users u LEFT JOIN attachments a ON a.id = u.photo_id"
    ) { $0.getStringOptional(index: 0) }
    return paths
}
