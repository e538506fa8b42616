import PowerSyncClient

/// Where a file stands between this device and the remote storage.
///
/// The raw values are stored in the attachments table. SDKs for other languages number the states differently: never
/// exchange the contents of attachments tables with them.
public enum AttachmentState: Int, Sendable, CaseIterable {
    /// Referenced by the app's data, but not on this device.
    case queuedDownload = 0
    /// Saved on this device, but not in the remote storage yet.
    case queuedUpload = 1
    /// To be deleted from the remote storage and from this device.
    case queuedDelete = 2
    /// On this device and in the remote storage.
    case synced = 3
    /// No longer referenced, or given up: kept as a cache until it expires.
    case archived = 4

    /// Whether a transfer is waiting or running.
    var isActive: Bool {
        switch self {
        case .queuedDownload, .queuedUpload, .queuedDelete: true
        case .synced, .archived: false
        }
    }

    /// The state that a number of the attachments table stands for.
    ///
    /// - Parameter rawValue: 0 to 4.
    /// - Returns: The state.
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)`` for any other number.
    public static func from(_ rawValue: Int) throws -> AttachmentState {
        guard let state = AttachmentState(rawValue: rawValue) else {
            throw PowerSyncAttachmentError.generalError(
                "\(rawValue) is no state of an attachment: 0 to 4 are (was the row written by the SDK of another language?)."
            )
        }
        return state
    }
}

extension AttachmentState: CustomStringConvertible {
    /// The state in words, for example `queued for upload`.
    public var description: String {
        switch self {
        case .queuedDownload: "queued for download"
        case .queuedUpload: "queued for upload"
        case .queuedDelete: "queued for deletion"
        case .synced: "synced"
        case .archived: "archived"
        }
    }
}
