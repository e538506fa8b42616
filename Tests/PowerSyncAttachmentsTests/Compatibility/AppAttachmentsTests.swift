import Foundation
import PowerSync
import PowerSyncTesting
import Testing

// What an app writes for the established SDK, with the public API only.

private struct BackendStorage: RemoteStorageAdapter {
    let storage: InMemoryRemoteStorage

    func uploadFile(fileData: Data, attachment: Attachment) async throws {
        try await storage.uploadFile(fileData: fileData, attachment: attachment)
    }

    func downloadFile(attachment: Attachment) async throws -> Data {
        try await storage.downloadFile(attachment: attachment)
    }

    func deleteFile(attachment: Attachment) async throws {
        try await storage.deleteFile(attachment: attachment)
    }
}

private final class AppErrorHandler: SyncErrorHandler {
    func onDownloadError(attachment: Attachment, error: any Error) async -> Bool { !"\(error)".contains("404") }
    func onUploadError(attachment: Attachment, error: any Error) async -> Bool { true }
    func onDeleteError(attachment: Attachment, error: any Error) async -> Bool { true }
}

/// A local storage with the requirements of the established SDK and nothing more.
///
/// As with `FileManager`, it is an error to remove what is not there.
private actor AppLocalStorage: LocalStorageAdapter {
    private var files: [String: Data] = [:]

    func saveFile(filePath: String, data: Data) async throws -> Int64 {
        files[filePath] = data
        return Int64(data.count)
    }

    func readFile(filePath: String, mediaType: String?) async throws -> Data {
        guard let data = files[filePath] else { throw PowerSyncAttachmentError.fileNotFound(filePath) }
        return data
    }

    func deleteFile(filePath: String) async throws {
        guard files.removeValue(forKey: filePath) != nil else { throw PowerSyncAttachmentError.fileNotFound(filePath) }
    }

    func fileExists(filePath: String) async throws -> Bool { files[filePath] != nil }
    func makeDir(path: String) async throws {}
    func rmDir(path: String) async throws { files = files.filter { !$0.key.hasPrefix(path + "/") } }
    func copyFile(sourcePath: String, targetPath: String) async throws {
        files[targetPath] = try await readFile(filePath: sourcePath)
    }
}

@Suite(.timeLimit(.minutes(1)))
struct AppAttachmentsTests {
    private func makeDatabase() -> any PowerSyncDatabaseProtocol {
        PowerSyncDatabase(
            schema: Schema(tables: [
                Table(name: "users", columns: [.text("name"), .text("photo_id")]),
                Table(name: "documents", columns: [.text("document_id"), .text("extension")]),
                createAttachmentTable(name: "attachments"),
            ]),
            dbFilename: ":memory:",
            logger: DefaultLogger(minSeverity: .fault)
        )
    }

