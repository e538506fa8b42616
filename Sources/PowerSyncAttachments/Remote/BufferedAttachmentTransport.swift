import Foundation
import PowerSyncClient

/// Makes a transport of a remote storage that takes and gives whole files.
///
/// Each file is in memory as long as it is being transferred.
struct BufferedAttachmentTransport: AttachmentTransportAdapter {
    private let remote: any RemoteStorageAdapter
    private let local: any LocalStorageAdapter

    /// Creates the transport.
    init(remote: any RemoteStorageAdapter, local: any LocalStorageAdapter) {
        self.remote = remote
        self.local = local
    }

    func upload(_ located: LocatedAttachment, progress: @escaping @Sendable (Int64, Int64?) -> Void) async throws {
        let data = try await local.readFile(filePath: located.localPath, mediaType: located.attachment.mediaType)
        let size = Int64(data.count)
        progress(0, size)
        try Task.checkCancellation()
        do {
            try await remote.uploadFile(fileData: data, attachment: located.attachment)
        } catch AttachmentStorageError.alreadyExists {
            // Files are immutable: an earlier attempt has brought it there.
        }
        progress(size, size)
    }

    func download(_ located: LocatedAttachment, progress: @escaping @Sendable (Int64, Int64?) -> Void) async throws {
        progress(0, located.attachment.size)
        let data = try await remote.downloadFile(attachment: located.attachment)
        let save: @Sendable () async throws -> Int64 = { [local] in
            try await local.saveFile(filePath: located.localPath, data: data)
        }
        if AttachmentCallPart.current?.isOverdue == true {
            // The call was cancelled at its limit, and storages refuse cancelled tasks. The next one would take as long.
            _ = try await Task.ignoringCancellation(save)
        } else {
            try Task.checkCancellation()
            _ = try await save()
        }
        progress(Int64(data.count), Int64(data.count))
    }

    func delete(_ attachment: Attachment) async throws {
        do {
            try await remote.deleteFile(attachment: attachment)
        } catch AttachmentStorageError.notFound {
            // That is what was wanted.
        }
    }
}
