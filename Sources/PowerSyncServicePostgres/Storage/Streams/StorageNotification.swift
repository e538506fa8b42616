import PowerSyncServiceCore

/// What processes that share a storage tell each other (docs/postgres-storage.md "Several processes").
///
/// A notification is a text of less than 8000 bytes. It is empty for a change of streams, and has the process for a checkpoint. For a
/// write checkpoint it has the process that has recorded it, its position, and the key of its user, which is missing when it is too long or cannot be sent.
enum StorageNotification: Equatable {
    /// Checkpoints or streams are not what they were.
    case changed
    /// A process has made a checkpoint, and changed nothing else.
    case published(process: String)
    /// A process has recorded a write checkpoint, of a user if one is named.
    case writeCheckpoint(process: String, position: LSN, userKey: String?)

    private static let maximumBytes = 7000

    init(text: String) {
        let parts = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2 else {
            self = text.isEmpty ? .changed : .published(process: text)
            return
        }
        self = .writeCheckpoint(
            process: String(parts[0]),
            position: LSN(String(parts[1])),
            userKey: parts.count > 2 ? String(parts[2]) : nil
        )
    }

    var text: String {
        switch self {
        case .changed: return ""
        case .published(let process): return process
        case .writeCheckpoint(let process, let position, let userKey):
            let text = "\(process) \(position.rawValue)"
            // No text of PostgreSQL has the character 0.
            guard let userKey, !userKey.utf8.contains(0), text.utf8.count + userKey.utf8.count < Self.maximumBytes
            else {
                return text
            }
            return "\(text) \(userKey)"
        }
    }
}
