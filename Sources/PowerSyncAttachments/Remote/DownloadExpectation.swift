import Foundation
import PowerSyncClient
import PowerSyncProtocol

/// What is known of a file before it has been downloaded.
struct DownloadExpectation {
    /// The most bytes that become of a file which the storage compresses and whose size is not known: 256 MiB.
    static let largestDecompressedFile: Int64 = 256 << 20

    /// The size that the storage announced.
    let total: Int64?
    /// The size that the app knows.
    let size: Int64?
    /// The request, for messages.
    let request: String
    /// Whether the storage compresses the file, so that few bytes may become any number of them.
    let isDecompressed: Bool
    /// The SHA-256 digests that storage and app announced.
    var digests: [Data] = []

    /// The size in bytes, if it is known.
    var bytes: Int64? { size ?? total }

    /// Creates an expectation.
    init(total: Int64?, size: Int64?, isDecompressed: Bool = false, request: String) {
        self.total = total
        self.size = size
        self.isDecompressed = isDecompressed
        self.request = request
    }

    /// Checks that the storage and the app expect the same.
    func checkAnnouncement() throws {
        guard let total, let size, total != size else { return }
        throw mismatch("has \(total.counted("byte")) instead of \(size)")
    }

    /// Checks that there are not too many bytes already.
    func check(bytesSoFar: Int64) throws {
        if let bytes, bytesSoFar > bytes { throw mismatch("has more than the announced \(bytes) bytes") }
        guard isDecompressed, bytes == nil, bytesSoFar > Self.largestDecompressedFile else { return }
        throw mismatch(
            """
            is compressed, which nobody asked for, and becomes more than \(Self.largestDecompressedFile) bytes; say its size in the \
            `AttachmentHTTPRequest`, or have the storage send it as it is
            """
        )
    }

    /// Checks the complete file.
    func check(bytes count: Int64, digest: Data?) throws {
        if let bytes, count != bytes { throw mismatch("ended after \(count) of \(bytes.counted("byte"))") }
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
