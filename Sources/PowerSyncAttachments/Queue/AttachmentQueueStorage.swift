import Foundation
import PowerSyncClient

/// Where a queue's files go.
package enum AttachmentQueueStorage: Sendable {
    /// To a storage that takes and gives whole files.
    case remote(any RemoteStorageAdapter)
    /// Through a transport that moves them by itself.
    case transport(any AttachmentTransportAdapter)

    /// The remote storage; one that refuses everything beside a transport.
    var remoteStorage: any RemoteStorageAdapter {
        switch self {
        case .remote(let storage): storage
        case .transport: RefusingRemoteStorage()
        }
    }
}

/// What a queue has for a remote storage when a transport does the work.
private struct RefusingRemoteStorage: RemoteStorageAdapter {
    private var error: PowerSyncAttachmentError {
        .generalError("This attachment queue has a transport and no remote storage.")
    }

    func uploadFile(fileData: Data, attachment: Attachment) async throws { throw error }
    func downloadFile(attachment: Attachment) async throws -> Data { throw error }
    func deleteFile(attachment: Attachment) async throws { throw error }
}

extension AttachmentQueueStorage {
    /// What moves the files.
    func transport(over localStorage: any LocalStorageAdapter) -> any AttachmentTransportAdapter {
        switch self {
        case .remote(let storage): BufferedAttachmentTransport(remote: storage, local: localStorage)
        case .transport(let transport): transport
        }
    }

    /// Whether an interrupted download can be continued.
    var keepsPartialDownloads: Bool {
        switch self {
        case .remote: false
        case .transport: true
        }
    }
}
