import Foundation
import PowerSyncClient

/// What the next attempt must know to continue an upload.
struct UploadRecord: Codable, Equatable, Sendable {
    /// How the file is uploaded.
    enum Kind: String, Codable, Sendable {
        /// In parts of which the storage makes a file.
        case parts
        /// By the tus protocol.
        case tus
    }

    /// How the file is uploaded.
    var kind: Kind
    /// What the storage calls the upload; for tus its URL.
    var upload: String
    /// The id of the attachment.
    var id: String
    /// The file name of the attachment, of which the storage makes a key.
    var filename: String
    /// The size of the file in bytes.
    var size: Int64
    /// The size of a part in bytes.
    var partSize: Int64
    /// When the upload began, in milliseconds since 1970.
    var began: Int64
    /// Whether the server checks digests of parts.
    var isChecked = true
    /// For tus: the scheme, host and port of the endpoint where the upload was created.
    var origin: [String?]?

    /// Whether this is an upload of a file that may be continued, in parts of a size.
    func continues(
        _ kind: Kind,
        _ attachment: Attachment,
        size: Int64,
        partSize: Int64,
        now: Date,
        lifetime: Duration
    ) -> Bool {
        self.kind == kind && id == attachment.id && filename == attachment.filename && self.size == size
            // Another part size is that of other options, or damage.
            && self.partSize == partSize
            && now.timeIntervalSince1970 * 1000 - Double(began) < Double(lifetime.components.seconds) * 1000
    }

    /// The attachment that was uploaded: another one of the same file, or the same one with another file name, may have come since.
    ///
    /// - Parameter current: The attachment of now.
    /// - Returns: That one if it is the same, else one with the id and the file name of the record.
    func attachment(_ current: Attachment) -> Attachment {
        guard id != current.id || filename != current.filename else { return current }
        return Attachment(
            id: id,
            filename: filename,
            state: .queuedUpload,
            mediaType: current.mediaType,
            size: size,
            metaData: id == current.id ? current.metaData : nil
        )
    }
}

/// The file beside an attachment's file that says how to continue its upload.
///
/// Its lines are JSON: first an ``UploadRecord``, then a ``StoredAttachmentPart`` for each part that the storage has. A line is flushed
/// before the upload goes on; one that is not whole is what a crash has left, and does not count. One upload at a time has the file, of all
/// processes: it is locked (`flock`).
struct UploadJournal: Sendable {
    /// The most bytes of a journal: 10,000 parts have less.
    private static let limit = 4 * 1024 * 1024
    /// How often the file is opened anew because it was removed before it could be locked.
    private static let openingLimit = 10

    /// The upload; `nil` when there is none.
    private(set) var record: UploadRecord?
    /// The parts that the storage has, in the order in which they were uploaded.
    private(set) var parts: [StoredAttachmentPart] = []
    private let file: OpenFile

    /// Runs a body that has the journal of a file for itself.
    ///
    /// A journal without an upload is removed in the end.
    ///
    /// - Parameters:
    ///   - path: The path of the attachment's file.
    ///   - body: What to run.
    /// - Returns: The result of the body.
    /// - Throws: ``AttachmentTransferError`` with the code ``AttachmentTransferError/Code/inProgress`` when another upload has it;
    ///   ``PowerSyncAttachmentError``; what the body throws
    static func with<Result>(
        for path: String,
        _ body: (inout UploadJournal) async throws -> Result
    ) async throws -> Result {
        var journal = try await FileWork.run { try open(AttachmentPath.uploadJournalPath(for: path)) }
        do {
            let result = try await body(&journal)
            await journal.close()
            return result
        } catch {
            await journal.close()
            throw error
        }
    }

    /// Ends what there is of an attachment's upload, and deletes its remote file; the upload of another attachment of the same file goes on.
    ///
    /// An upload that cannot be ended keeps the file from nothing: the storage removes it in time.
    ///
    /// - Parameters:
    ///   - attachment: The attachment.
    ///   - base: Deletes the file.
    ///   - kind: The uploads that `end` is for.
    ///   - end: Ends an upload.
    /// - Throws: What `base` throws; ``AttachmentTransferError`` with the code `inProgress`
    static func delete(
        _ attachment: Attachment,
        by base: any AttachmentTransportAdapter,
        ending kind: UploadRecord.Kind,
        _ end: (UploadRecord) async throws -> Void
    ) async throws {
        guard let path = attachment.localUri, await exists(for: path) else { return try await base.delete(attachment) }
        try await with(for: path) { journal in
            if let record = journal.record {
                guard record.id == attachment.id else { return try await base.delete(attachment) }
                if record.kind == kind { try? await end(record) }
            }
            try await base.delete(attachment)
            journal.end()
        }
    }

    /// Whether there is a journal for a file.
    private static func exists(for path: String) async -> Bool {
        let found = try? await FileWork.run { try OpenFile.attributes(AttachmentPath.uploadJournalPath(for: path)) }
        return found.flatMap(\.self) != nil
    }

    private static func open(_ path: String) throws -> UploadJournal {
        for _ in 0..<openingLimit {
            let file = try OpenFile(path, for: .continuing)
            guard try file.lock() else { break }
            // The owner of the lock before may have removed the file.
            if try file.isAtPath() { return try UploadJournal(reading: file) }
            file.unlock()
        }
        throw AttachmentTransferError(
            .inProgress,
            message: "Another upload of this file is going on, or has just ended: \(path)"
        )
    }

    private init(reading file: OpenFile) throws {
        self.file = file
        let decoder = JSONDecoder()
        var whole = 0
        var rest = Data()
        while rest.count < UploadJournal.limit, case let piece = try file.read(upTo: FileWork.chunkSize), !piece.isEmpty
        {
            rest += piece
        }
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = rest[rest.startIndex..<end]
            if record == nil {
                guard let first = try? decoder.decode(UploadRecord.self, from: line) else { break }
                record = first
            } else {
                guard let part = try? decoder.decode(StoredAttachmentPart.self, from: line) else { break }
                parts.append(part)
            }
            whole += line.count + 1
            rest = rest[rest.index(after: end)...]
        }
        // The next line follows the last whole one.
        try file.truncate(to: Int64(whole))
    }

    /// An upload begins; what was there is forgotten.
    mutating func begin(_ record: UploadRecord) async throws {
        let file = file
        let line = try UploadJournal.line(record)
        try await FileWork.run {
            try file.truncate(to: 0)
            try file.write(line)
            try file.synchronize()
        }
        self.record = record
        parts = []
    }

    /// The storage has a part.
    mutating func add(_ part: StoredAttachmentPart) async throws {
        let file = file
        let line = try UploadJournal.line(part)
        try await FileWork.run {
            try file.write(line)
            try file.synchronize()
        }
        parts.append(part)
    }

    /// There is nothing to continue, any more.
    mutating func end() {
        record = nil
        parts = []
    }

    private func close() async {
        let (file, isEmpty) = (file, record == nil)
        _ = try? await FileWork.run {
            defer { file.unlock() }
            if isEmpty, try file.isAtPath() { try OpenFile.remove(file.path) }
        }
    }

    private static func line(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value) + [UInt8(ascii: "\n")]
    }
}
