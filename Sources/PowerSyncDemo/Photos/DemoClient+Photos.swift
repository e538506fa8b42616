import Foundation
import PowerSync

extension DemoClient {
    /// A queue for the photos of lists.
    ///
    /// - Parameters:
    ///   - photoBackend: The base URL of the backend that signs URLs.
    ///   - backend: The app's backend, for the user's token.
    ///   - archivedCacheLimit: How many photos are kept that no list refers to.
    /// - Returns: The queue; it is not started.
    func photos(
        through photoBackend: URL,
        backend: DemoBackend,
        archivedCacheLimit: Int64 = 100
    ) -> AttachmentQueue {
        let user = user
        let database = database
        var options = AttachmentQueueOptions()
        options.archivedCacheLimit = archivedCacheLimit
        options.syncThrottle = .milliseconds(100)
        return AttachmentQueue(
            db: database,
            transport: SignedURLAttachmentTransport(endpoint: photoBackend.appending(path: "photos/sign")) {
                ["Authorization": "Token \(try backend.token(for: user))"]
            },
            attachmentsDirectory: photoFolder,
            watchAttachments: {
                try database.watch("SELECT photo_id FROM lists WHERE photo_id IS NOT NULL") { cursor in
                    WatchedAttachmentItem(id: try cursor.getString(index: 0), fileExtension: "jpg")
                }
            },
            options: options
        )
    }

    /// The row of a photo, if there is one.
    func photo(_ id: String) async throws -> Attachment? {
        try await database.getOptional(
            sql: "SELECT * FROM attachments WHERE id = ?",
            parameters: [id],
            mapper: Attachment.fromCursor
        )
    }

    /// Waits until a photo is in a state; `nil` stands for no row.
    func waitForPhoto(_ id: String, toBe state: AttachmentState?) async throws {
        let database = database
        try await within(.seconds(30), "\(name)'s photo being \(state.map { "\($0)" } ?? "gone")") {
            let photos = try database.watch(
                sql: "SELECT * FROM attachments WHERE id = ?",
                parameters: [id],
                mapper: Attachment.fromCursor
            )
            for try await rows in photos where rows.first?.state == state {
                return
            }
        }
    }

    /// The names of the files in the folder of photos.
    func photoFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: photoFolder)
    }
}