    @Test
    func appsQueueOverSeveralTablesWithHooksAHandlerAndAdaptersOfItsOwn() async throws {
        let db = makeDatabase()
        let storage = InMemoryRemoteStorage(files: ["photo.jpg": Data("p".utf8), "plan.pdf": Data("d".utf8)])
        let queue = AttachmentQueue(
            db: db,
            remoteStorage: BackendStorage(storage: storage),
            attachmentsDirectory: "/attachments",
            watchAttachments: {
                try db.watch(
                    options: WatchOptions(
                        sql: """
                            SELECT photo_id AS id, 'jpg' AS ext FROM users WHERE photo_id IS NOT NULL
                            UNION ALL
                            SELECT document_id, extension FROM documents WHERE document_id IS NOT NULL
                            """,
                        parameters: [],
                        mapper: { cursor in
                            try WatchedAttachmentItem(
                                id: cursor.getString(name: "id"),
                                fileExtension: cursor.getString(name: "ext")
                            )
                        }
                    )
                )
            },
            localStorage: AppLocalStorage(),
            attachmentsQueueTableName: "attachments",
            errorHandler: AppErrorHandler(),
            syncInterval: 30.0,
            archivedCacheLimit: 0,
            syncThrottleDuration: 0.01,
            subdirectories: nil,
            downloadAttachments: true,
            logger: nil,
            getLocalUri: nil
        )
        try await queue.waitForInit()
        try await queue.startSync()
        try await db.execute("INSERT INTO users (id, photo_id) VALUES (uuid(), 'photo')")
        try await db.execute("INSERT INTO documents (id, document_id, extension) VALUES (uuid(), 'plan', 'pdf')")
        let states = try db.watch("SELECT id, state FROM attachments ORDER BY id") {
            (try $0.getString(name: "id"), try AttachmentState.from($0.getInt(name: "state")))
        }
        for try await rows in states where rows.count == 2 && rows.allSatisfy({ $0.1 == .synced }) { break }

        let saved = try await queue.saveFile(
            data: Data("new".utf8),
            mediaType: "image/jpeg",
            fileExtension: "jpg",
            updateHook: { tx, attachment in
                try tx.execute(
                    sql: "INSERT INTO users (id, photo_id) VALUES (uuid(), ?)",
                    parameters: [attachment.id]
                )
            }
        )
        try await queue.deleteFile(attachmentId: "photo") { tx, attachment in
            try tx.execute(sql: "UPDATE users SET photo_id = NULL WHERE photo_id = ?", parameters: [attachment.id])
        }
        let uris = try db.watch(
            "SELECT a.local_uri FROM users u JOIN attachments a ON a.id = u.photo_id WHERE a.state = 3"
        ) {
            try $0.getString(index: 0)
        }
        for try await paths in uris where paths == ["/attachments/\(saved.filename)"] { break }
        let photos = try db.watch("SELECT id FROM attachments WHERE id = 'photo'") { try $0.getString(index: 0) }
        for try await rows in photos where rows.isEmpty { break }
        #expect(storage.files.keys.sorted() == ["plan.pdf", saved.filename].sorted())

        let local = await queue.localStorage
        #expect(try await local.readFile(filePath: queue.getLocalUri("plan.pdf")) == Data("d".utf8))
        try await queue.expireCache()
        try await queue.stopSyncing()
        try await queue.clearQueue()
        try await queue.close()
        #expect(await queue.closed)
        try await db.close()
    }

    @Test
    func partsOfAQueueCanBeUsedByThemselves() async throws {
        let db = makeDatabase()
        let queue = AttachmentQueue(
            db: db,
            remoteStorage: BackendStorage(storage: InMemoryRemoteStorage()),
            attachmentsDirectory: "/attachments",
            watchAttachments: { AsyncThrowingStream { $0.finish() } },
            localStorage: AppLocalStorage()
        )
        try await queue.processWatchedAttachments(items: [
            WatchedAttachmentItem(id: "a", fileExtension: nil, filename: "a.png")
        ])
        let ids = try await queue.attachmentsService.withContext { try await $0.getAttachmentIds() }
        #expect(ids == ["a"])
        let service: SyncingService = await queue.syncingService
        try await service.triggerSync()
        #expect(queue.resolveNewAttachmentFilename(attachmentId: "x", fileExtension: nil) == "x.attachment")
        try await queue.close()
        try await db.close()
    }

    /// The package is built with warnings as errors: an `await` for nothing would be one.
    @Test
    func propertiesOfAQueueAndOfItsContextAreReadWithAwait() async throws {
        let db = makeDatabase()
        let queue = AttachmentQueue(
            db: db,
            remoteStorage: BackendStorage(storage: InMemoryRemoteStorage()),
            attachmentsDirectory: "/attachments",
            watchAttachments: { AsyncThrowingStream { $0.finish() } },
            localStorage: AppLocalStorage()
        )
        _ = await queue.localStorage
        _ = await queue.remoteStorage
        _ = await queue.logger
        _ = await queue.syncingService
        #expect(await queue.downloadAttachments)
        _ = await queue.db
        let service = await queue.attachmentsService
        try await service.withContext { context in
            _ = await context.logger
            let (name, count) = (await context.tableName, await context.maxArchivedCount)
            #expect(name == "attachments")
            #expect(count == 100)
            _ = await context.db
        }
        try await queue.close()
        try await db.close()
    }
}
