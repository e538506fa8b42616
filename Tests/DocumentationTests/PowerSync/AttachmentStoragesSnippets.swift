import Foundation
import PowerSync

/// The SDK of some storage.
protocol Bucket: Sendable {
    func put(_ data: Data, key: String, type: String?) async throws
    func get(key: String) async throws -> Data?
    func remove(key: String) async throws
}

struct BucketStorage: RemoteStorageAdapter {
    let bucket: any Bucket

    func uploadFile(fileData: Data, attachment: Attachment) async throws {
        try await bucket.put(fileData, key: attachment.filename, type: attachment.mediaType)
    }

    func downloadFile(attachment: Attachment) async throws -> Data {
        guard let data = try await bucket.get(key: attachment.filename) else { throw AttachmentStorageError.notFound }
        return data
    }

    func deleteFile(attachment: Attachment) async throws {
        try await bucket.remove(key: attachment.filename)
    }
}

/// Answers with signed requests.
protocol SigningBackend: Sendable {
    func sign(_ method: String, _ filename: String) async throws -> URL
}

func makeTransport(_ backend: any SigningBackend) -> HTTPAttachmentTransport {
    let transport = HTTPAttachmentTransport(
        resolveUpload: { file in
            AttachmentHTTPRequest(url: try await backend.sign("PUT", file.attachment.filename), method: "PUT")
        },
        resolveDownload: { file in
            AttachmentHTTPRequest(url: try await backend.sign("GET", file.attachment.filename), method: "GET")
        },
        resolveDelete: { attachment in
            AttachmentHTTPRequest(url: try await backend.sign("DELETE", attachment.filename), method: "DELETE")
        }
    )
    return transport
}

/// Keeps files in memory, for a device without a disk.
actor FilesInMemory: LocalStorageAdapter {
    private var files: [String: Data] = [:]

    func saveFile(filePath: String, data: Data) async throws -> Int64 {
        files[filePath] = data
        return Int64(data.count)
    }

    func readFile(filePath: String, mediaType: String?) async throws -> Data {
        guard let data = files[filePath] else { throw PowerSyncAttachmentError.fileNotFound(filePath) }
        return data
    }

    func deleteFile(filePath: String) async throws { files[filePath] = nil }

    func fileExists(filePath: String) async throws -> Bool { files[filePath] != nil }

    func makeDir(path: String) async throws {}

    func rmDir(path: String) async throws { files = files.filter { !$0.key.hasPrefix(path + "/") } }

    func copyFile(sourcePath: String, targetPath: String) async throws {
        files[targetPath] = try await readFile(filePath: sourcePath, mediaType: nil)
    }
}

struct GiveUpWhatIsRefused: SyncErrorHandler {
    func onDownloadError(attachment: Attachment, error: any Error) async -> Bool {
        if case AttachmentStorageError.notFound = error { return false }
        return true
    }

    func onUploadError(attachment: Attachment, error: any Error) async -> Bool {
        guard let error = error as? AttachmentTransferError else { return true }
        return error.isRetriable || error.httpStatus == 401
    }

    func onDeleteError(attachment: Attachment, error: any Error) async -> Bool { true }
}

func makeQueue(
    _ database: any PowerSyncDatabaseProtocol,
    _ bucket: any Bucket,
    _ directory: String
) -> AttachmentQueue {
    var options = AttachmentQueueOptions()
    options.errorHandler = GiveUpWhatIsRefused()
    options.archivedCacheLimit = 500
    options.archivedCacheByteLimit = 200_000_000
    let files = AttachmentQueue(
        db: database,
        remoteStorage: BucketStorage(bucket: bucket),
        attachmentsDirectory: directory,
        watchAttachments: {
            try database.watch(
                """
                SELECT photo_id AS id, 'jpg' AS extension, 'image/jpeg' AS type FROM users WHERE photo_id IS NOT NULL
                UNION ALL
                SELECT file_id, file_extension, media_type FROM documents WHERE file_id IS NOT NULL
                UNION ALL
                SELECT video_id, 'mp4', 'video/mp4' FROM posts WHERE video_id IS NOT NULL
                """
            ) { cursor in
                WatchedAttachmentItem(
                    id: try cursor.getString(name: "id"),
                    fileExtension: try cursor.getString(name: "extension"),
                    mediaType: try cursor.getStringOptional(name: "type")
                )
            }
        },
        options: options
    )
    return files
}
