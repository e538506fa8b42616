import Foundation
import NIOCore
import PowerSyncClient

/// One attempt to upload one file by tus.
struct TusUpload: Sendable {
    /// How often in a row a part is sent anew that the server has not taken.
    private static let refusalLimit = 2

    let server: TusServer
    let options: TusAttachmentTransport.Options
    let now: @Sendable () -> Date
    let attachment: Attachment
    let source: UploadSource
    let report: @Sendable (Int64, Int64?) -> Void

    private var size: Int64 { source.size }
    private var partSize: Int64 { max(1, options.partSize) }

    /// Continues the upload of a journal, or begins one.
    func run(_ journal: inout UploadJournal) async throws {
        let old = journal.record
        let isContinued =
            old?.origin == server.endpoint.origin
            && old?.continues(
                .tus,
                attachment,
                size: size,
                partSize: partSize,
                now: now(),
                lifetime: options.lifetime
            ) == true
        do {
            if !isContinued {
                if let old, old.kind == .tus { try? await server.terminate(old.upload) }
                try await begin(&journal)
            }
            try await finish(journal, offset: isContinued ? nil : 0)
        } catch AttachmentStorageError.notFound {
            // The server has forgotten what the journal tells of; a new upload that is not there either is an error.
            try await begin(&journal)
            try await finish(journal, offset: 0)
        }
        journal.end()
        report(size, size)
    }

    /// Begins an upload, in place of the one that the journal tells of.
    private func begin(_ journal: inout UploadJournal) async throws {
        let abilities = try await server.abilities()
        if let limit = abilities.limit, size > limit {
            throw AttachmentTransferError(
                .unexpectedResponse,
                message: "The tus server takes at most \(limit) bytes, and \(attachment.filename) has \(size)"
            )
        }
        var metadata = ["id": attachment.id, "filename": attachment.filename]
        metadata["filetype"] = attachment.mediaType
        metadata.merge(options.metadata(attachment)) { _, new in new }
        let url = try await server.create(size: size, metadata: metadata)
        let record = UploadRecord(
            kind: .tus,
            upload: url.absoluteString,
            id: attachment.id,
            filename: attachment.filename,
            size: size,
            partSize: partSize,
            began: Int64(now().timeIntervalSince1970 * 1000),
            isChecked: abilities.checksums,
            origin: server.endpoint.origin
        )
        try await journal.begin(record)
    }

    /// Sends what the server does not have.
    ///
    /// - Parameters:
    ///   - journal: Tells of the upload.
    ///   - offset: How many bytes the server has; `nil` to ask it.
    /// - Throws: ``AttachmentStorageError/notFound`` when the server does not know the upload; ``AttachmentTransferError``
    private func finish(_ journal: UploadJournal, offset: Int64?) async throws {
        guard let record = journal.record, let url = URL(string: record.upload) else {
            throw AttachmentStorageError.notFound
        }
        var known = offset
        var refusals = 0
        while true {
            let offset: Int64
            if let known { offset = known } else { offset = try await server.offset(of: url) }
            guard offset <= size else {
                // Bytes of something else are there.
                throw AttachmentStorageError.notFound
            }
            try Task.checkCancellation()
            report(offset, size)
            guard offset < size else { return }
            switch try await send(record, from: offset, to: url) {
            case .upTo(let next):
                known = next
                refusals = 0
                continue
            case .elsewhere: known = nil
            case .damaged: known = offset
            }
            refusals += 1
            guard refusals <= TusUpload.refusalLimit else {
                throw AttachmentTransferError(
                    .digestMismatch,
                    message: "The tus server does not take the part of \(attachment.filename) at \(offset)"
                )
            }
        }
    }

    private func send(_ record: UploadRecord, from offset: Int64, to url: URL) async throws -> TusServer.Received {
        let count = Int(min(record.partSize, size - offset))
        let bytes = try await source.part(at: offset, count)
        return try await server.send(bytes, at: offset, to: url, isChecked: record.isChecked) { [report, size] in
            report(offset + $0, size)
        }
    }
}
