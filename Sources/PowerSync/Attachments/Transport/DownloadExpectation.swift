import Foundation

/// What is known of a file before it has been downloaded.
struct DownloadExpectation {
    /// The size that the storage announced.
    let total: Int64?
    /// The size that the app knows.
    let size: Int64?
    /// The request, for messages.
    let request: String
    /// The SHA-256 digests that storage and app announced.
    var digests: [Data] = []

    /// The size in bytes, if anybody knows it.
    var bytes: Int64? { size ?? total }

    /// Creates an expectation.
    init(total: Int64?, size: Int64?, request: String) {
        self.total = total
        self.size = size
        self.request = request
    }

    /// Checks that the storage and the app expect the same.
    func checkAnnouncement() throws {
        guard let total, let size, total != size else { return }
        throw mismatch("has \(total) bytes instead of \(size)")
    }

    /// Checks that there are not too many bytes already.
    func check(bytesSoFar: Int64) throws {
        guard let bytes, bytesSoFar > bytes else { return }
        throw mismatch("has more than the announced \(bytes) bytes")
    }

    /// Checks the complete file.
    func check(bytes count: Int64, digest: Data?) throws {
        if let bytes, count != bytes { throw mismatch("ended after \(count) of \(bytes) bytes") }
        guard let digest, digests.contains(where: { $0 != digest }) else { return }
        throw AttachmentTransferError(
            .digestMismatch,
            message: "\(request): the file does not have the announced SHA-256 digest"
        )
    }

    private func mismatch(_ text: String) -> AttachmentTransferError {
        AttachmentTransferError(.sizeMismatch, message: "\(request): the file \(text)")
    }
}
