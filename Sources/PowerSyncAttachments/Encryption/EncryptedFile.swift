import Foundation
import NIOCore
import PowerSyncClient

/// An encrypted file that is open for reading; all methods that read block.
struct EncryptedFile: Sendable {
    /// How many bytes of content there are.
    let size: Int64
    let path: String
    private let file: OpenFile
    private let format: EncryptedFileFormat

    /// Opens a file and checks its key and its size.
    ///
    /// - Throws: ``AttachmentEncryptionError``, ``PowerSyncAttachmentError``
    init(_ path: String, key: Data) throws {
        let file = try OpenFile(path, for: .reading)
        let fileSize = try file.size()
        format = try EncryptedFileFormat(
            header: try file.read(at: 0, upTo: EncryptedFileFormat.headerSize),
            key: key,
            path: path
        )
        guard let size = EncryptedFileFormat.contentSize(of: fileSize) else {
            throw AttachmentEncryptionError(code: .damaged, path: path)
        }
        self.size = size
        self.path = path
        self.file = file
    }

    /// The content from an offset on; fewer bytes, or none, at its end.
    ///
    /// - Throws: ``AttachmentEncryptionError``, ``PowerSyncAttachmentError``
    func read(at offset: Int64, upTo count: Int) throws -> Data {
        let end = min(size, offset + Int64(count))
        // The only chunk of an empty file is checked as well.
        guard offset < end || size == 0 && offset == 0 else { return Data() }
        let last = EncryptedFileFormat.chunkCount(of: size) - 1
        let length = Int64(EncryptedFileFormat.chunkSize)
        var content = Data()
        for number in offset / length...max(offset, end - 1) / length {
            let chunk = try file.read(
                at: EncryptedFileFormat.offset(of: number),
                upTo: EncryptedFileFormat.chunkSize + EncryptedFileFormat.tagSize
            )
            let opened = try format.open(chunk, number: number, isLast: number == last, path: path)
            let start = number * length
            content += opened.dropFirst(Int(max(0, offset - start))).prefix(Int(end - max(start, offset)))
        }
        return content
    }
}
