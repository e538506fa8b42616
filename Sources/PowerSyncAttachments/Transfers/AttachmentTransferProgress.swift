import PowerSyncClient
import PowerSyncProtocol

/// How far a transfer is.
public struct AttachmentTransferProgress: Sendable, Equatable {
    /// The direction of a transfer; a deletion is of the remote and then of the local file, and moves no bytes.
    public typealias Direction = SignedURLRequest.Operation

    /// What a transfer is doing.
    public enum Phase: Sendable, Equatable {
        /// Bytes are on their way.
        case running
        /// The transfer is complete and the attachments table says so.
        case finished
        /// The attempt failed, or was cancelled; the attachment's state says whether it is tried again.
        case interrupted
    }

    /// The id of the attachment.
    public let attachmentId: String
    /// The direction.
    public let direction: Direction
    /// What the transfer is doing.
    public let phase: Phase
    /// The bytes transferred so far.
    public let transferredBytes: Int64
    /// The size of the file, when it is known.
    public let totalBytes: Int64?

    /// The part that is done, from 0 to 1; `nil` while the size is not known.
    public var fraction: Double? {
        guard phase != .finished else { return 1 }
        guard let totalBytes, totalBytes > 0 else { return nil }
        return min(1, Double(transferredBytes) / Double(totalBytes))
    }

    package init(
        attachmentId: String,
        direction: Direction,
        phase: Phase,
        transferredBytes: Int64,
        totalBytes: Int64?
    ) {
        self.attachmentId = attachmentId
        self.direction = direction
        self.phase = phase
        self.transferredBytes = transferredBytes
        self.totalBytes = totalBytes
    }

    /// The same transfer with more bytes moved.
    func moved(transferred: Int64, total: Int64?) -> AttachmentTransferProgress {
        with(phase: .running, transferred: transferred, total: total)
    }

    /// The same transfer in another phase.
    func with(phase: Phase, transferred: Int64? = nil, total: Int64? = nil) -> AttachmentTransferProgress {
        AttachmentTransferProgress(
            attachmentId: attachmentId,
            direction: direction,
            phase: phase,
            transferredBytes: transferred ?? transferredBytes,
            totalBytes: total ?? totalBytes
        )
    }
}

extension Attachment {
    /// The transfer that the attachment needs; `nil` for none.
    var neededTransfer: AttachmentTransferProgress.Direction? {
        switch state {
        case .queuedUpload: .upload
        case .queuedDownload: .download
        case .queuedDelete: .delete
        case .synced, .archived: nil
        }
    }
}

extension AttachmentTransferProgress: CustomStringConvertible {
    /// What is transferred and how far it is, in a line.
    public var description: String {
        let bytes =
            totalBytes.map { "\(transferredBytes) of \($0.counted("byte"))" } ?? transferredBytes.counted("byte")
        return "\(direction) of \(attachmentId), \(phase), \(bytes)"
    }
}
